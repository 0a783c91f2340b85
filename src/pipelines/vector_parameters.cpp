#include "pipelines/vector_parameters.h"

namespace attend {

PipelineParameters VectorParameters::parameters() {
  PipelineParameter prompt = parameter::text("prompt", embed_.prompt, "Text to put before every text");
  prompt.excludes = "prompt_name";
  return {
      parameter::text("prompt_name", embed_.prompt_name,
                      "Name of a prompt of the model to put before every text"),
      std::move(prompt),
      parameter::integer("dimensions", embed_.dimensions, 1, "Keep only the first N numbers of each vector"),
      parameter::flag("normalize", embed_.normalize,
                      "Scale vectors to length 1, or not; default: the model's setting"),
      parameter::word("pooling", embedder_.pooling,
                      {"mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"},
                      "How token vectors become one vector; default: the setting of the model's directory")};
}

EmbedOptions VectorParameters::embed(const RunOptions& run) const {
  EmbedOptions options = embed_;
  static_cast<RunOptions&>(options) = run;
  return options;
}

PipelineParameter similarity_parameter(std::optional<Similarity>& similarity) {
  return parameter::choice("similarity", similarity,
                           {{"cosine", Similarity::cosine},
                            {"dot", Similarity::dot},
                            {"euclidean", Similarity::euclidean},
                            {"manhattan", Similarity::manhattan}},
                           "Similarity measure; default: the model's. Distances are negative");
}

}  // namespace attend
