// The options of verbs that make vectors of texts.
#pragma once

#include "cli/parameter_flags.h"
#include "pipelines/vector_parameters.h"

namespace attend::cli {

class VectorFlags {
 public:
  // --prompt-name, --prompt, --dimensions, --normalize, --pooling. They are set when `app` parses.
  void add(CLI::App& app) { add_parameters(app, parameters_.parameters()); }

  const EmbedderOptions& embedder() const { return parameters_.embedder(); }
  EmbedOptions embed(const RunOptions& run) const { return parameters_.embed(run); }

 private:
  VectorParameters parameters_;
};

// --similarity; absent: the model's own.
inline CLI::Option* add_similarity(CLI::App& app, std::optional<Similarity>& similarity) {
  return add_parameter(app, similarity_parameter(similarity));
}

}  // namespace attend::cli
