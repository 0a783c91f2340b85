// The options of verbs and tasks that make vectors of texts.
#pragma once

#include <attend/vectors.h>

#include <map>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace attend::cli {

class VectorFlags {
 public:
  // --prompt, --prompt-name, --dimensions, --normalize, --pooling. They are written here when `app` parses.
  void add(CLI::App& app);

  const EmbedderOptions& embedder() const { return embedder_; }
  EmbedOptions embed(const RunOptions& run) const;

 private:
  EmbedderOptions embedder_;
  EmbedOptions embed_;
};

// --similarity; absent: the model's own.
CLI::Option* add_similarity(CLI::App& app, std::optional<Similarity>& similarity);

// --precision of a file of vectors.
CLI::Option* add_vector_format(CLI::App& app, VectorFormat& format);

}  // namespace attend::cli
