// A decoder over the paged cache, with or without an encoder behind it.
#pragma once

#include "generation/decoder.h"

namespace attend {

class PagedDecoder : public Decoder {
 public:
  // For a network that can generate (check_generates in generate.h). `start` is what a decoder with an
  // encoder begins with; ignored without one.
  PagedDecoder(Transformer network, std::int64_t start);

  void check(const Prompt& prompt) const override;
  // Sources are encoded at once, a decoder's prompt is the first step's tokens.
  std::vector<Sequence> add(std::span<const Prompt* const> prompts) override;
  Sequence fork(Sequence sequence) override;
  void release(Sequence sequence) override;
  Tensor step(std::span<const Feed> feeds) override;

  std::int64_t room(std::int64_t first) const override {
    return network_->decoder->embeddings->max_positions() - first + 1;
  }
  bool has_encoder() const override { return network_->is_encoder_decoder(); }
  std::int64_t start() const override { return start_; }
  const PagedCache& cache() const { return cache_; }
  // Sources whose keys and values are held, because a text still reads them or because nothing was added
  // since.
  std::int64_t sources() const { return memory_.offsets.count(); }

 private:
  void encode(std::span<const Prompt* const> prompts);

  Transformer network_;
  std::int64_t start_;
  PagedCache cache_;
  Memory memory_;
  std::vector<std::int64_t> source_of_;  // by sequence: its source in memory_
  std::vector<std::int64_t> readers_;    // by source: how many sequences read it
};

}  // namespace attend
