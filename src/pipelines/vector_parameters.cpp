#include "pipelines/vector_parameters.h"

#include "formats/json/json_floats.h"

namespace attend {

Json token_rows(const Features& features) {
  Json rows = Json::array();
  auto value = features.values.begin();
  for (std::size_t i = 0; i < features.tokens; ++i, value += static_cast<std::ptrdiff_t>(features.width))
    rows.push_back(float_list({value, features.width}));
  return rows;
}

Options VectorParameters::parameters() {
  Options all = prompt_parameters(embed_);
  all.push_back(
      option::integer("dimensions", embed_.dimensions, 1,
                      "Keep only the first N numbers of each vector, of length 1 again if the model's are"));
  all.push_back(option::flag("normalize", embed_.normalize,
                             "Scale vectors to length 1, or not; default: the model's setting"));
  all.push_back(
      option::word("pooling", embedder_.pooling,
                   {"mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"},
                   "How token vectors become one vector; default: the setting of the model's directory"));
  return all;
}

EmbedOptions VectorParameters::embed(const RunOptions& run) const {
  EmbedOptions options = embed_;
  static_cast<RunOptions&>(options) = run;
  return options;
}

Option similarity_parameter(std::optional<Similarity>& similarity) {
  return option::choice("similarity", similarity,
                        {{"cosine", Similarity::cosine},
                         {"dot", Similarity::dot},
                         {"euclidean", Similarity::euclidean},
                         {"manhattan", Similarity::manhattan}},
                        "Similarity measure; default: the model's. Distances are negative");
}

}  // namespace attend
