#include "data/token_rows.h"

#include "data/token_file.h"
#include "expect_error.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Ids = std::vector<TokenId>;

const std::filesystem::path kTokenizer = test_data() / "tokenizers/gpt2/tokenizer.json";

Ids ids_of(std::span<const TokenId> ids) {
  return {ids.begin(), ids.end()};
}

// Text of several blocks of 64 kB, with lines of all lengths.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 300'000; ++i) {
    text += std::string(static_cast<std::size_t>(i % 7), ' ') + "line " + std::to_string(i);
    if (i % 3 == 0) text += " of some words, which aren't many";
    if (i == 500) text += std::string(100'000, 'x');
    text += i % 11 == 0 ? "\r\n\n" : "\n";
  }
  return text + "no end";
}

class TokenRowsOfFiles : public ::testing::Test {
 protected:
  TokenizeOptions cached() const { return {false, directory_.path() / "cache", kTokenizer, 0}; }
  std::filesystem::path cache_file() const {
    std::filesystem::path found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / "cache")) {
      EXPECT_TRUE(found.empty()) << "more than one file";
      found = entry.path();
    }
    return found;
  }

  TemporaryDirectory directory_;
  Tokenizer tokenizer_ = Tokenizer::from_file(kTokenizer);
};

TEST(TokenRows, KnowTheirGroups) {
  const TokenRows rows({1, 2, 3, 4, 5, 6}, {0, 2, 3, 6}, {0, 1, 3});
  EXPECT_EQ(rows.count(), 3);
  EXPECT_EQ(rows.total(), 6);
  EXPECT_EQ(ids_of(rows[2]), (Ids{4, 5, 6}));
  EXPECT_EQ(rows.length(1), 1);
  EXPECT_EQ(rows.groups(), 2);
  EXPECT_EQ(rows.first_of_group(1), 1);
  EXPECT_EQ(rows.first_of_group(2), 3);
  EXPECT_EQ(rows.group_of(0), 0);
  EXPECT_EQ(rows.group_of(1), 1);
  EXPECT_EQ(rows.group_of(2), 1);
  EXPECT_ERROR("expected starts of rows and groups that ascend", TokenRows({1}, {0, 2}, {0, 1}));
  EXPECT_ERROR("expected starts of rows and groups that ascend", TokenRows({1, 2}, {0, 2, 1, 2}, {0, 3}));
  EXPECT_ERROR("expected starts of rows and groups that ascend", TokenRows({1}, {0, 1}, {}));
}

TEST_F(TokenRowsOfFiles, HaveARowForASentence) {
  const std::vector<std::string> files = {directory_.file("a.txt", "One two.\nThree.\n\nFour.\n"),
                                          directory_.file("b.txt", "Five six.")};
  for (const TokenizeOptions& options : {TokenizeOptions{}, cached()}) {
    const TokenRows rows = tokenize_documents(tokenizer_, files, options);
    ASSERT_EQ(rows.count(), 4);
    EXPECT_EQ(ids_of(rows[0]), tokenizer_.encode("One two.").ids);
    EXPECT_EQ(ids_of(rows[3]), tokenizer_.encode("Five six.").ids);
    ASSERT_EQ(rows.groups(), 3);
    EXPECT_EQ(rows.first_of_group(1), 2);
    EXPECT_EQ(rows.first_of_group(2), 3);
  }
}

// As training on running text has always split it.
TEST_F(TokenRowsOfFiles, OfRunningTextAreThoseOfItsPieces) {
  const std::string text = long_text();
  Ids expected;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', std::min(text.size(), begin + 65536));
    end = end == text.npos ? text.size() : end + 1;
    const Encoding encoding = tokenizer_.encode(text.substr(begin, end - begin), {.special_tokens = false});
    expected.insert(expected.end(), encoding.ids.begin(), encoding.ids.end());
    begin = end;
  }
  const std::size_t first = expected.size();
  const Encoding last = tokenizer_.encode("last\n", {.special_tokens = false});
  expected.insert(expected.end(), last.ids.begin(), last.ids.end());

  const std::vector<std::string> files = {directory_.file("a.txt", text), directory_.file("b.txt", "last\n")};
  for (const TokenizeOptions& options : {TokenizeOptions{}, cached()}) {
    const TokenRows rows = tokenize_running_text(tokenizer_, files, options);
    EXPECT_EQ(ids_of(rows.ids()), expected);
    ASSERT_EQ(rows.count(), 2);
    EXPECT_EQ(rows.length(0), static_cast<std::int64_t>(first));
    EXPECT_EQ(rows.groups(), 2);
  }
}

TEST_F(TokenRowsOfFiles, AreKeptByContent) {
  const auto path = directory_.file("a.txt", "One.\nTwo.\n");
  const Ids first = ids_of(tokenize_documents(tokenizer_, {path}, cached()).ids());
  const auto kept = cache_file();
  // Marks reused rows: ids that this text would not give.
  std::string bytes = read_file(kept);
  bytes[64] = static_cast<char>(bytes[64] + 1);
  write_file_atomically(kept, bytes);
  const auto copy = directory_.file("copy.txt", "One.\nTwo.\n");
  EXPECT_NE(ids_of(tokenize_documents(tokenizer_, {copy}, cached()).ids()), first);

  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(directory_.path() / "cache"), {});
  };
  EXPECT_EQ(files(), 1);
  tokenize_documents(tokenizer_, {directory_.file("a.txt", "One.\nTwo!\n")}, cached());
  EXPECT_EQ(files(), 2);
  TokenizeOptions special = cached();
  special.special_tokens = true;
  tokenize_documents(tokenizer_, {copy}, special);
  EXPECT_EQ(files(), 3);
  tokenize_running_text(tokenizer_, {copy}, cached());
  EXPECT_EQ(files(), 4);
  TokenizeOptions other = cached();
  other.tokenizer = directory_.file("tokenizer.json", read_file(kTokenizer) + " ");
  tokenize_documents(tokenizer_, {copy}, other);
  EXPECT_EQ(files(), 5);
  TokenizeOptions small = cached();
  small.max_in_memory = 1000;
  tokenize_documents(tokenizer_, {directory_.file("b.txt", "Small.")}, small);
  EXPECT_EQ(files(), 5);
}

TEST_F(TokenRowsOfFiles, AreMadeAnewWhereTheFileIsDamaged) {
  const auto text = directory_.file("a.txt", "One.\nTwo.\n\nThree.");
  const Ids expected = ids_of(tokenize_documents(tokenizer_, {text}, cached()).ids());
  const auto kept = cache_file();
  const std::string whole = read_file(kept);
  const auto check = [&](const std::string& content) {
    directory_.file("cache/" + kept.filename().string(), content);
    EXPECT_EQ(ids_of(tokenize_documents(tokenizer_, {text}, cached()).ids()), expected);
    EXPECT_EQ(read_file(kept), whole);
  };
  testing::internal::CaptureStderr();  // one warning each
  for (std::size_t size = 0; size < whole.size(); size += 19) check(whole.substr(0, size));
  check(whole + "x");
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    if (at >= 64 && at < 64 + (4 * expected.size() + 7) / 8 * 8) continue;  // ids, which are not checked
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x80);
    check(changed);
  }
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "it is made anew"));
}

TEST_F(TokenRowsOfFiles, RefuseATokenizerThatCuts) {
  const auto text = directory_.file("a.txt", "One.\n");
  tokenizer_.truncation() = Truncation{};
  EXPECT_TRUE(contains(error_of([&] { tokenize_documents(tokenizer_, {text}); }), "truncates or pads"));
}

TEST_F(TokenRowsOfFiles, NameBadLines) {
  const auto text = directory_.file("a.txt", "One.\n\xFF\nTwo.\n");
  testing::internal::CaptureStderr();
  const TokenRows rows = tokenize_running_text(tokenizer_, {text});
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "left out 1 of 3 lines"));
  EXPECT_EQ(ids_of(rows.ids()), tokenizer_.encode("One.\nTwo.\n", {.special_tokens = false}).ids);
  EXPECT_TRUE(contains(error_of([&] { tokenize_running_text(tokenizer_, {directory_.file("b.txt", "")}); }),
                       "found no lines"));
  EXPECT_TRUE(contains(error_of([&] { tokenize_documents(tokenizer_, {"/no/such.txt"}); }), "/no/such.txt"));
}

}  // namespace
}  // namespace attend
