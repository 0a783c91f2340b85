// A decoder at work: texts that grow token by token over the paged cache, with or without an encoder behind
// them.
#pragma once

#include "nn/transformer.h"

#include <span>

namespace attend {

// What a text begins with: the prompt of a decoder, or the source that an encoder reads.
struct Prompt {
  std::vector<std::int64_t> ids;
  // Where each id stands in an encoder's source; empty: 0, 1, 2, ...
  std::vector<std::int64_t> positions;
  // The same as it stands in a padded batch, padding included, if it came from one. The model never sees the
  // padding, but the original counts a decoder's as part of the length and as tokens that have occurred, and
  // a source's as part of the source. Empty: `ids`.
  std::vector<std::int64_t> row;
};

class Decoder {
 public:
  using Sequence = PagedCache::Sequence;

  // For a network that can generate (check_generates in generate.h). `start` is what a decoder with an
  // encoder begins with; ignored without one.
  Decoder(Transformer network, std::int64_t start);

  // Error if the model cannot read it.
  void check(const Prompt& prompt) const;
  // New texts, one for each prompt; sources are encoded at once, a decoder's prompt is the first step's
  // tokens.
  std::vector<Sequence> add(std::span<const Prompt* const> prompts);
  Sequence fork(Sequence sequence);
  void release(Sequence sequence);

  // One pass over all texts that go on. Each reads its tokens (one or more) behind those it has read already.
  struct Feed {
    Sequence sequence;
    std::span<const std::int64_t> tokens;
    std::size_t scored = 1;  // how many of them, the last ones, get scores of what follows
  };
  // These scores, feed by feed: [rows, V], float32 on the CPU.
  Tensor step(std::span<const Feed> feeds);

  bool has_encoder() const { return network_->is_encoder_decoder(); }
  std::int64_t start() const { return start_; }
  // Of a text with its prompt or start token.
  std::int64_t max_positions() const { return network_->decoder->embeddings->max_positions(); }
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
