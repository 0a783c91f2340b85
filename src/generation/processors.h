// Logits processors: what changes the scores of the next token before one is chosen. The arithmetic (float32,
// the order of operations, what happens at equal scores) is that of transformers 4.57.6,
// generation/logits_process.py.
#pragma once

#include "generation/config.h"
#include "nn/torch.h"

#include <memory>
#include <span>
#include <vector>

namespace attend {

// What a processor knows of the text that it continues.
struct ProcessorContext {
  std::span<const std::int64_t> tokens;  // the prompt and what has come since; never empty
  LengthLimits limits;
};

// One kind of change. Has no state: the same object serves any number of texts and threads at once.
class LogitsProcessor {
 public:
  virtual ~LogitsProcessor() = default;
  // scores [V] of the token after context.tokens.
  virtual void apply(std::span<float> scores, const ProcessorContext& context) const = 0;
};

class LogitsProcessors {
 public:
  // Those that `config` asks for, in the order of the original.
  LogitsProcessors() = default;
  explicit LogitsProcessors(const GenerationConfig& config);

  bool empty() const { return processors_.empty(); }
  void apply(std::span<float> scores, const ProcessorContext& context) const {
    for (const auto& processor : processors_) processor->apply(scores, context);
  }

 private:
  std::vector<std::unique_ptr<const LogitsProcessor>> processors_;
};

}  // namespace attend
