// A weight for each token that a text is about.
#include <attend/token_weights.h>

#include "formats/json/json_floats.h"
#include "pipelines/vector_parameters.h"

#include <fmt/format.h>

namespace attend {
namespace {

// The weights by the texts of their tokens.
Json weights_by_text(const std::vector<TokenWeight>& weights) {
  Json answer = Json::object();
  auto& fields = answer.get_ref<Json::object_t&>();
  for (const TokenWeight& each : weights)  // a vocabulary may have tokens without a text
    fields.emplace_back(each.text.empty() ? fmt::format("#{}", each.token) : each.text,
                        shortest_double(each.weight));
  return answer;
}

}  // namespace

extern const PipelineKind sparse_vectors_pipeline;
const PipelineKind sparse_vectors_pipeline = {
    "sparse-vectors", "a weight for each token that a text is about",
    "Prints an object with tokens and their weights, the heaviest first: by SPLADE, or by BGE-M3 "
    "(sparse_linear.pt). Texts are cut at the model's maximum.",
    "attend run sparse-vectors splade-v3 \"A dog runs.\"",
    make_pipeline<EmbeddingPipeline<SparseEmbedder, weights_by_text>>};

}  // namespace attend
