// Labels for texts.
#include <attend/tasks.h>

#include "tasks/texts/label_scores.h"
#include "tasks/texts/text_model.h"

namespace attend {

TextClassifier::TextClassifier(const ModelPath& model)
    : model_(TextModel::with_scores(model, ScoreKind::sequence_classification)) {}

std::vector<std::vector<LabelScore>> TextClassifier::classify(const std::vector<TextAndPair>& texts,
                                                              const ClassifyOptions& options) {
  const Tokenizer& tokenizer = model_->tokenizer();
  const EncodeOptions encode{.with_details = false,
                             .with_types = true,
                             .truncation = model_->longest().truncation(options.truncate)};
  std::vector<Encoding> encodings;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    encodings.push_back(texts[i].pair ? tokenizer.encode_pair(texts[i].text, *texts[i].pair, encode)
                                      : tokenizer.encode(texts[i].text, encode));
    model_->check(encodings.back(), name_of_text(i, texts.size()));
    if (!encodings.back().overflowing.empty()) model_->longest().say_cut(/*asked=*/true, "");
  }
  const ScoreFunction function = options.function == ScoreFunction::by_model
                                     ? score_function(model_->model(options.adapter))
                                     : options.function;
  const std::vector<std::string> labels = model_->labels(options.adapter);
  std::vector<std::vector<LabelScore>> results(texts.size());
  model_->run(encodings, options, [&](std::size_t i, const TextModel::Output& output) {
    results[i] = best_labels(numbers(apply_function(function, output["logits"])), labels, options.top_k);
  });
  return results;
}

}  // namespace attend
