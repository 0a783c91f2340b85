// Proposes cheap draft tokens for a search that verifies several tokens in one step.
#pragma once

#include "generation/decoding/paged_decoder.h"

namespace attend {

class DraftSource {
 public:
  // `max`: the max number of tokens at a time.
  explicit DraftSource(std::int64_t max) : max_(static_cast<std::size_t>(max)) {}
  virtual ~DraftSource() = default;
  DraftSource(const DraftSource&) = delete;
  DraftSource& operator=(const DraftSource&) = delete;

  std::size_t max_tokens() const { return max_; }
  // At most `count` tokens that may follow `text`, perhaps none. From call to call the text only grows.
  virtual std::vector<std::int64_t> propose(std::span<const std::int64_t> text, std::size_t count) = 0;

 private:
  std::size_t max_;
};

// The decoder's likeliest next token after the sequence has also read these tokens.
std::int64_t likeliest(Decoder& decoder, Decoder::Sequence sequence, std::span<const std::int64_t> tokens);

// Proposes what followed the first earlier occurrence of the last `ngram` tokens, or of fewer (Saxena 2023,
// "prompt lookup decoding").
class PromptLookup : public DraftSource {
 public:
  PromptLookup(std::int64_t max, std::int64_t ngram)
      : DraftSource(max), ngram_(static_cast<std::size_t>(ngram)) {}
  std::vector<std::int64_t> propose(std::span<const std::int64_t> text, std::size_t count) override;

 private:
  std::size_t ngram_;
};

// Proposes the likeliest tokens of a smaller model with the same vocabulary.
class DraftModel : public DraftSource {
 public:
  // The caller owns the decoder, which is the draft model's.
  DraftModel(std::int64_t max, PagedDecoder& decoder, const Prompt& prompt);
  ~DraftModel() override;
  std::vector<std::int64_t> propose(std::span<const std::int64_t> text, std::size_t count) override;

 private:
  PagedDecoder* decoder_;
  Decoder::Sequence sequence_;  // has read the beginning of the text, and never draft tokens
};

}  // namespace attend
