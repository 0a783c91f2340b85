// Logits processors: they change the scores of the next token before one is chosen. The arithmetic (float32,
// the order of operations, the handling of equal scores) is that of transformers 4.57.6,
// generation/logits_process.py. By theme: repetition_processors.h, token_processors.h,
// temperature_processors.h, truncation_processors.h.
#pragma once

#include "generation/config/config.h"
#include "generation/forms/grammar.h"
#include "generation/scores/selection.h"
#include "tensor/tensor.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace attend {

// The elements of a contiguous float32 tensor; valid as long as the tensor exists.
inline std::span<const float> row_scores(const Tensor& t) {
  return {t.const_data<float>(), static_cast<std::size_t>(t.numel())};
}

class Grammar;

// What a processor knows about the text.
struct ProcessorContext {
  std::span<const std::int64_t> tokens;  // the prompt and the tokens since; never empty
  LengthLimits limits;
  // The encoder's input or, for a decoder without an encoder, the prompt; as in `Prompt::row`.
  std::span<const std::int64_t> source = {};
  std::span<const std::int64_t> others = {};  // tokens that other groups of beams have chosen in this step
  double chance = 0;                          // random number in [0, 1), for processors that need one
  std::size_t number = 0;                     // index of the prompt
};

// A caller's own rule, like transformers' LogitsProcessor and prefix_allowed_tokens_fn: changes the scores
// [V] of the token after `tokens`, which are the prompt (a decoder with an encoder: the start token) and the
// tokens since. `number`: index of the prompt, from 0. Called from several threads at once. An exception ends
// the request.
using ScoreRule =
    std::function<void(std::size_t number, std::span<const std::int64_t> tokens, std::span<float> scores)>;

// One kind of change. Stateless: one object serves any number of texts and threads at once.
class LogitsProcessor {
 public:
  virtual ~LogitsProcessor() = default;
  // scores [V] of the token after context.tokens.
  virtual void apply(std::span<float> scores, const ProcessorContext& context) const = 0;
};

using Processor = std::unique_ptr<const LogitsProcessor>;

// The same numbers as a tensor [V], for torch's arithmetic.
Tensor tensor_of(std::span<float> scores);

// Token ids may have any value: those outside the vocabulary have no score.
inline void forbid(std::span<float> scores, std::int64_t token) {
  if (token >= 0 && token < static_cast<std::int64_t>(scores.size())) scores[token] = kNever;
}

class LogitsProcessors {
 public:
  // The processors for `config`, in the order of the original.
  LogitsProcessors() = default;
  // `grammar`: the compiled form of the config; null if it has none. `rule` may be empty.
  explicit LogitsProcessors(const GenerationConfig& config, std::shared_ptr<const Grammar> grammar = nullptr,
                            ScoreRule rule = {});

  bool empty() const { return processors_.empty(); }
  void apply(std::span<float> scores, const ProcessorContext& context) const {
    for (const auto& processor : processors_) processor->apply(scores, context);
  }

 private:
  std::vector<Processor> processors_;
};

}  // namespace attend
