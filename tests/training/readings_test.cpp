#include "training/logs/readings.h"

#include "objectives/base/kinds.h"
#include "objectives/word_setting.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

struct Reader : WordSetting {
  Reader(const ObjectiveKind& kind, std::string_view rows) : WordSetting("bert", kind.head) {
    add_file("rows.tsv", rows);
    objective = kind.make(setting());
    trainee.emplace(
        PretrainedModel::load(*model, {.architecture = architecture_for(find_family("bert"), kind.head),
                                       .fresh = FreshHead{1, objective->labels()}}));
  }
  std::vector<Sample> read() const { return readings(*trainee, *objective, &*tokenizers.source, 2); }

  std::unique_ptr<Objective> objective;
  std::optional<Trainee> trainee;
};

TEST(Readings, LabelsOfTextsAndOfWords) {
  const Reader texts(kClassification, "a b\tgood\nc d\tbad\ne\tgood\n");
  const std::vector<Sample> said = texts.read();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_TRUE(said[0].input.find("a b") != std::string::npos) << said[0].input;
  EXPECT_EQ(said[0].expected, "good");
  EXPECT_EQ(said[1].expected, "bad");
  EXPECT_TRUE(said[0].said == "good" || said[0].said == "bad") << said[0].said;

  const Reader words(kTokenClassification, "a\tX\nb\tY\n\nc\tX\n");
  const std::vector<Sample> tags = words.read();
  EXPECT_EQ(tags.at(0).expected, "X Y");
  EXPECT_EQ(tags.at(1).expected, "X");

  const Reader numbers(kRegression, "a b\t2.5\nc\t1\n");
  EXPECT_EQ(numbers.read().at(0).expected, "2.5");
}

TEST(Readings, TokensThatWereHidden) {
  const Reader reader(kMaskedLanguageModel, "a b c d e f g h i j k l\n");
  const std::vector<Sample> said = reader.read();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_FALSE(said[0].expected.empty());
  EXPECT_FALSE(said[0].said.empty());
}

TEST(Readings, NothingOfVectors) {
  EXPECT_TRUE(Reader(kPairs, "a\tb\nc\td\n").read().empty());
}

}  // namespace
}  // namespace attend
