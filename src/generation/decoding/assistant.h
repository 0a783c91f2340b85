// A draft model that proposes tokens for another model: with the same vocabulary, or with its own by way of
// the text.
#pragma once

#include "generation/decoding/foreign_draft.h"
#include "models/checkpoint/pretrained_model.h"

namespace attend {

// The caller owns models and tokenizers.
struct AssistantOptions {
  const PretrainedModel* model = nullptr;  // null: no assistant
  // Both or neither: with them, the draft model may have another vocabulary, and text is converted between
  // the two tokenizers.
  const TokenizerPair *tokenizers = nullptr, *assistant_tokenizers = nullptr;
};

class Assistant {
 public:
  // For texts of `network`. An Error unless both have compatible inputs and outputs.
  Assistant(const Transformer& network, const AssistantOptions& options);
  // An Error for a prompt that it cannot read.
  void check(const Prompt& prompt) const;
  // Proposes at most `max` tokens at a time.
  std::unique_ptr<DraftSource> draft_source(const Prompt& prompt, std::int64_t max);

 private:
  bool is_foreign() const { return options_.assistant_tokenizers != nullptr; }

  AssistantOptions options_;
  GenerationConfig config_;  // of the draft model
  PagedDecoder decoder_;
};

}  // namespace attend
