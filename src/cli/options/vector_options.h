// The options of verbs that make vectors of texts.
#pragma once

#include <attend/vectors.h>

#include "cli/options/option_flags.h"
#include "pipelines/vector_parameters.h"

namespace attend::cli {

class VectorFlags {
 public:
  // --prompt-name, --prompt, --dimensions, --normalize, --pooling. They are set when `app` parses.
  void add(CLI::App& app) { add_options(app, parameters_.parameters()); }

  const EmbedderOptions& embedder() const { return parameters_.embedder(); }
  EmbedOptions embed(const RunOptions& run) const { return parameters_.embed(run); }

 private:
  VectorParameters parameters_;
};

// --similarity; absent: the model's own.
inline CLI::Option* add_similarity(CLI::App& app, std::optional<Similarity>& similarity) {
  return add_option(app, similarity_parameter(similarity));
}

// --precision of a file of vectors.
inline CLI::Option* add_vector_format(CLI::App& app, VectorFormat& format) {
  return add_option(
      app,
      option::choice(
          "precision", format,
          {{"float32", VectorFormat::float32}, {"int8", VectorFormat::int8}, {"bits", VectorFormat::bits}},
          "Numbers of the vectors in --output: float32, int8 (a quarter, nearly the same results), or "
          "bits (a thirty-second: the signs)"));
}

}  // namespace attend::cli
