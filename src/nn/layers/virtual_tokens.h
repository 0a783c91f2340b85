// Virtual tokens: learned vectors that an adapter puts before every text and that belong to no token. Prefix
// tuning (Li and Liang 2021, arXiv:2101.00190): keys and values of every layer. Prompt tuning (Lester et al.
// 2021, arXiv:2104.08691): token vectors.
#pragma once

#include "nn/pass/pass.h"
#include "nn/pass/ragged.h"

namespace attend {

// Keys and values that come before those of a stack's self-attentions.
struct KeyPrefix {
  std::int64_t adapter = 0;
  Tensor numbers;           // [P, places * w]: for all layers
  std::int64_t places = 2;  // number of keys or values
  std::int64_t stride = 2;  // from a layer's keys to the next layer's keys; its values come after its keys

  std::int64_t length() const { return numbers.size(0); }
  Tensor of_layer(std::int64_t layer) const;  // [P, 2 w]
};

// The prefixes of a pass: which of a stack's prefixes each sequence has, one after another.
class PassPrefixes {
 public:
  PassPrefixes() = default;
  // `choice` as in Pass.
  PassPrefixes(const std::vector<KeyPrefix>& prefixes, const Offsets& offsets, const AdapterChoice* choice);

  bool empty() const { return of_.empty(); }
  std::vector<std::int64_t> lengths() const;               // [B]
  std::vector<Tensor> of_layer(std::int64_t layer) const;  // [B] of [P, 2 w]

 private:
  std::vector<KeyPrefix> prefixes_;
  std::vector<std::vector<std::size_t>> of_;  // [B]; empty: no sequence has any
};

// Vectors that take the place of token vectors. They have ids after the vocabulary: id `vocabulary` is the
// first vector of the first prompt, and those of the next prompt follow.
struct TokenPrompt {
  std::int64_t adapter = 0;
  std::int64_t count = 0;  // P
  Tensor numbers;          // [P or more, width]; only the first P are used

  Tensor vectors() const { return numbers.narrow(0, 0, count); }  // [P, width]
};

// The ids of the virtual tokens before a text with this adapter (absent: of all adapters).
std::vector<std::int64_t> prompt_ids(const std::vector<TokenPrompt>& prompts, std::int64_t vocabulary,
                                     std::optional<std::int64_t> adapter);

// A batch with virtual tokens before its texts.
struct PromptedBatch {
  TokenBatch batch;
  std::shared_ptr<const AdapterChoice> adapters;  // as in Pass
  Tensor rows;                                    // [T] int64: the rows of the given tokens
};
// None if no text has virtual tokens, or if they are in the batch already.
std::optional<PromptedBatch> prompted(const std::vector<TokenPrompt>& prompts, std::int64_t vocabulary,
                                      const TokenBatch& batch,
                                      const std::shared_ptr<const AdapterChoice>& adapters);

}  // namespace attend
