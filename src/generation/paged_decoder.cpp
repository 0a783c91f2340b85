#include "generation/paged_decoder.h"

#include <numeric>
#include <utility>

namespace attend {
namespace {

Tensor tensor_of(const std::vector<std::int64_t>& numbers) {
  return torch::tensor(numbers, at::kLong);
}

// With an encoder, the keys and values of sources have the same shape.
const AttentionSpec& attention(const Transformer& network) {
  return network->decoder->spec().layers.front().self_attention;
}

std::int64_t layers(const Transformer& network) {
  return static_cast<std::int64_t>(network->decoder->spec().layers.size());
}

std::int64_t width(const Transformer& network) {
  return attention(network).heads * attention(network).head_size;
}

at::TensorOptions options(const Transformer& network) {
  return network->decoder->embeddings->tokens.options();
}

}  // namespace

PagedDecoder::PagedDecoder(Transformer network, std::int64_t max_pages)
    : network_(std::move(network)), cache_(layers(network_), width(network_), options(network_), max_pages) {}

std::int64_t PagedDecoder::page_bytes(const Transformer& network) {
  const auto size = static_cast<std::int64_t>(options(network).dtype().itemsize());
  return layers(network) * 2 * PagedCache::kPageRows * width(network) * size;
}

void PagedDecoder::check(const Prompt& prompt) const {
  const std::int64_t limit =
      (has_encoder() ? network_->encoder : network_->decoder)->embeddings->max_positions();
  const auto length = static_cast<std::int64_t>(prompt.ids.size());
  if (length == 0) fail("it has no tokens");
  if (length > limit) fail("its {} tokens are more than the {} the model can read", length, limit);
}

std::vector<Decoder::Sequence> PagedDecoder::add(std::span<const Prompt* const> prompts) {
  std::vector<Sequence> sequences, sources;
  if (!has_encoder()) {
    for (std::size_t i = 0; i < prompts.size(); ++i) sequences.push_back(cache_.add());
    return sequences;
  }
  std::vector<std::int64_t> lengths, ids, positions;
  for (const Prompt* prompt : prompts) {
    lengths.push_back(static_cast<std::int64_t>(prompt->ids.size()));
    ids.insert(ids.end(), prompt->ids.begin(), prompt->ids.end());
    positions.insert(positions.end(), prompt->positions.begin(), prompt->positions.end());
    if (prompt->positions.empty()) {
      positions.resize(ids.size());
      std::iota(positions.end() - lengths.back(), positions.end(), 0);
    }
  }
  const at::Device device = network_->encoder->embeddings->tokens.device();
  const TokenBatch batch = TokenBatch{tensor_of(ids), tensor_of(positions), {}, Offsets(lengths)}.to(device);
  Pass pass = Pass::inference();
  const Tensor encoded = network_->encode(batch, pass);  // [T, d]
  for (const std::int64_t length : lengths) {
    sources.push_back(cache_.add());
    cache_.extend(sources.back(), length);
    sequences.push_back(cache_.add());
    set_source(sequences.back(), sources.back());
  }
  network_->decoder->remember(encoded, batch.offsets, cache_, sources);
  return sequences;
}

void PagedDecoder::set_source(Sequence sequence, Sequence source) {
  if (sequence >= static_cast<Sequence>(source_of_.size())) source_of_.resize(sequence + 1, -1);
  source_of_[sequence] = source;
}

Decoder::Sequence PagedDecoder::fork(Sequence sequence) {
  const Sequence copy = cache_.fork(sequence);
  if (has_encoder()) set_source(copy, cache_.fork(source_of_[sequence]));
  return copy;
}

void PagedDecoder::release(Sequence sequence) {
  cache_.release(sequence);
  if (has_encoder()) cache_.release(std::exchange(source_of_[sequence], -1));
}

std::int64_t PagedDecoder::pages_at_most(const Prompt& prompt, std::int64_t tokens,
                                         std::int64_t texts) const {
  const auto length = static_cast<std::int64_t>(prompt.ids.size());
  const std::int64_t source = has_encoder() ? PagedCache::pages_of(length) : 0,
                     common = has_encoder() ? 0 : length / PagedCache::kPageRows;
  // One more while a page that texts share is copied for one of them.
  return source + texts * PagedCache::pages_of(tokens) - (texts - 1) * common + (texts > 1 ? 1 : 0);
}

std::int64_t PagedDecoder::pages_shared(const Prompt& prompt) const {
  return has_encoder() ? 0 : cache_.pages_shared(prompt.ids);
}

std::int64_t PagedDecoder::pages_for(const Feed& feed) const {
  const std::int64_t pages =
      cache_.pages_to_extend(feed.sequence, static_cast<std::int64_t>(feed.tokens.size()));
  return begins(feed) ? pages - cache_.pages_shared(feed.tokens) : pages;
}

Tensor PagedDecoder::step(std::span<const Feed> feeds) {
  try {
    return read(feeds);
  } catch (...) {
    cache_.forget_prompts();
    throw;
  }
}

Tensor PagedDecoder::read(std::span<const Feed> feeds) {
  std::vector<std::int64_t> lengths, ids, positions, scored;
  CacheUse use{&cache_, {}};
  for (const Feed& feed : feeds) {
    const bool is_prompt = begins(feed);
    if (is_prompt) cache_.share(feed.sequence, feed.tokens);
    const std::int64_t first = cache_.length(feed.sequence);
    const auto tokens = is_prompt ? feed.tokens.subspan(static_cast<std::size_t>(first)) : feed.tokens;
    lengths.push_back(static_cast<std::int64_t>(tokens.size()));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      ids.push_back(tokens[i]);
      positions.push_back(first_position(feed) + first + static_cast<std::int64_t>(i));
    }
    for (auto i = feed.scored; i > 0; --i) scored.push_back(static_cast<std::int64_t>(ids.size() - i));
    cache_.extend(feed.sequence, lengths.back());
    // A prompt further on in this pass can share it already: each layer writes all keys before it reads any.
    if (is_prompt) cache_.publish(feed.sequence, feed.tokens);
    use.sequences.push_back(feed.sequence);
    if (has_encoder()) use.sources.push_back(source_of_[feed.sequence]);
  }
  const at::Device device = network_->decoder->embeddings->tokens.device();
  TokenBatch batch = TokenBatch{tensor_of(ids), tensor_of(positions), {}, Offsets(lengths)}.to(device);
  // transformers' generate() hands a decoder that stands alone its positions (Feed::counts_positions).
  batch.positions_given = !has_encoder();
  Pass pass = Pass::inference();
  Tensor hidden = network_->decode(batch, pass, nullptr, &use);  // [T, d]
  for (std::int64_t i = 0; i < std::ssize(feeds); ++i)
    if (feeds[i].hidden) *feeds[i].hidden = batch.offsets.part(hidden, i).to(at::kCPU, at::kFloat).clone();
  if (scored.size() < ids.size()) hidden = hidden.index_select(0, tensor_of(scored).to(device));  // [rows, d]
  return network_->language_model_head(hidden).to(at::kCPU, at::kFloat).contiguous();
}

}  // namespace attend
