#include "tasks/texts/label_scores.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(LabelScores, AreTheBestFirstAndEqualOnesInOrder) {
  const std::vector<float> scores = {0.2f, 0.3f, 0.2f, 0.3f};
  const std::vector<std::string> labels = {"a", "b", "c", "d"};
  std::string order;
  for (const auto& [label, score] : best_labels(scores, labels, 0)) order += label;
  EXPECT_EQ(order, "bdac");
  EXPECT_EQ(best_labels(scores, labels, 1).front().label, "b");
  EXPECT_EQ(best_labels(scores, labels, 9).size(), 4u);
}

TEST(LabelScores, TakeTheirNamesFromTheConfig) {
  const Fields named(Json{{"id2label", {{"0", "no"}, {"1", "yes"}}}}, "config.json");
  EXPECT_EQ(read_labels(named), (std::vector<std::string>{"no", "yes"}));
  const Fields counted(Json{{"num_labels", 3}}, "config.json");
  EXPECT_EQ(read_labels(counted), (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
}

}  // namespace
}  // namespace attend
