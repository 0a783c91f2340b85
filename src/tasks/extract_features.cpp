// The last hidden states, token by token.
#include <attend/tasks.h>

#include "tasks/texts/text_model.h"

namespace attend {

FeatureExtractor::FeatureExtractor(const ModelPath& model) : model_(TextModel::with_any_head(model)) {}

std::vector<Features> FeatureExtractor::extract(const std::vector<std::string>& texts,
                                                const RunOptions& options) {
  const std::vector<Encoding> encodings = model_->encode(texts, options);
  std::vector<Features> results(texts.size());
  model_->hidden_states(encodings, options, [&](std::size_t i, const Tensor& states) {
    results[i] = {encodings[i].ids.size(), static_cast<std::size_t>(states.size(1)), numbers(states)};
  });
  return results;
}

}  // namespace attend
