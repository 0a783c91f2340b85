#include "nn/transformer/vocabulary_scores.h"

namespace attend {

VocabularyScores vocabulary_scores(const Transformer& model, const Tensor& hidden, Pass& pass) {
  const auto& spec = model->spec().language_model_head;
  if (!spec) fail("expected a model with scores over a vocabulary, found one without");
  if (spec->clusters) fail("distillation does not support a vocabulary in clusters (Transformer-XL)");
  if (spec->soft_cap > 0) fail("distillation does not support capped scores over a vocabulary (Gemma 2)");
  const LanguageModelHead& head = model->language_model_head;
  if (!head->adapters.empty()) fail("distillation does not support a vocabulary matrix with an adapter");
  const auto parameters = head->named_parameters(/*recurse=*/false);
  const auto modules = head->named_children();
  const Stack& top = model->decoder ? model->decoder : model->encoder;
  VocabularyScores scores;
  scores.hidden = hidden;
  if (spec->transform) {
    auto* const dense = modules["dense"]->as<LinearImpl>();
    auto* const norm = modules["norm"]->as<LayerNormImpl>();
    scores.hidden = norm->forward(dense->forward(hidden, pass, spec->transform->activation));
  } else if (spec->scale != 1) {
    scores.hidden = hidden * spec->scale;
  }
  scores.weight = spec->untied ? parameters["weight"] : top->embeddings->tokens;
  if (spec->bias) scores.bias = parameters["bias"];
  return scores;
}

}  // namespace attend
