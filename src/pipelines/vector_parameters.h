// The parameters of pipelines that make vectors of texts.
#pragma once

#include <attend/embedder.h>
#include <attend/tasks.h>

#include "pipelines/pipeline.h"

namespace attend {

// A list of numbers for each token.
Json token_rows(const Features& features);

class VectorParameters {
 public:
  // prompt_name, prompt, dimensions, normalize, pooling. They are set in this object.
  Options parameters();

  const EmbedderOptions& embedder() const { return embedder_; }
  EmbedOptions embed(const RunOptions& run) const;

 private:
  EmbedderOptions embedder_;
  EmbedOptions embed_;
};

// prompt_name, prompt; `what` is the prompt's description.
template <class Prompted>
Options prompt_parameters(Prompted& options, std::string what = "Text to put before every text") {
  Option prompt = option::text("prompt", options.prompt, std::move(what));
  prompt.excludes = "prompt_name";
  return {option::text("prompt_name", options.prompt_name, "Name of a prompt of the model"),
          std::move(prompt)};
}

// A pipeline that answers with what an Embedder of this kind makes of each text, written by `to_json`.
template <class Embedder, auto to_json>
class EmbeddingPipeline : public Pipeline {
 public:
  Options parameters() override { return prompt_parameters(options_); }
  void load(const ModelPath& model) override { embedder_.emplace(model); }

  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions& run) override {
    EmbedOptions options = options_;
    static_cast<RunOptions&>(options) = run;
    std::vector<Json> answers;
    for (const auto& made : embedder_->embed(texts_of(inputs), options)) answers.push_back(to_json(made));
    return answers;
  }

 private:
  EmbedOptions options_;
  std::optional<Embedder> embedder_;
};

// similarity; absent: the model's own.
Option similarity_parameter(std::optional<Similarity>& similarity);

}  // namespace attend
