#include "data/table.h"

#include "base/log.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

const TableLayout kLabelled = {"a text and its label", {{"text", "label"}, {"text", "pair", "label"}}};
const TableLayout kPairs = {"two texts", {{"text", "pair"}}};

// The rows as JSON, one a line.
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

TEST(Table, HasAHeaderWhereItsNamesAreKnown) {
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

TEST(Table, TakesNoRowForAHeaderByItsText) {
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
  // One that is named is enough where the other is known; a second text is only taken if it is asked for.
  EXPECT_EQ(
      read(kLabelled, "a.tsv", "text\tpair\twhy\nfine\tx\t0", {{}, parse_columns("label=why,text=text")}),
      expected);
  // "score" is the label where a label is read.
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

TEST(Table, RefusesWhatIsMostlyBad) {
  EXPECT_TRUE(contains(error(kLabelled, "a.jsonl", "a\nb\n{\"text\": \"c\", \"label\": 1}"),
                       "expected a text and its label, but 2 of 3 rows cannot be read"));
  EXPECT_TRUE(contains(error(kLabelled, "a.tsv", ""), "expected a text and its label, found no rows"));
  EXPECT_TRUE(contains(error(kLabelled, "a.tsv", "text\tlabel\n"), "found no rows"));
  EXPECT_TRUE(contains(
      error(kLabelled, "a.tsv", "a\t1\n\xFF\t1\n\xFF\t1"),
      "the columns were taken as text=1,label=2; if they are others, say which is which (--columns)"));
  EXPECT_TRUE(contains(error_of([] { read_table({"/no/such.tsv"}, {}, kLabelled, [](const Fields&) {}); }),
                       "/no/such.tsv: cannot open"));
  EXPECT_TRUE(
      contains(error_of([] { read_table({}, {}, kLabelled, [](const Fields&) {}); }), "at least one file"));
}

}  // namespace
}  // namespace attend
