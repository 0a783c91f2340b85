#include "formats/csv.h"

#include "temporary_directory.h"

#include <sstream>

#include <gtest/gtest.h>

namespace attend {
namespace {

using Record = std::vector<std::string>;

std::vector<Record> read(const std::string& text, char separator = ',') {
  std::istringstream in(text);
  CsvReader reader(in, separator, "table");
  std::vector<Record> records;
  while (auto record = reader.next()) records.push_back(*record);
  return records;
}

TEST(Csv, ReadsWhatPythonsWriterWrites) {
  const std::vector<Record> expected = {{"text", "label"}, {"a, \"b\"", "1"}, {"two\nlines", ""}, {"", "x"}};
  EXPECT_EQ(read("text,label\r\n\"a, \"\"b\"\"\",1\r\n\"two\nlines\",\r\n,x\r\n"), expected);
}

TEST(Csv, NeedsNoLastLineBreakAndPassesOverBlankLines) {
  EXPECT_EQ(read("a\n\n\r\nb"), (std::vector<Record>{{"a"}, {"b"}}));
  EXPECT_EQ(read("\"\""), (std::vector<Record>{{""}}));
  EXPECT_TRUE(read("").empty());
}

TEST(Csv, KeepsSpacesAndQuotesWithinPlainFields) {
  EXPECT_EQ(read(" a , 5\" disk\n"), (std::vector<Record>{{" a ", " 5\" disk"}}));
}

TEST(Csv, TakesTabsAndTheMarkOfUtf8) {
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a,b\tc\n",
                 '\t'),
            (std::vector<Record>{{"a,b", "c"}}));
}

TEST(Csv, NamesTheLineOfBrokenQuotes) {
  EXPECT_EQ(error_of([] { read("a\n\"two\nlines\"\n\"never"); }), "table, line 4: a quote is never closed");
  EXPECT_TRUE(
      error_of([] { read("a\n\"b\"c\n"); }).starts_with("table, line 2: expected the end of a field"));
}

}  // namespace
}  // namespace attend
