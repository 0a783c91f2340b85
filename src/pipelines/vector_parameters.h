// The parameters of pipelines that make vectors of texts.
#pragma once

#include <attend/attend.h>
#include <attend/tasks.h>

#include "pipelines/parameters.h"

namespace attend {

// A list of numbers for each token.
Json token_rows(const Features& features);

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

// prompt_name, prompt; `what` is the prompt's description.
template <class Options>
PipelineParameters prompt_parameters(Options& options, std::string what = "Text to put before every text") {
  PipelineParameter prompt = parameter::text("prompt", options.prompt, std::move(what));
  prompt.excludes = "prompt_name";
  return {parameter::text("prompt_name", options.prompt_name, "Name of a prompt of the model"),
          std::move(prompt)};
}

// similarity; absent: the model's own.
PipelineParameter similarity_parameter(std::optional<Similarity>& similarity);

}  // namespace attend
