// Judges texts and pairs of texts with a model: its classifier's labels, and how well two texts match.
#pragma once

#include "serve/models/served_model.h"
#include "tasks/texts/longest_text.h"

namespace attend::serve {

// Judges pairs: with a classifier that reads both at once, or by the vectors of each.
class TextJudge {
 public:
  explicit TextJudge(ServedModel& model);

  struct Options {
    std::optional<std::int64_t> adapter = {};
    ScoreFunction function = ScoreFunction::by_model;
    bool truncate = true;
    auto operator<=>(const Options&) const = default;
  };
  // All labels of each text, the best first. Texts that arrive at the same time are read together.
  std::vector<std::vector<LabelScore>> classify(const std::vector<TextAndPair>& texts,
                                                const Options& options);
  // By index. An Error for a model without a classifier.
  std::vector<std::string> labels(std::optional<std::int64_t> adapter);
  // How well each pair matches: the score of a classifier with a single score (Options::function; by_model is
  // sigmoid), or the similarity of vectors for which the model was trained. An Error for a classifier with
  // several labels.
  std::vector<float> match(const std::vector<TextAndPair>& pairs, const Options& options);
  // The number of tokens that are read.
  std::size_t count_tokens(const std::vector<TextAndPair>& texts, const Options& options);

 private:
  struct Text {
    TextAndPair text;
    Options options;
  };
  std::vector<std::vector<LabelScore>> classify_now(const std::vector<Text>& texts);
  TextClassifier* classifier();  // null: none

  ServedModel& model_;
  LongestText longest_;
  std::mutex making_;
  bool tried_ = false;
  std::string no_classifier_;  // the reason if there is none
  std::optional<TextClassifier> classifier_;
  Gathered<Text, std::vector<LabelScore>> gathered_;
};

}  // namespace attend::serve
