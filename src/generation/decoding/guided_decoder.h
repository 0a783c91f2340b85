// Classifier-free guidance (Sanchez et al. 2023, arXiv:2306.17806): a second text with another prompt gets
// the same tokens, and tokens that the first makes likelier than the second gain (or lose) weight. As in
// transformers 4.57.6, UnbatchedClassifierFreeGuidanceLogitsProcessor.
#pragma once

#include "generation/decoding/decoder.h"

#include <map>

namespace attend {

// Wraps another decoder; its texts may be guided.
class GuidedDecoder : public Decoder {
 public:
  explicit GuidedDecoder(std::unique_ptr<Decoder> decoder) : decoder_(std::move(decoder)) {}

  // For a text that has read nothing yet: the scores of `sequence` become log-probabilities, negative + scale
  // * (given - negative), where `negative` are those after the negative prompt. The decoder must support
  // several scored tokens and have no encoder.
  void guide(Sequence sequence, double scale, std::vector<std::int64_t> negative_prompt,
             std::optional<std::int64_t> adapter = {});

  void check(const Prompt& prompt) const override { decoder_->check(prompt); }
  std::vector<Sequence> add(std::span<const Prompt* const> prompts) override {
    return decoder_->add(prompts);
  }
  Sequence fork(Sequence sequence) override;
  void release(Sequence sequence) override;
  Tensor step(std::span<const Feed> feeds) override;

  std::int64_t room(std::int64_t first) const override { return decoder_->room(first); }
  bool has_encoder() const override { return decoder_->has_encoder(); }
  bool scores_several() const override { return decoder_->scores_several(); }
  bool reads_in_pieces(const Prompt& prompt) const override { return decoder_->reads_in_pieces(prompt); }
  std::int64_t known_tokens(const Feed& feed) const override { return decoder_->known_tokens(feed); }
  bool reads_padding() const override { return decoder_->reads_padding(); }
  std::int64_t max_pages() const override { return decoder_->max_pages(); }
  std::int64_t pages_in_use() const override { return decoder_->pages_in_use(); }
  std::int64_t max_pages_of(const Prompt& prompt, std::int64_t tokens, std::int64_t texts) const override {
    return decoder_->max_pages_of(prompt, tokens, texts);
  }
  std::int64_t pages_shared(const Prompt& prompt) const override { return decoder_->pages_shared(prompt); }
  std::int64_t tokens_read() const override { return decoder_->tokens_read(); }
  std::int64_t pages_for(const Feed& feed) const override;

 private:
  struct Shadow {
    Sequence sequence;
    double scale;
    std::vector<std::int64_t> unread;  // the negative prompt, until it has been read
  };
  // The shadow's feed for a feed of its text.
  static Feed feed_of(const Shadow& shadow, const Feed& feed);

  std::unique_ptr<Decoder> decoder_;
  std::map<Sequence, Shadow> shadows_;
};

}  // namespace attend
