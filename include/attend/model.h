// A model in memory, for any number of tasks and threads.
//
//   attend::Model model("all-MiniLM-L6-v2");
//   attend::Embedder embedder(model);                   // reads no weights of its own
//   std::vector<std::int64_t> ids = {101, 7592, 102};
//   auto outputs = model.forward({{"input_ids", attend::Array({1, 3}, ids)}});
#pragma once

#include <attend/array.h>
#include <attend/error.h>
#include <attend/export.h>
#include <attend/model_path.h>
#include <attend/tokenizer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace attend {

struct ModelOptions {
  // Weights whose gradients forward() can give: in float32, and slower than without.
  bool gradients = false;
};

// What forward() gives beside a model's results.
struct OutputOptions {
  bool hidden_states = false, attentions = false;  // of every layer
  // Of the loss, by checkpoint name (with an adapter: of what it trains): grad.<name>. Of a model that was
  // loaded for it.
  bool gradients = false;
  // The one of the model's adapters that texts are read with (-1: none); absent: all of them.
  std::optional<std::int64_t> adapter = {};
};

// Copies are the same model. All functions may be called from any number of threads at a time.
class ATTEND_API Model {
 public:
  // Reads the weights. Error, mostly of the kind `model`, where they cannot be read or are none of this
  // library's families.
  explicit Model(const ModelPath& path, const ModelOptions& options = {});

  // A task takes a model where it takes a path, and shares it as far as it has the head that the task needs.
  operator ModelPath() const;

  // What transformers' forward gives for padded tensors: inputs are named as its arguments (input_ids and
  // attention_mask [B, L], pixel_values, labels, ...), results as the fields of its ModelOutput, numbered
  // where there is one for each layer (attentions.0). Positions that are not real are zero. Error for an
  // input that is missing, unknown or misshapen, or holds ids that the model does not have.
  Arrays forward(const Arrays& inputs, const OutputOptions& options = {}) const;

  // What it reads texts with, and writes them. Error if the directory has none.
  const TokenizerPair& tokenizers() const;
  std::string model_type() const;  // "bert"
  bool generates() const;          // text, token by token: what GenerationQueue takes
  const std::string& architecture() const;
  const std::string& config() const;  // config.json
  std::int64_t size() const;          // how many numbers its weights are

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace attend
