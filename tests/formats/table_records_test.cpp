#include "formats/table_records.h"

#include "temporary_directory.h"

#include <sstream>

#include <gtest/gtest.h>

namespace attend {
namespace {

using Form = RecordReader::Form;

std::vector<Record> read(const std::string& text, Form form = Form::csv) {
  std::istringstream in(text);
  RecordReader reader(in, form, "table");
  std::vector<Record> records;
  while (auto record = reader.next()) records.push_back(*record);
  return records;
}

TEST(TableRecords, CsvIsWhatPythonsWriterWrites) {
  const std::vector<Record> expected = {{"text", "label"}, {"a, \"b\"", "1"}, {"two\nlines", ""}, {"", "x"}};
  EXPECT_EQ(read("text,label\r\n\"a, \"\"b\"\"\",1\r\n\"two\nlines\",\r\n,x\r\n"), expected);
}

TEST(TableRecords, NeedNoLastLineBreakAndPassOverBlankLines) {
  EXPECT_EQ(read("a\n\n\r\nb"), (std::vector<Record>{{"a"}, {"b"}}));
  EXPECT_EQ(read("\"\""), (std::vector<Record>{{""}}));
  EXPECT_EQ(read("a,"), (std::vector<Record>{{"a", ""}}));
  EXPECT_TRUE(read("").empty());
  EXPECT_EQ(read("a\tb\n \t\n\nc\t", Form::tsv), (std::vector<Record>{{"a", "b"}, {"c", ""}}));
}

TEST(TableRecords, CsvKeepsSpacesAndQuotesWithinPlainFields) {
  EXPECT_EQ(read(" a , 5\" disk\n"), (std::vector<Record>{{" a ", " 5\" disk"}}));
}

TEST(TableRecords, TsvKnowsNoQuotes) {
  EXPECT_EQ(read("\"whole\"\tx\n\"lone\ty\na,b\tz\n", Form::tsv),
            (std::vector<Record>{{"\"whole\"", "x"}, {"\"lone", "y"}, {"a,b", "z"}}));
}

TEST(TableRecords, LinesEndInThreeWays) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    EXPECT_EQ(read("a,b" + end + "c,d" + end), (std::vector<Record>{{"a", "b"}, {"c", "d"}})) << end.size();
    EXPECT_EQ(read("a\tb" + end + end + "c\td", Form::tsv), (std::vector<Record>{{"a", "b"}, {"c", "d"}}));
  }
}

TEST(TableRecords, SemicolonsAndTabsSeparateWhereTheFirstLineHasNoComma) {
  EXPECT_EQ(read("text;label\n1,5;x\n"), (std::vector<Record>{{"text", "label"}, {"1,5", "x"}}));
  EXPECT_EQ(read("\"a, b\";1\n"), (std::vector<Record>{{"a, b", "1"}}));
  EXPECT_EQ(read("a\tb\n"), (std::vector<Record>{{"a", "b"}}));
  EXPECT_EQ(read("a;b,c\n"), (std::vector<Record>{{"a;b", "c"}}));
  EXPECT_EQ(read("text\na;b\n"), (std::vector<Record>{{"text"}, {"a;b"}}));
}

TEST(TableRecords, AreUtf8WithOrWithoutItsMark) {
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a\tb\n",
                 Form::tsv),
            (std::vector<Record>{{"a", "b"}}));
  EXPECT_EQ(error_of([] {
              read(
                  "\xFF\xFE"
                  "a");
            }),
            "table: expected UTF-8, found UTF-16; `iconv -f UTF-16 -t UTF-8` converts it");
  EXPECT_TRUE(contains(error_of([] { read(std::string("a\0,\0b\0\n\0", 8), Form::tsv); }),
                       "table: expected UTF-8, found zero bytes as in UTF-16"));
}

TEST(TableRecords, NameTheLineOfBrokenQuotes) {
  EXPECT_EQ(error_of([] { read("a\n\"two\nlines\"\n\"never"); }), "table, line 4: a quote is never closed");
  EXPECT_TRUE(
      error_of([] { read("a\n\"b\"c\n"); }).starts_with("table, line 2: expected the end of a field"));
}

TEST(TableRecords, GoOnAfterABadRow) {
  std::istringstream in("\"b\"c,1\nd,2\n\"e");
  RecordReader reader(in, Form::csv, "table");
  EXPECT_TRUE(contains(error_of([&] { reader.next(); }), "line 1: expected the end of a field"));
  EXPECT_FALSE(reader.is_cut_off());
  EXPECT_EQ(reader.next(), (Record{"d", "2"}));
  EXPECT_EQ(reader.place(), "table, line 2");
  EXPECT_TRUE(contains(error_of([&] { reader.next(); }), "line 3: a quote is never closed"));
  EXPECT_TRUE(reader.is_cut_off());
}

}  // namespace
}  // namespace attend
