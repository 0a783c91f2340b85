#include "data/table.h"

#include "base/log.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

const TableLayout kLabelled = {"a text and its label", {{"text", "label"}, {"text", "pair", "label"}}};
const TableLayout kPairs = {"two texts", {{"text", "pair"}}};

// The rows as JSON, one per line.
std::string read(const TableLayout& layout, const std::string& name, std::string_view content,
                 const TableOptions& options = {}) {
  const TemporaryDirectory directory;
  std::string rows;
  read_table({directory.file(name, content)}, options, layout,
             [&](const Fields& row) { rows += row.json().dump() + "\n"; });
  return rows;
}

std::string error(const TableLayout& layout, const std::string& name, std::string_view content,
                  const TableOptions& options = {}) {
  return error_of([&] { read(layout, name, content, options); });
}

TEST(Columns, AreRolesWithNamesOrNumbers) {
  EXPECT_EQ(parse_columns("text=sentence,label=2"), (Columns{{"text", "sentence"}, {"label", "2"}}));
  EXPECT_TRUE(parse_columns("").empty());
  EXPECT_TRUE(contains(error_of([] { parse_columns("text"); }), "expected ROLE=COLUMN"));
  EXPECT_TRUE(contains(error_of([] { parse_columns("text="); }), "expected ROLE=COLUMN"));
  EXPECT_TRUE(contains(error_of([] { parse_columns("txt=1"); }), "no role 'txt'"));
  EXPECT_TRUE(contains(error_of([] { parse_columns("text=1,text=2"); }), "twice"));
  EXPECT_EQ(parse_columns("text=what, then?,label=x,y"),
            (Columns{{"text", "what, then?"}, {"label", "x,y"}}));
}

TEST(Table, FormatFollowsFromTheEnding) {
  EXPECT_EQ(table_format_of("a/b.tsv"), TableFormat::tsv);
  EXPECT_EQ(table_format_of("b.txt"), TableFormat::tsv);
  EXPECT_EQ(table_format_of("b.csv"), TableFormat::csv);
  EXPECT_EQ(table_format_of("b.jsonl"), TableFormat::json_lines);
  EXPECT_TRUE(contains(error_of([] { table_format_of("b.parquet"); }), "b.parquet: expected"));
  EXPECT_EQ(parse_table_format("json"), TableFormat::json_lines);
  EXPECT_TRUE(contains(error_of([] { parse_table_format("xml"); }), "found 'xml'"));
}

TEST(Table, TsvKnowsNoQuotes) {
  EXPECT_EQ(read(kLabelled, "a.tsv", "\xEF\xBB\xBFshe said \"no\t1\r\n\n\"yes\" it is\t0"),
            R"({"text":"she said \"no","label":"1"})"
            "\n"
            R"({"text":"\"yes\" it is","label":"0"})"
            "\n");
}

TEST(Table, CsvHasQuotesAndFormatGoesBeforeEnding) {
  const std::string expected = R"({"text":"two\nlines, \"one\" row","label":"x"})"
                               "\n";
  const std::string_view content = "\"two\nlines, \"\"one\"\" row\",x\n";
  EXPECT_EQ(read(kLabelled, "a.csv", content), expected);
  EXPECT_EQ(read(kLabelled, "a.data", content, {TableFormat::csv, {}}), expected);
  EXPECT_TRUE(contains(error(kLabelled, "a.csv", "a,1\n\"b,2\n"), "line 2: a quote is never closed"));
}

TEST(Table, HasAHeaderIfItsNamesAreKnown) {
  const std::string expected = R"({"label":"0","text":"fine"})"
                               "\n";
  for (const char* header :
       {"sentence\tlabel\nfine\t0", "text\tLabel\nfine\t0", "Review\tSentiment\nfine\t0",
        "label\tsentence\n0\tfine", "words here\tlabel\nfine\t0", "id\tsentence\tlabel\n7\tfine\t0"})
    EXPECT_EQ(read(kLabelled, "a.tsv", header), expected) << header;
  EXPECT_EQ(read(kLabelled, "a.tsv", "index\tsentence1\tsentence2\tlabel\n1\ta\tb\tc"),
            R"({"label":"c","pair":"b","text":"a"})"
            "\n");
  EXPECT_EQ(read(kLabelled, "a.tsv", "index\tquestion\tsentence\tlabel\n1\ta\tb\tc"),
            R"({"label":"c","pair":"b","text":"a"})"
            "\n");
  EXPECT_EQ(read(kPairs, "a.tsv", "anchor\tpositive\na\tb"), "{\"pair\":\"b\",\"text\":\"a\"}\n");
}

TEST(Table, DoesNotTakeARowOfTextForAHeader) {
  for (const char* row : {"sentence\t1", "review\tgood", "text\ttext", "a label\t0", "question\tstory"})
    EXPECT_TRUE(contains(read(kLabelled, "a.tsv", row), "\"text\"")) << row;
  EXPECT_TRUE(contains(read(kPairs, "a.tsv", "text\tlabel"), R"("text":"text","pair":"label")"));
}

TEST(Table, ColumnsAreFoundByNameOrNumber) {
  const std::string expected = R"({"label":"0","text":"fine"})"
                               "\n";
  EXPECT_EQ(read(kLabelled, "a.tsv", "no\twhat\twhy\n1\tfine\t0", {{}, parse_columns("text=what,label=why")}),
            expected);
  EXPECT_EQ(read(kLabelled, "a.tsv", "0\tx\tfine", {{}, parse_columns("text=3,label=1")}), expected);
  EXPECT_EQ(read(kLabelled, "a.tsv", "label\tx\ty\n0\tx\tfine", {{}, parse_columns("text=3,label=1")}),
            expected);
  // Naming one column is enough if the other is known; a second text is read only on request.
  EXPECT_EQ(
      read(kLabelled, "a.tsv", "text\tpair\twhy\nfine\tx\t0", {{}, parse_columns("label=why,text=text")}),
      expected);
  // If a label is read, "score" is the label.
  EXPECT_EQ(read(kLabelled, "a.tsv", "fine\t0", {{}, parse_columns("text=1,score=2")}), expected);

  EXPECT_TRUE(contains(error(kLabelled, "a.tsv", "a\tb\nx\t1", {{}, parse_columns("text=c,label=b")}),
                       "a.tsv, line 1: expected a column 'c' for text, found a, b"));
  EXPECT_TRUE(contains(error(kLabelled, "a.tsv", "x\t1", {{}, parse_columns("text=1,label=3")}),
                       "expected at least 3 columns, found 2"));
  EXPECT_TRUE(contains(error(kLabelled, "a.tsv", "x\t1", {{}, parse_columns("text=1")}), "label needs"));
  EXPECT_TRUE(contains(error(kLabelled, "a.tsv", "x\t1", {{}, parse_columns("answers=1")}), "does not read"));
  EXPECT_TRUE(contains(error(kLabelled, "a.tsv", "a\tb\tc\td\te"), "found 5 and no header"));
  EXPECT_TRUE(contains(error(kLabelled, "a.tsv", "a\tb\tlabel\nx\ty\t1"), "found no text among the columns"));
}

TEST(Table, JsonFieldsKeepTheirTypes) {
  EXPECT_EQ(read(kLabelled, "a.jsonl", "{\"label\": 1, \"id\": 3, \"text\": \"x\", \"pair\": null}\n\n"),
            "{\"label\":1,\"text\":\"x\"}\n");
  EXPECT_EQ(
      read(kLabelled, "a.json", "[{\"label\": true, \"sentence\": \"x\"},\n {\"t\": \"y\", \"label\": 2}]"),
      "{\"label\":true,\"text\":\"x\"}\n{\"label\":2,\"text\":\"y\"}\n");
  EXPECT_EQ(read(kLabelled, "a.jsonl", R"({"a": 1, "b": "x"})", {{}, parse_columns("text=b,label=a")}),
            "{\"label\":1,\"text\":\"x\"}\n");
  EXPECT_TRUE(
      contains(error(kLabelled, "a.jsonl", "[1, 2]"), "a.jsonl, item 1: expected an object, found 1"));
}

TEST(Table, LeavesOutBadRowsAndSaysSo) {
  testing::internal::CaptureStderr();
  const std::string rows =
      read(kLabelled, "a.tsv", "a\t1\nb\nc\td\t1\n\xFF\t1\ne\t0\nf\t0\ng\t0\nh\n i\t0\nj\t1\nk\t2");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(rows, '\n'), 7);
  EXPECT_TRUE(contains(said, "left out 4 of 11 rows"));
  EXPECT_TRUE(contains(said, "a.tsv, line 2: expected 2 columns, found 1; "));
  EXPECT_TRUE(contains(said, "a.tsv, line 3: expected 2 columns, found 3; "));
  EXPECT_TRUE(contains(said, "a.tsv, line 4: invalid UTF-8 at byte 0; ..."));
  EXPECT_FALSE(contains(said, "line 8"));

  testing::internal::CaptureStderr();
  read(kLabelled, "a.jsonl",
       "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\"\n{\"text\": \"c\", \"label\": 1}");
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "a.jsonl, line 2: not valid JSON"));
}

// The output on stderr.
std::string said(const TableLayout& layout, const std::string& name, std::string_view content,
                 const TableOptions& options = {}) {
  testing::internal::CaptureStderr();
  read(layout, name, content, options);
  return testing::internal::GetCapturedStderr();
}

const std::string kGoodBad = R"({"text":"good","label":"0"})"
                             "\n"
                             R"({"text":"bad","label":"1"})"
                             "\n";
const std::string kGoodBadByName = R"({"label":"0","text":"good"})"
                                   "\n"
                                   R"({"label":"1","text":"bad"})"
                                   "\n";

TEST(Table, GuessesAHeaderByItsLabel) {
  for (const char* table : {"tweet,hate\ngood,0\nbad,1\n", "what,why\ngood,0\nbad,1\n"}) {
    EXPECT_EQ(read(kLabelled, "a.csv", table), kGoodBadByName) << table;
    std::string tabs = table;
    std::ranges::replace(tabs, ',', '\t');
    EXPECT_EQ(read(kLabelled, "a.tsv", tabs), kGoodBadByName) << table;
  }
  // No number shows it, but all other labels are repeated.
  const std::string rows = "so good\tpos\nso bad\tneg\nfine\tpos\nworse\tneg\n";
  EXPECT_EQ(std::ranges::count(read(kLabelled, "a.tsv", "line\tmood\n" + rows), '\n'), 4);
  EXPECT_EQ(std::ranges::count(read(kLabelled, "a.tsv", rows), '\n'), 4);
  // In TSV a rare label next to another rare one is not a header; in CSV a header is usual.
  EXPECT_EQ(std::ranges::count(read(kLabelled, "a.tsv", "line\tmood\n" + rows + "oh\trare\n"), '\n'), 6);
  EXPECT_EQ(std::ranges::count(read(kLabelled, "a.csv", "line,mood\noh,rare\nwell,rarer\n"), '\n'), 2);
  EXPECT_EQ(std::ranges::count(read(kLabelled, "a.csv", "hi there.,mood\noh,rare\nwell,rarer\n"), '\n'), 3);
  EXPECT_EQ(std::ranges::count(read(kPairs, "a.csv", "en,de\nA dog.,Ein Hund.\nA cat.,Eine Katze.\n"), '\n'),
            2);
  EXPECT_EQ(std::ranges::count(read(kPairs, "a.csv", "dog,Hund\ncat,Katze\n"), '\n'), 2);
  // Three columns with meaningless names are not read as text, pair, label.
  EXPECT_TRUE(contains(error(kLabelled, "a.csv", "headline,body,class\nfew words,many words,x\nyes.,no.,y\n"),
                       "a.csv, line 1: expected a text and its label, found no text among the columns "
                       "headline, body, class; say which is which: `column` text=COLUMN"));
  EXPECT_TRUE(contains(error(kLabelled, "a.csv", "one,two,tree\nA b.,C d.,1\nE f.,G h.,2\n"),
                       "(if this line is a row and not a header: `header` false)"));
}

TEST(Table, IsToldWhetherThereIsAHeader) {
  EXPECT_EQ(read(kLabelled, "a.csv", "tweet,hate\ngood,0\nbad,1\n", {.header = false}),
            R"({"text":"tweet","label":"hate"})"
            "\n" +
                kGoodBad);
  EXPECT_EQ(read(kLabelled, "a.tsv", "The tweet!\tThe hate!\ngood\t0\nbad\t1\n", {.header = true}),
            kGoodBadByName);
  EXPECT_TRUE(contains(error(kLabelled, "a.csv", "tweet,hate\ngood,0\n",
                             {.columns = parse_columns("label=hate"), .header = false}),
                       "`header` false: expected the numbers of columns, found label=hate"));
}

TEST(Table, SaysWhatWasFound) {
  EXPECT_TRUE(
      contains(said(kLabelled, "a.csv", "tweet,hate\ngood,0\nbad,1\n"),
               "a.csv: columns tweet (text), hate (label); labels 0, 1; 2 rows; header: yes, by the look"));
  EXPECT_TRUE(contains(said(kLabelled, "a.csv", "text;label\ngood;0\n"),
                       "a.csv: columns text, label; labels 0; 1 row; header: yes; separated by semicolons"));
  EXPECT_TRUE(contains(said(kLabelled, "a.tsv", "good\t10\nbad\t9\n"),
                       "a.tsv: columns 1 (text), 2 (label); labels 9, 10; 2 rows; header: no"));
  EXPECT_TRUE(contains(said(kLabelled, "a.jsonl", R"({"sentence": "x", "label": true})"),
                       "a.jsonl: fields sentence (text), label; labels true; 1 row\n"));
  const TableLayout scored = {"a score and two texts", {{"score", "text", "pair"}}};
  EXPECT_TRUE(contains(said(scored, "a.tsv", "2.5\ta\tb\n-1\tc\td\n"), "; scores from -1 to 2.5; 2 rows"));
  std::string many;
  for (int i = 0; i < 12; ++i) many += "a\t" + std::to_string(i) + "\n";
  EXPECT_TRUE(contains(said(kLabelled, "a.tsv", many), "; 12 labels 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...; "));
}

TEST(Table, WarnsOfALabelThatOnlyLine1Has) {
  const std::string rows = "so good\tpos\nso bad\tneg\nfine\tpos\nworse\tneg\n";
  EXPECT_TRUE(
      contains(said(kLabelled, "a.tsv", "What is it?\tmood?\n" + rows),
               "the label \"mood?\" is only in line 1; if that line names the columns, set `header`"));
  EXPECT_FALSE(contains(said(kLabelled, "a.tsv", rows), "only in line 1"));
}

TEST(Table, HasAColumnForEachLabel) {
  const TableLayout several = {"a text and labels", {{"text", "labels"}, {"text", "pair", "labels"}}, true};
  const std::string expected = R"({"text":"a","labels":{"x":0,"y":1}})"
                               "\n"
                               R"({"text":"b","labels":{"x":1,"y":1}})"
                               "\n";
  EXPECT_EQ(read(several, "a.tsv", "text\tx\ty\na\t0\t1\nb\t1\t1\n"), expected);
  EXPECT_EQ(read(several, "a.csv", "id,comment_text,x,y\n7,a,0,1\n8,b,1,1.0\n"), expected);
  EXPECT_EQ(
      read(several, "a.jsonl", "{\"x\":0,\"text\":\"a\",\"y\":true}\n{\"x\":1,\"text\":\"b\",\"y\":1}\n"),
      expected);
  EXPECT_TRUE(contains(said(several, "a.tsv", "text\tx\ty\na\t0\t1\nb\t1\t1\n"),
                       "columns text, x, y (labels); 2 rows; header: yes"));
  // A column of labels is preferred to columns of 0 and 1.
  EXPECT_TRUE(contains(read(several, "a.tsv", "text\tlabels\tdone\na\tx\t1\nb\ty\t0\n"), R"("labels":"x")"));
}

TEST(Table, ReadsOnAfterABrokenQuote) {
  const std::string rows = "a,0\nb,1\n\"c\"d,0\ne,1\n";
  EXPECT_EQ(std::ranges::count(read(kLabelled, "a.csv", rows), '\n'), 3);
  EXPECT_TRUE(contains(said(kLabelled, "a.csv", rows), "left out 1 of 4 rows that cannot be read: "));
}

TEST(Table, RefusesATableOfMostlyBadRows) {
  EXPECT_TRUE(contains(error(kLabelled, "a.jsonl", "a\nb\n{\"text\": \"c\", \"label\": 1}"),
                       "expected a text and its label, but 2 of 3 rows cannot be read"));
  EXPECT_TRUE(contains(error(kLabelled, "a.tsv", ""), "expected a text and its label, found no rows"));
  EXPECT_TRUE(contains(error(kLabelled, "a.tsv", "text\tlabel\n"), "found no rows"));
  EXPECT_TRUE(contains(error(kLabelled, "a.tsv", "a\t1\n\xFF\t1\n\xFF\t1"),
                       "the columns were taken as `column` text=1 `column` label=2; if they are others"));
  EXPECT_TRUE(contains(error_of([] { read_table({"/no/such.tsv"}, {}, kLabelled, [](const Fields&) {}); }),
                       "/no/such.tsv: cannot open"));
  EXPECT_TRUE(
      contains(error_of([] { read_table({}, {}, kLabelled, [](const Fields&) {}); }), "at least one file"));
}

}  // namespace
}  // namespace attend
