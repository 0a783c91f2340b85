#include "data/labeled_texts.h"

#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Strings = std::vector<std::string>;
using Numbers = std::vector<double>;

template <class Read>
auto read(Read* read_rows, const std::string& name, std::string_view content) {
  const TemporaryDirectory directory;
  return read_rows({directory.file(name, content)}, {});
}

TEST(LabeledTexts, OfClassification) {
  const auto rows = read(read_classification, "a.tsv", "so good \tpos \nso bad\tneg\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].text, "so good ");
  EXPECT_FALSE(rows[0].pair);
  EXPECT_EQ(rows[0].labels, Strings{"pos"});
  EXPECT_EQ(label_names(rows), (Strings{"neg", "pos"}));

  const auto pairs = read(read_classification, "a.csv", "one,two,same\nthree,four,other\nfive,six,same\n");
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[1].text, "three");
  EXPECT_EQ(pairs[1].pair, "four");
  EXPECT_EQ(pairs[1].labels, Strings{"other"});

  const auto json = read(read_classification, "a.jsonl",
                         "{\"text\": \"a\", \"label\": 10}\n{\"text\": \"b\", \"label\": 9}\n"
                         "{\"text\": \"c\", \"label\": \"-1\"}\n");
  EXPECT_EQ(label_names(json), (Strings{"-1", "9", "10"}));  // by number
  EXPECT_EQ(read(read_classification, "a.jsonl", R"({"text": "a", "label": true})")[0].labels,
            Strings{"true"});
}

TEST(LabeledTexts, EmptyTextsAndLabelsAreBad) {
  testing::internal::CaptureStderr();
  const auto rows = read(read_classification, "a.tsv", "a\t1\n  \t1\nb\t \nc\t0\nd\t0");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(rows.size(), 3U);
  EXPECT_TRUE(contains(said, "line 2: text is empty"));
  EXPECT_TRUE(contains(said, "line 3: expected a label"));
  EXPECT_TRUE(
      contains(error_of([] { read(read_classification, "a.jsonl", R"({"text": "a", "label": 1.5})"); }),
               "expected a label, which is a name or an integer, found 1.5"));
  EXPECT_TRUE(contains(error_of([] { read(read_classification, "a.jsonl", R"({"text": 3, "label": 1})"); }),
                       "text: expected a text, found 3"));
}

TEST(LabeledTexts, OfSeveralLabels) {
  const auto [names, all] =
      read(read_multi_label, "a.jsonl",
           "{\"text\": \"a\", \"labels\": [\"x\", \"y\"]}\n{\"text\": \"b\", \"labels\": []}\n"
           "{\"text\": \"c\", \"labels\": [3]}\n{\"text\": \"d\", \"label\": \"x\"}\n");
  ASSERT_EQ(names.size(), 4U);
  EXPECT_EQ(names[0].labels, (Strings{"x", "y"}));
  EXPECT_TRUE(names[1].labels.empty());
  EXPECT_EQ(names[2].labels, Strings{"3"});
  EXPECT_EQ(names[3].labels, Strings{"x"});
  EXPECT_TRUE(names[0].values.empty());
  EXPECT_EQ(all, (Strings{"3", "x", "y"}));

  const auto cells = read(read_multi_label, "a.tsv", "a\t[1, 7]\nb\t7\nc\t\n").rows;
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(cells[0].labels, (Strings{"1", "7"}));
  EXPECT_EQ(cells[1].labels, Strings{"7"});
  EXPECT_TRUE(cells[2].labels.empty());
}

TEST(LabeledTexts, OfAColumnForEachLabel) {
  const auto [rows, labels] =
      read(read_multi_label, "a.csv", "comment,toxic,insult,never\n\"You, there\",1,1,0\nfine,0,0,0\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].text, "You, there");
  EXPECT_EQ(rows[0].labels, (Strings{"toxic", "insult"}));
  EXPECT_TRUE(rows[1].labels.empty());
  EXPECT_EQ(labels, (Strings{"toxic", "insult", "never"}));
  EXPECT_EQ(read(read_multi_label, "a.jsonl", R"({"text": "a", "labels": {"x": 0, "y": 1}})").rows[0].labels,
            Strings{"y"});
  EXPECT_TRUE(
      contains(error_of([] { read(read_multi_label, "a.jsonl", R"({"text": "a", "labels": {"x": 0.5}})"); }),
               "labels: x: expected 0 or 1, found 0.5"));
}

TEST(LabeledTexts, WarnsOfSeveralLabelsInOneCell) {
  const auto said = [](const char* table) {
    testing::internal::CaptureStderr();
    read(read_multi_label, "a.tsv", table);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_TRUE(contains(said("a\tx,y\nb\tx\n"),
                       R"("x,y" is read as one label; several are written as a list, ["x","y"])"));
  EXPECT_TRUE(contains(said("a\tx | y\nb\tx\n"), "is read as one label"));
  EXPECT_TRUE(contains(said("a\tx y\nb\tx\nc\ty\n"), "is read as one label"));
  EXPECT_FALSE(contains(said("a\tnot good\nb\tgood\n"), "one label"));
  EXPECT_FALSE(contains(said("a\t[\"x, y\"]\nb\tx\n"), "one label"));
}

TEST(LabeledTexts, OfANumberForEachLabel) {
  const auto numbers =
      read(read_multi_label, "a.jsonl",
           "{\"text\": \"a\", \"labels\": [0.0, 1.0, 0.3]}\n{\"text\": \"b\", \"labels\": [1, 0, 0]}\n")
          .rows;
  EXPECT_EQ(numbers[0].values, (Numbers{0, 1, 0.3}));
  EXPECT_EQ(numbers[1].values, (Numbers{1, 0, 0}));
  EXPECT_TRUE(numbers[0].labels.empty());

  const auto flags = read(read_multi_label, "a.jsonl",
                          "{\"text\": \"a\", \"labels\": [0, 1]}\n{\"text\": \"b\", \"labels\": [1, 1]}\n")
                         .rows;
  EXPECT_EQ(flags[0].values, (Numbers{0, 1}));
  const auto ids = read(read_multi_label, "a.jsonl",
                        "{\"text\": \"a\", \"labels\": [0, 1]}\n{\"text\": \"b\", \"labels\": [1]}\n")
                       .rows;
  EXPECT_EQ(ids[0].labels, (Strings{"0", "1"}));

  EXPECT_TRUE(contains(
      error_of([] {
        read(read_multi_label, "a.jsonl",
             "{\"text\": \"a\", \"labels\": [0.5, 1]}\n{\"text\": \"b\", \"labels\": [\"x\", \"y\"]}\n");
      }),
      "expected numbers in every row"));
  EXPECT_TRUE(contains(error_of([] {
                         read(
                             read_multi_label, "a.jsonl",
                             "{\"text\": \"a\", \"labels\": [0.5, 1]}\n{\"text\": \"b\", \"labels\": [3]}\n");
                       }),
                       "2 numbers in every row"));
}

TEST(LabeledTexts, OfRegression) {
  const auto rows = read(read_regression, "a.tsv", "text\tscore\na\t1.5\nb\t-2e1\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].values, Numbers{-20});
  EXPECT_EQ(read(read_regression, "a.jsonl", R"({"text": "a", "label": [1, 2.5]})")[0].values,
            (Numbers{1, 2.5}));
  testing::internal::CaptureStderr();
  EXPECT_EQ(read(read_regression, "a.tsv", "a\t1\nb\tnan\nc\t2x\nd\t3\ne\t4\n").size(), 3U);
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "line 2: expected a number, found \"nan\""));
}

TEST(LabeledTexts, OfPairs) {
  const auto pairs = read(read_pairs, "a.tsv", "dog\tHund\ncat\tKatze\n");
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[1].pair, "Katze");
  const auto scored = read(read_scored_pairs, "a.tsv", "5.000\ta\tb\n2.5\tc\td\n");
  ASSERT_EQ(scored.size(), 2U);
  EXPECT_EQ(scored[1].score, 2.5);
  EXPECT_EQ(scored[1].text, "c");
  const auto named = read(read_scored_pairs, "a.csv", "sentence1,sentence2,score\na,b,4\n");
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].pair, "b");
  EXPECT_EQ(named[0].score, 4);
}

}  // namespace
}  // namespace attend
