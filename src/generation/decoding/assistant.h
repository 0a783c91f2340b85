// A draft model that proposes tokens for another model: with the same vocabulary, or with its own by way of
// the text.
#pragma once

#include "generation/decoding/foreign_draft.h"
#include "models/pretrained_model.h"

namespace attend {

// Models and tokenizers stay the caller's.
struct AssistantOptions {
  const PretrainedModel* model = nullptr;  // null: no assistant
  // Both or neither: with them its tokens may be others than those of the model that it guesses for, and text
  // goes back and forth between the tokenizers of both.
  const TokenizerPair *tokenizers = nullptr, *assistant_tokenizers = nullptr;
};

class Assistant {
 public:
  // For the texts of `network`. Error unless it reads and writes what that does.
  Assistant(const Transformer& network, const AssistantOptions& options);
  // Error for a prompt that it cannot read.
  void check(const Prompt& prompt) const;
  // Guesses at most `most` tokens at a time.
  std::unique_ptr<Guesser> guesser(const Prompt& prompt, std::int64_t most);

 private:
  bool is_foreign() const { return options_.assistant_tokenizers != nullptr; }

  AssistantOptions options_;
  GenerationConfig config_;  // of the small model
  PagedDecoder decoder_;
};

}  // namespace attend
