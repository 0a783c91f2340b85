#include "cli/vector_options.h"

namespace attend::cli {

void VectorFlags::add(CLI::App& app) {
  CLI::Option* const name = app.add_option("--prompt-name", embed_.prompt_name,
                                           "Name of a prompt of the model to put before every text");
  app.add_option("--prompt", embed_.prompt, "Text to put before every text")->excludes(name);
  app.add_option("--dimensions", embed_.dimensions, "Keep only the first N numbers of each vector");
  app.add_flag_function(
      "--normalize,!--no-normalize", [this](std::int64_t count) { embed_.normalize = count > 0; },
      "Scale vectors to length 1, or not; default: the model's setting");
  app.add_option("--pooling", embedder_.pooling,
                 "How token vectors become one vector; default: the setting of the model's directory")
      ->check(CLI::IsMember({"mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"}));
}

EmbedOptions VectorFlags::embed(const RunOptions& run) const {
  EmbedOptions options = embed_;
  static_cast<RunOptions&>(options) = run;
  return options;
}

CLI::Option* add_similarity(CLI::App& app, std::optional<Similarity>& similarity) {
  return app
      .add_option("--similarity", similarity,
                  "Similarity measure; default: the model's. Distances are negative")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, Similarity>{{"cosine", Similarity::cosine},
                                                                    {"dot", Similarity::dot},
                                                                    {"euclidean", Similarity::euclidean},
                                                                    {"manhattan", Similarity::manhattan}}));
}

CLI::Option* add_vector_format(CLI::App& app, VectorFormat& format) {
  return app
      .add_option(
          "--precision", format,
          "Numbers of the vectors in --output: float32, int8 (a quarter, nearly the same results), or "
          "bits (a thirty-second: the signs)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, VectorFormat>{
          {"float32", VectorFormat::float32}, {"int8", VectorFormat::int8}, {"bits", VectorFormat::bits}}));
}

}  // namespace attend::cli
