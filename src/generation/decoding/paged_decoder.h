// A decoder over the paged KV cache, with or without an encoder. Prompts of a decoder without encoder share
// pages of common prefixes (PagedCache::share). The keys and values of a source are in the same cache, as a
// separate sequence that all its texts read.
#pragma once

#include "generation/decoding/decoder.h"
#include "models/checkpoint/pretrained_model.h"

namespace attend {

class PagedDecoder : public Decoder {
 public:
  // For a model that can generate (check_generates). `max_pages`: of the cache; 0: no limit.
  explicit PagedDecoder(const PretrainedModel& model, std::int64_t max_pages = 0);
  static std::int64_t page_bytes(const PretrainedModel& model);

  void check(const Prompt& prompt) const override;
  // Sources are encoded immediately; a decoder's prompt is read in its first step.
  std::vector<Sequence> add(std::span<const Prompt* const> prompts) override;
  Sequence fork(Sequence sequence) override;
  void release(Sequence sequence) override;
  Tensor step(std::span<const Feed> feeds) override;

  std::int64_t room(std::int64_t first) const override {
    return network_->decoder->max_positions() - first + 1;
  }
  // If several tokens are read at once, the first must not see the last.
  bool scores_several() const override {
    return network_->decoder->spec().layers.front().self_attention.causal;
  }
  bool reads_in_pieces(const Prompt& prompt) const override;
  std::int64_t known_tokens(const Feed& feed) const override;
  bool has_encoder() const override { return network_->is_encoder_decoder(); }
  std::int64_t max_pages() const override { return cache_.max_pages(); }
  std::int64_t pages_in_use() const override { return cache_.pages_in_use(); }
  std::int64_t max_pages_of(const Prompt& prompt, std::int64_t tokens, std::int64_t texts) const override;
  std::int64_t pages_shared(const Prompt& prompt) const override;
  std::int64_t pages_for(const Feed& feed) const override;
  std::int64_t tokens_read() const override { return tokens_read_; }
  const PagedCache& cache() const { return cache_; }

 private:
  // Whether a prompt may share pages. Not if all its hidden states are requested, its positions are explicit,
  // keys and values of a prefix come before it, or its beginning depends on its end.
  bool is_shareable(const Feed& feed) const {
    return !has_encoder() && !network_->decoder->spec().prompts_are_whole() && !feed.hidden &&
           first_position(feed) == 0 && positions_of_[static_cast<std::size_t>(feed.sequence)].empty() &&
           (feed.from_start || cache_.length(feed.sequence) == 0);
  }
  std::int64_t first_position(const Feed& feed) const {
    return feed.counts_positions ? network_->decoder->embeddings->first_position() : 0;
  }
  bool reads_images() const { return network_->reads_images(); }
  // The number of rows that the encoder makes from a prompt; without an encoder, its number of tokens,
  // including virtual ones.
  std::int64_t source_length(const Prompt& prompt) const;
  // The network for texts with this adapter.
  Transformer network_of(std::optional<std::int64_t> adapter) const {
    return model_.with_adapter(adapter).network();
  }
  // Calls work(network, indices) for each network that computes some of `count` texts, with the indices of
  // these texts in the order of their adapters.
  void for_each_network(std::size_t count,
                        const std::function<std::optional<std::int64_t>(std::size_t)>& adapter_of,
                        const std::function<void(Transformer&, const std::vector<std::size_t>&)>& work) const;
  HiddenText encode_texts(Transformer& network, std::span<const Prompt* const> prompts, Pass& pass) const;
  HiddenText encode_images(Transformer& network, std::span<const Prompt* const> prompts, Pass& pass) const;
  // The tokens that the decoder reads for a feed: before a text's first tokens come its virtual ones.
  std::vector<std::int64_t> tokens_of(const Feed& feed) const;
  Tensor read(Transformer& network, std::span<const Feed> feeds);
  void add_with_sources(std::span<const Prompt* const> prompts, std::vector<Sequence>& sequences);
  void begin(Sequence& sequence, const Prompt& prompt, std::uint64_t kind,
             std::vector<std::int64_t> positions);
  void set_source(Sequence sequence, Sequence source);
  void set_adapter(Sequence sequence, std::optional<std::int64_t> adapter);
  void set_positions(Sequence sequence, std::vector<std::int64_t> positions);
  // The position of a row of its keys and values, from the prompt's positions and their continuation.
  std::int64_t position(Sequence sequence, std::int64_t row) const;

  PretrainedModel model_;
  Transformer network_;  // all networks of the model agree in what is used of it
  PagedCache cache_;
  std::int64_t tokens_read_ = 0;
  std::vector<Sequence> source_of_;                      // by sequence; -1: it has none
  std::vector<std::optional<std::int64_t>> adapter_of_;  // by sequence
  std::vector<std::vector<std::int64_t>> positions_of_;  // by sequence: Prompt::positions without an encoder
};

}  // namespace attend
