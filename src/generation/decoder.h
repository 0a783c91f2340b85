// A decoder at work: texts that grow token by token.
#pragma once

#include "nn/transformer.h"

#include <memory>
#include <span>

namespace attend {

// What a text begins with: the prompt of a decoder, or the source that an encoder reads.
struct Prompt {
  std::vector<std::int64_t> ids;
  // Where each id stands in an encoder's source; empty: 0, 1, 2, ...
  std::vector<std::int64_t> positions;
  // A decoder's prompt as it stands in a padded batch, padding included, if it came from one. The model never
  // sees the padding, but the original counts it as part of the length and as tokens that have occurred.
  // Empty: `ids`.
  std::vector<std::int64_t> row;
};

class Decoder {
 public:
  using Sequence = PagedCache::Sequence;
  virtual ~Decoder() = default;

  // Error if the model cannot read it.
  virtual void check(const Prompt& prompt) const = 0;
  // New texts, one for each prompt.
  virtual std::vector<Sequence> add(std::span<const Prompt* const> prompts) = 0;
  virtual Sequence fork(Sequence sequence) = 0;
  virtual void release(Sequence sequence) = 0;

  // One pass over all texts that go on. Each reads its tokens (one or more) behind those it has read already.
  struct Feed {
    Sequence sequence;
    std::span<const std::int64_t> tokens;
    std::size_t scored = 1;  // how many of them, the last ones, get scores of what follows
    // If not null: gets the last hidden states of all of them, [tokens, d], float32 on the CPU.
    Tensor* hidden = nullptr;
  };
  // These scores, feed by feed: [rows, V], float32 on the CPU.
  virtual Tensor step(std::span<const Feed> feeds) = 0;

  // How many tokens the model has places for behind `first` ones; the last of a text is never read.
  virtual std::int64_t room(std::int64_t first) const = 0;
  virtual bool has_encoder() const { return false; }
  virtual std::int64_t start() const { return 0; }
  // May feeds have more than one token scored, or ask for hidden states?
  virtual bool scores_several() const { return true; }
  // Does it read the padding of a prompt's row too, as the original does?
  virtual bool reads_padding() const { return false; }
};

// The one that suits the network (check_generates in generate.h). `start` is what a decoder with an encoder
// begins with; ignored without one.
std::unique_ptr<Decoder> make_decoder(const Transformer& network, std::int64_t start);

}  // namespace attend
