// Virtual tokens: learned vectors that an adapter puts before every text and that belong to no token. Prefix
// tuning (Li and Liang 2021, arXiv:2101.00190): keys and values of every layer. Prompt tuning (Lester et al.
// 2021, arXiv:2104.08691): token vectors.
#pragma once

#include "nn/pass.h"
#include "nn/ragged.h"

namespace attend {

// Stands before the keys and values of a stack's self-attentions.
struct KeyPrefix {
  std::int64_t adapter = 0;
  Tensor numbers;           // [P, places * w]: of all layers
  std::int64_t places = 2;  // of keys or values
  std::int64_t stride =
      2;  // from the place of a layer's keys to that of the next one's; values are behind keys

  std::int64_t length() const { return numbers.size(0); }
  Tensor of_layer(std::int64_t layer) const;  // [P, 2 w]
};

// The prefixes of a pass: which of a stack's each of its sequences has, one after another.
class PassPrefixes {
 public:
  PassPrefixes() = default;
  // `choice` as Pass has it.
  PassPrefixes(const std::vector<KeyPrefix>& prefixes, const Offsets& offsets, const AdapterChoice* choice);

  bool empty() const { return of_.empty(); }
  std::vector<std::int64_t> lengths() const;               // [B]
  std::vector<Tensor> of_layer(std::int64_t layer) const;  // [B] of [P, 2 w]

 private:
  std::vector<KeyPrefix> prefixes_;
  std::vector<std::vector<std::size_t>> of_;  // [B]; empty: no sequence has any
};

// Vectors where a token's would be. They are tokens of the stack behind its vocabulary: number `vocabulary`
// is the first of its first prompt, and those of the next prompt follow.
struct TokenPrompt {
  std::int64_t adapter = 0;
  std::int64_t count = 0;  // P
  Tensor numbers;          // [P or more, width], of which the first P are read

  Tensor vectors() const { return numbers.narrow(0, 0, count); }  // [P, width]
};

// The ids of the virtual tokens that a text of this adapter has before it (absent: of all that there are).
std::vector<std::int64_t> prompt_ids(const std::vector<TokenPrompt>& prompts, std::int64_t vocabulary,
                                     std::optional<std::int64_t> adapter);

// A batch with virtual tokens before its texts.
struct PromptedBatch {
  TokenBatch batch;
  std::shared_ptr<const AdapterChoice> adapters;  // as Pass has it
  Tensor rows;                                    // [T] int64: where the rows are that were given
};
// Nothing where no text has any, or has them already.
std::optional<PromptedBatch> prompted(const std::vector<TokenPrompt>& prompts, std::int64_t vocabulary,
                                      const TokenBatch& batch,
                                      const std::shared_ptr<const AdapterChoice>& adapters);

}  // namespace attend
