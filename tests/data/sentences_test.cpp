#include "data/documents.h"
#include "data/tagged_words.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Strings = std::vector<std::string>;

TEST(Documents, AreDividedByEmptyLinesAndFiles) {
  const TemporaryDirectory directory;
  const auto documents = read_documents(
      {directory.file("a.txt", "\n\nOne. \r\nTwo.\n \n\nThree."), directory.file("b.txt", "Four.\n")});
  EXPECT_EQ(documents, (std::vector<Document>{{"One.", "Two."}, {"Three."}, {"Four."}}));
}

TEST(Documents, NameBadLines) {
  const TemporaryDirectory directory;
  testing::internal::CaptureStderr();
  EXPECT_EQ(read_documents({directory.file("a.txt", "One.\n\n\xC3(\nTwo.\n")}),
            (std::vector<Document>{{"One."}, {"Two."}}));
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "a.txt, line 3: invalid UTF-8 at byte 0"));
  EXPECT_TRUE(
      contains(error_of([&] { read_documents({directory.file("b.txt", "\n\n")}); }), "found no lines"));
}

TEST(TaggedWords, OfLines) {
  const TemporaryDirectory directory;
  const auto sentences =
      read_tagged_words({directory.file("a.conll",
                                        "-DOCSTART- -X- O O\n\nAnn NNP I-NP B-PER\nsleeps VBZ I-VP O\n"
                                        "\n\n# NN O O\n")});
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[0].words, (Strings{"Ann", "sleeps"}));
  EXPECT_EQ(sentences[0].tags, (Strings{"B-PER", "O"}));
  EXPECT_EQ(sentences[1].words, Strings{"#"});

  const auto tabs =
      read_tagged_words({directory.file("a.tsv", "# text = New York\nNew York\tPROPN\n#\tSYM\r\n")});
  ASSERT_EQ(tabs.size(), 1U);
  EXPECT_EQ(tabs[0].words, (Strings{"New York", "#"}));
  EXPECT_EQ(tabs[0].tags, (Strings{"PROPN", "SYM"}));
}

TEST(TaggedWords, OfJson) {
  const TemporaryDirectory directory;
  const auto sentences =
      read_tagged_words({directory.file("a.jsonl",
                                        "{\"tokens\": [\"Ann\", \"sleeps\"], \"ner_tags\": [1, 0]}\n"
                                        "{\"words\": [\"No\"], \"tags\": [\"DET\"]}\n")});
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[0].tags, (Strings{"1", "0"}));
  EXPECT_EQ(sentences[1].tags, Strings{"DET"});
}

TEST(TaggedWords, LeavesOutASentenceWithABadLine) {
  const TemporaryDirectory directory;
  testing::internal::CaptureStderr();
  const auto sentences = read_tagged_words({directory.file("a.tsv", "a\tX\nb\n\nc\tY\n\nd\tZ\n")});
  EXPECT_TRUE(
      contains(testing::internal::GetCapturedStderr(),
               "left out 1 of 3 sentences that cannot be read: " + (directory.path() / "a.tsv").string() +
                   ", line 2: expected a word and its tag, found 'b'"));
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[0].words, Strings{"c"});
  EXPECT_TRUE(contains(error_of([&] {
                         read_tagged_words(
                             {directory.file("a.jsonl", "{\"words\": [\"a\", \"b\"], \"tags\": [\"X\"]}")});
                       }),
                       "found 2 words and 1 tags"));
}

}  // namespace
}  // namespace attend
