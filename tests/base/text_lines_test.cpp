#include "base/text_lines.h"

#include "temporary_directory.h"

#include <sstream>

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";

std::vector<std::string> all(StreamLines& reader) {
  std::vector<std::string> lines;
  while (const auto line = reader.next()) lines.push_back(*line);
  return lines;
}

TEST(ByteOrderMark, IsLeftOut) {
  EXPECT_EQ(without_byte_order_mark(std::string(kMark) + "hi", "x"), "hi");
  EXPECT_EQ(without_byte_order_mark(kMark, "x"), "");
  EXPECT_EQ(without_byte_order_mark("hi" + std::string(kMark), "x"), "hi" + std::string(kMark));
}

TEST(ByteOrderMark, OfOtherEncodingsIsRefused) {
  const auto message = [](std::string_view text) {
    return error_of([&] { without_byte_order_mark(text, "notes.txt"); });
  };
  const std::string utf16 = "notes.txt: expected UTF-8, found UTF-16; `iconv -f UTF-16 -t UTF-8` converts it";
  EXPECT_EQ(message({"\xFF\xFEh\0", 4}), utf16);
  EXPECT_EQ(message({"\xFE\xFF\0h", 4}), utf16);
  EXPECT_TRUE(contains(message({"\xFF\xFE\0\0h\0\0\0", 8}), "found UTF-32"));
  EXPECT_TRUE(contains(message({"\0\0\xFE\xFF", 4}), "found UTF-32"));
}

TEST(StreamLines, GivesLinesWithoutTheirEnds) {
  std::istringstream in(std::string(kMark) + "one\r\n\n" + std::string(kMark) + "three");
  StreamLines reader(in, "standard input");
  using Lines = std::vector<std::string>;
  EXPECT_EQ(all(reader), (Lines{"one", "", std::string(kMark) + "three"}));
  EXPECT_EQ(reader.place(), "standard input, line 3");
}

TEST(StreamLines, SaysThatTheTextIsUtf16) {
  std::istringstream in(std::string("\xFF\xFEh\0i\0\n\0", 8));
  StreamLines reader(in, "standard input");
  EXPECT_TRUE(contains(error_of([&] { reader.next(); }), "standard input: expected UTF-8, found UTF-16"));
}

TEST(ReadLines, LeavesTheByteOrderMarkOut) {
  const TemporaryDirectory directory;
  EXPECT_EQ(read_lines(directory.file("a", std::string(kMark) + "one\r\ntwo")),
            (std::vector<std::string>{"one", "two"}));
  const auto other = directory.file("b", std::string_view("\xFE\xFF\0h", 4));
  EXPECT_EQ(error_of([&] { read_lines(other); }),
            other.string() + ": expected UTF-8, found UTF-16; `iconv -f UTF-16 -t UTF-8` converts it");
}

}  // namespace
}  // namespace attend
