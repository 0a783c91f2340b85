// A vector for each token: late interaction.
#include <attend/token_weights.h>

#include "base/error.h"
#include "base/file.h"
#include "models/checkpoint/sentence_modules.h"
#include "nn/layers/pooling.h"
#include "tasks/texts/text_model.h"
#include "tasks/vectors/embedded_texts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attend {

struct TokenEmbedder::State {
  std::shared_ptr<TextModel> model;
  std::unique_ptr<EmbeddedTexts> texts;
  Linear linear{nullptr};

  explicit State(const ModelPath& path) {
    const ModelDirectory files(path);
    const std::filesystem::path own = files.path() / "colbert_linear.pt";
    if (!file_exists(own)) fail("{}: expected BGE-M3, with colbert_linear.pt", files.path().string());
    model = TextModel::with_any_head(path);
    texts =
        std::make_unique<EmbeddedTexts>(files, read_sentence_directory(files), positions_of(model->model()));
    linear = read_linear(own, width_of(model->model()));
  }
};

TokenEmbedder::TokenEmbedder(const ModelPath& model) : state_(std::make_shared<State>(model)) {}

std::vector<Features> TokenEmbedder::embed(const std::vector<std::string>& texts,
                                           const EmbedOptions& options) {
  if (options.dimensions || options.normalize)
    fail("vectors of tokens are not cut to dimensions, and have the length 1");
  const Unrecorded inference;
  const std::vector<Encoding> encodings = state_->texts->encode(texts, options, /*with_types=*/true);
  for (std::size_t i = 0; i < texts.size(); ++i)
    state_->model->check(encodings[i], name_of_text(i, texts.size()));
  std::vector<Features> all(texts.size());
  state_->model->hidden_states(encodings, options, [&](std::size_t i, const Tensor& rows) {  // [tokens, d]
    Pass pass = Pass::inference();
    const Tensor vectors = to_unit_length(state_->linear(rows.slice(0, 1), pass));
    all[i] = {static_cast<std::size_t>(vectors.size(0)), static_cast<std::size_t>(vectors.size(1)),
              numbers(vectors.reshape({-1}))};
  });
  return all;
}

float v1::late_interaction(const Features& query, const Features& document) {
  if (query.tokens == 0 || document.tokens == 0) return 0;
  if (query.width != document.width)
    fail("the similarity of vectors of {} and {} numbers", query.width, document.width);
  const auto row = [](const Features& from, std::size_t i) {
    return std::span(from.values).subspan(i * from.width, from.width);
  };
  double sum = 0;
  for (std::size_t i = 0; i < query.tokens; ++i) {
    double best = -INFINITY;
    for (std::size_t j = 0; j < document.tokens; ++j) {
      const auto a = row(query, i), b = row(document, j);
      best = std::max(best, std::inner_product(a.begin(), a.end(), b.begin(), 0.0));
    }
    sum += best;
  }
  return static_cast<float>(sum / static_cast<double>(query.tokens));
}

}  // namespace attend
