// A loaded model, shared by any number of tasks and threads.
//
//   attend::Model model("all-MiniLM-L6-v2");
//   attend::Embedder embedder(model);  // shares the weights
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
inline namespace v1 {

struct ModelOptions {
  // Keep weights in float32 so that forward() can compute gradients. Inference is slower with it.
  bool gradients = false;
};

// Additional outputs of forward().
struct OutputOptions {
  bool hidden_states = false, attentions = false;  // of every layer
  // Gradients of the loss, named grad.<checkpoint name> (with an adapter: of its trained tensors). The model
  // must be loaded with ModelOptions::gradients.
  bool gradients = false;
  // Index of the adapter to use (-1: none); absent: all of them.
  std::optional<std::int64_t> adapter = {};
};

// Copies share the same model. All functions are thread-safe.
class ATTEND_API Model {
 public:
  // Reads the weights. Throws Error, usually of kind `model`, if they cannot be read or the family is not
  // supported.
  explicit Model(const ModelPath& path, const ModelOptions& options = {});

  // Pass a Model wherever a ModelPath is expected, and the task shares it. A task that needs another head
  // reads the weights again.
  operator ModelPath() const;

  // Computes what transformers' forward does, for padded tensors. Inputs have the names of its arguments
  // (input_ids and attention_mask [B, L], pixel_values, labels, ...), results those of the fields of its
  // ModelOutput, with an index for each layer (attentions.0). Results at padded positions are zero. Throws
  // Error for an input that is missing, unknown or has the wrong shape, or for ids outside the vocabulary.
  Arrays forward(const Arrays& inputs, const OutputOptions& options = {}) const;

  // The tokenizers for input and output. Throws Error if the directory has none.
  const TokenizerPair& tokenizers() const;
  std::string model_type() const;  // "bert"
  bool generates() const;          // whether it generates text; GenerationQueue needs that
  const std::string& architecture() const;
  const std::string& config() const;  // the text of config.json
  std::int64_t size() const;          // number of parameters

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace v1
}  // namespace attend
