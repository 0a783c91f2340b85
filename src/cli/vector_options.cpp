#include "cli/vector_options.h"

namespace attend::cli {

void VectorFlags::add(CLI::App& app) {
  CLI::Option* const name = app.add_option("--prompt-name", embed_.prompt_name,
                                           "Put the model's prompt of this name before every text");
  app.add_option("--prompt", embed_.prompt, "Put this text before every text")->excludes(name);
  app.add_option("--dimensions", embed_.dimensions, "Cut vectors to their first numbers, so many");
  app.add_flag_function(
      "--normalize,!--no-normalize", [this](std::int64_t count) { embed_.normalize = count > 0; },
      "Give vectors the length 1, or not; as the model says unless given");
  app.add_option("--pooling", embedder_.pooling,
                 "What makes one vector of the tokens; as the model's directory says unless given")
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
                  "How nearness is measured, as the model says unless given; a distance counts below zero")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, Similarity>{{"cosine", Similarity::cosine},
                                                                    {"dot", Similarity::dot},
                                                                    {"euclidean", Similarity::euclidean},
                                                                    {"manhattan", Similarity::manhattan}}));
}

}  // namespace attend::cli
