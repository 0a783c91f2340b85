// Proposes cheap draft tokens for a search that verifies several tokens in one step.
#pragma once

#include "generation/decoding/paged_decoder.h"

namespace attend {

class Guesser {
 public:
  // `most`: so many tokens at a time.
  explicit Guesser(std::int64_t most) : most_(static_cast<std::size_t>(most)) {}
  virtual ~Guesser() = default;
  Guesser(const Guesser&) = delete;
  Guesser& operator=(const Guesser&) = delete;

  std::size_t most() const { return most_; }
  // At most `count` tokens that may follow `text`, perhaps none. From one call to the next the text only
  // grows.
  virtual std::vector<std::int64_t> guess(std::span<const std::int64_t> text, std::size_t count) = 0;

 private:
  std::size_t most_;
};

// What the decoder finds likeliest when the sequence has read these tokens as well.
std::int64_t likeliest(Decoder& decoder, Decoder::Sequence sequence, std::span<const std::int64_t> tokens);

// What followed the last tokens where they first came: of the last `ngram` tokens, or as many as have come
// before (Saxena 2023, "prompt lookup decoding").
class PromptLookup : public Guesser {
 public:
  PromptLookup(std::int64_t most, std::int64_t ngram)
      : Guesser(most), ngram_(static_cast<std::size_t>(ngram)) {}
  std::vector<std::int64_t> guess(std::span<const std::int64_t> text, std::size_t count) override;

 private:
  std::size_t ngram_;
};

// What a smaller model with the same tokens finds likeliest.
class DraftModel : public Guesser {
 public:
  // The decoder, the small model's, stays the caller's.
  DraftModel(std::int64_t most, PagedDecoder& decoder, const Prompt& prompt);
  ~DraftModel() override;
  std::vector<std::int64_t> guess(std::span<const std::int64_t> text, std::size_t count) override;

 private:
  PagedDecoder* decoder_;
  Decoder::Sequence sequence_;  // has read the beginning of the text, and never a guess
};

}  // namespace attend
