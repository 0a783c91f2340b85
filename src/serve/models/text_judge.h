// Judges texts and pairs of texts with a model: its classifier's labels, and how well two texts match.
#pragma once

#include <attend/reranker.h>

#include "serve/models/served_model.h"
#include "tasks/texts/longest_text.h"

namespace attend::serve {

class TextJudge {
 public:
  explicit TextJudge(ServedModel& model);

  struct LabelOptions {
    std::optional<std::int64_t> adapter = {};
    ScoreFunction function = ScoreFunction::by_model;
    bool truncate = true;
    auto operator<=>(const LabelOptions&) const = default;
  };
  // All labels of each text, the best first. Texts that arrive at the same time are read together.
  std::vector<std::vector<LabelScore>> classify(const std::vector<TextAndPair>& texts,
                                                const LabelOptions& options);
  // By index. An Error for a model without a classifier.
  std::vector<std::string> labels(std::optional<std::int64_t> adapter);
  // Whether the model has a classifier; otherwise `labels` throws.
  bool has_labels();
  std::optional<std::size_t> max_tokens() const { return longest_.tokens(); }  // of a text; absent: no limit
  std::size_t count_tokens(const std::vector<TextAndPair>& texts, const LabelOptions& options);

  struct MatchOptions {
    std::optional<std::int64_t> adapter = {};
    bool raw_scores = false, truncate = true;
    std::optional<std::string> prompt = {}, prompt_name = {};
    auto operator<=>(const MatchOptions&) const = default;
  };
  // How well each pair matches: the scores of attend/reranker.h, or for a model that is no reranker the
  // similarity of vectors for which it was trained.
  std::vector<float> match(const std::vector<TextAndPair>& pairs, const MatchOptions& options);
  std::size_t count_tokens(const std::vector<TextAndPair>& pairs, const MatchOptions& options);

 private:
  // A task of the model, made on first use, or the reason why the model does not suit it.
  template <class Task>
  struct Attempt {
    std::optional<Task> task = {};
    std::string problem = {};
    bool made = false;
    Task* get(TextJudge& judge);  // null: the model does not suit it
  };
  template <class Options>
  struct Text {
    TextAndPair text;
    Options options;
  };
  using TextToLabel = Text<LabelOptions>;
  using TextToMatch = Text<MatchOptions>;

  std::vector<std::vector<LabelScore>> classify_now(const std::vector<TextToLabel>& texts);
  std::vector<float> match_now(const std::vector<TextToMatch>& pairs);
  std::vector<float> compare_vectors(const std::vector<TextAndPair>& pairs, const MatchOptions& options);

  ServedModel& model_;
  LongestText longest_;
  std::mutex making_;
  Attempt<TextClassifier> classifier_;
  Attempt<Reranker> reranker_;
  Gathered<TextToLabel, std::vector<LabelScore>> gathered_;
  Gathered<TextToMatch, float> gathered_pairs_;
};

}  // namespace attend::serve
