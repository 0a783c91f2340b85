// The parameters of pipelines that make vectors of texts.
#pragma once

#include <attend/attend.h>

#include "pipelines/parameters.h"

namespace attend {

class VectorParameters {
 public:
  // prompt_name, prompt, dimensions, normalize, pooling. They are set in this object.
  PipelineParameters parameters();

  const EmbedderOptions& embedder() const { return embedder_; }
  EmbedOptions embed(const RunOptions& run) const;

 private:
  EmbedderOptions embedder_;
  EmbedOptions embed_;
};

// similarity; absent: the model's own.
PipelineParameter similarity_parameter(std::optional<Similarity>& similarity);

}  // namespace attend
