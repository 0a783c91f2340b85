// The decoder interface: texts that grow token by token.
#pragma once

#include "nn/transformer/transformer.h"

#include <memory>
#include <span>

namespace attend {

class PretrainedModel;

// The start of a text: the prompt of a decoder, or the source that an encoder reads.
struct Prompt {
  std::vector<std::int64_t> ids;  // empty for an image
  // The position of each id in the source or prompt; empty: 0, 1, 2, ...
  std::vector<std::int64_t> positions;
  // A decoder's prompt with the padding of its padded batch, if it came from one. The model never sees the
  // padding, but the original counts it as part of the length and as tokens that have occurred. Empty: `ids`.
  std::vector<std::int64_t> row;
  // For a decoder with an encoder: the tokens written already, including its start token; empty: only the
  // start token.
  std::vector<std::int64_t> written = {};
  // For GenerationConfig::guidance_scale: the negative prompt; empty: the prompt's last token.
  std::vector<std::int64_t> negative = {};
  // The model's adapter for this text; -1: none; absent: all of them.
  std::optional<std::int64_t> adapter = {};
  // [channels, height, width] float32: input of an image encoder.
  Tensor image = {};
};

class Decoder {
 public:
  using Sequence = PagedCache::Sequence;
  virtual ~Decoder() = default;

  // An Error if the model cannot read it.
  virtual void check(const Prompt& prompt) const = 0;
  // New texts, one for each prompt.
  virtual std::vector<Sequence> add(std::span<const Prompt* const> prompts) = 0;
  virtual Sequence fork(Sequence sequence) = 0;
  virtual void release(Sequence sequence) = 0;

  // One pass over all running texts. Each reads its tokens (one or more) after those that it has read
  // already.
  struct Feed {
    Sequence sequence;
    std::span<const std::int64_t> tokens;
    std::size_t scored = 1;  // the number of its last tokens after which scores are returned
    // If not null: receives the last hidden states of all its tokens, [tokens, d], float32 on the CPU.
    Tensor* hidden = nullptr;
    // Positions as the model counts them. The original's generate() instead counts from 0, for RoBERTa too.
    bool counts_positions = false;
    // The tokens begin with the prompt's first one. Those that the text has read already are not read again.
    bool from_start = false;
  };
  // Returns the requested scores, feed by feed: [rows, V], float32 on the CPU. If no feed requests any: [0].
  virtual Tensor step(std::span<const Feed> feeds) = 0;

  // How many tokens can follow the first `first` ones, by the model's positions; the last token of a text is
  // never read.
  virtual std::int64_t room(std::int64_t first) const = 0;
  virtual bool has_encoder() const { return false; }
  // Whether feeds may have more than one scored token, or ask for hidden states.
  virtual bool scores_several() const { return true; }
  // Whether it also reads the padding of a prompt's row, as the original does.
  virtual bool reads_padding() const { return false; }

  // The memory for keys and values, in pages of PagedCache::kPageRows tokens. A decoder without a KV cache
  // has no limit and uses none.
  virtual std::int64_t max_pages() const { return 0; }  // 0: no limit
  virtual std::int64_t pages_in_use() const { return 0; }
  // The most pages that `texts` texts after a prompt can use, with `tokens` decoder tokens each, including
  // the prompt. Does not depend on other texts; callable from any thread.
  virtual std::int64_t max_pages_of(const Prompt& /*prompt*/, std::int64_t /*tokens*/,
                                    std::int64_t /*texts*/) const {
    return 0;
  }
  // How many of them other texts already use, because they have the same prefix.
  virtual std::int64_t pages_shared(const Prompt& /*prompt*/) const { return 0; }
  // How many tokens have been read so far, except those of shared pages; 0: not counted.
  virtual std::int64_t tokens_read() const { return 0; }
  // The max number of pages that a step takes for this feed.
  virtual std::int64_t pages_for(const Feed& /*feed*/) const { return 0; }

  // Whether this prompt may be read in pieces, one in each step (Feed::from_start). All pieces but the last
  // end with a whole page, and none has a single token: attention rounds one query differently from several.
  virtual bool reads_in_pieces(const Prompt& /*prompt*/) const { return false; }
  // How many tokens of such a prompt need not be read, because this text or others have read them.
  virtual std::int64_t known_tokens(const Feed& /*feed*/) const { return 0; }
};

// The memory limit of keys and values; 0: not set. If both are set, the smaller counts; if none, half of the
// machine's memory.
struct CacheLimit {
  std::int64_t bytes = 0, tokens = 0;
};

bool generates(const PretrainedModel& model);  // generates text, token by token
// An Error, with the model's config.json and architecture, unless it can generate text, with its cache in the
// requested format.
void check_generates(const PretrainedModel& model);

// The decoder for a model that generates. An Error for a limit below one page.
std::unique_ptr<Decoder> make_decoder(const PretrainedModel& model, const CacheLimit& limit);

}  // namespace attend
