// The decoder interface: texts that grow token by token.
#pragma once

#include "nn/transformer.h"

#include <memory>
#include <span>

namespace attend {

class PretrainedModel;

// What a text begins with: the prompt of a decoder, or the source that an encoder reads.
struct Prompt {
  std::vector<std::int64_t> ids;  // none of an image
  // Where each id stands in the source or prompt; empty: 0, 1, 2, ...
  std::vector<std::int64_t> positions;
  // A decoder's prompt as it stands in a padded batch, padding included, if it came from one. The model never
  // sees the padding, but the original counts it as part of the length and as tokens that have occurred.
  // Empty: `ids`.
  std::vector<std::int64_t> row;
  // What a decoder with an encoder has written already, from its start token on; empty: only that.
  std::vector<std::int64_t> written = {};
  // With GenerationConfig::guidance_scale: what the text is led away from; empty: the prompt's last token.
  std::vector<std::int64_t> negative = {};
  // The one of the model's adapters with which the text is read and goes on; -1: none; absent: all of them.
  std::optional<std::int64_t> adapter = {};
  // [channels, height, width] float32: what an encoder of images reads.
  Tensor image = {};
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
    // Positions as the model counts them, instead of as the original's generate() does, which counts from 0
    // for RoBERTa too.
    bool counts_positions = false;
    // The tokens begin with the prompt's first one. Those that the text has read already are not read again.
    bool from_start = false;
  };
  // These scores, feed by feed: [rows, V], float32 on the CPU. If no feed has any: [0].
  virtual Tensor step(std::span<const Feed> feeds) = 0;

  // How many tokens the model has places for behind `first` ones; the last of a text is never read.
  virtual std::int64_t room(std::int64_t first) const = 0;
  virtual bool has_encoder() const { return false; }
  // May feeds have more than one token scored, or ask for hidden states?
  virtual bool scores_several() const { return true; }
  // Does it read the padding of a prompt's row too, as the original does?
  virtual bool reads_padding() const { return false; }

  // The memory for keys and values, in pages of PagedCache::kPageRows tokens. A decoder that keeps none has
  // no limit and takes nothing.
  virtual std::int64_t max_pages() const { return 0; }  // 0: no limit
  virtual std::int64_t pages_in_use() const { return 0; }
  // The most that so many texts behind a prompt take, each with so many tokens of the decoder, the prompt's
  // included. The same whatever else is going on, and from any thread.
  virtual std::int64_t pages_at_most(const Prompt& /*prompt*/, std::int64_t /*tokens*/,
                                     std::int64_t /*texts*/) const {
    return 0;
  }
  // How many of them would be others' now, because they hold the same beginning.
  virtual std::int64_t pages_shared(const Prompt& /*prompt*/) const { return 0; }
  // How many tokens have been read so far, without those of shared pages; 0: not counted.
  virtual std::int64_t tokens_read() const { return 0; }
  // The most that a step takes for this.
  virtual std::int64_t pages_for(const Feed& /*feed*/) const { return 0; }

  // May this prompt be read in pieces, one in each step (Feed::from_start)? All pieces but the last end with
  // a whole page, and none has a single token: attention rounds a single query otherwise than several.
  virtual bool reads_in_pieces(const Prompt& /*prompt*/) const { return false; }
  // How many tokens of such a prompt need not be read, because the text has read them or others have.
  virtual std::int64_t known_tokens(const Feed& /*feed*/) const { return 0; }
};

// How much memory keys and values may take; 0: not said. Both said: the smaller counts. Nothing said: half of
// the machine's memory.
struct CacheLimit {
  std::int64_t bytes = 0, tokens = 0;
};

bool generates(const PretrainedModel& model);  // text, token by token
// Error, with the model's config.json and architecture, unless it can generate text, with its cache as it is
// to be.
void check_generates(const PretrainedModel& model);

// The one that suits a model that generates. Error for a limit that not one page fits in.
std::unique_ptr<Decoder> make_decoder(const PretrainedModel& model, const CacheLimit& limit);

}  // namespace attend
