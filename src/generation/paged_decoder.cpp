#include "generation/paged_decoder.h"

#include <numeric>

namespace attend {
namespace {

PagedCache make_cache(const Transformer& network) {
  const StackSpec& spec = network->decoder->spec();
  const AttentionSpec& attention = spec.layers.front().self_attention;
  return PagedCache(static_cast<std::int64_t>(spec.layers.size()), attention.heads * attention.head_size,
                    network->decoder->embeddings->tokens.options());
}

Tensor tensor_of(const std::vector<std::int64_t>& numbers) {
  return torch::tensor(numbers, at::kLong);
}

}  // namespace

PagedDecoder::PagedDecoder(Transformer network, std::int64_t start)
    : network_(std::move(network)), start_(start), cache_(make_cache(network_)) {}

void PagedDecoder::check(const Prompt& prompt) const {
  const std::int64_t limit =
      (has_encoder() ? network_->encoder : network_->decoder)->embeddings->max_positions();
  const auto length = static_cast<std::int64_t>(prompt.ids.size());
  if (length == 0) fail("it has no tokens");
  if (length > limit) fail("its {} tokens are more than the {} the model can read", length, limit);
}

std::vector<Decoder::Sequence> PagedDecoder::add(std::span<const Prompt* const> prompts) {
  std::vector<Sequence> sequences;
  for (std::size_t i = 0; i < prompts.size(); ++i) sequences.push_back(cache_.add());
  if (!has_encoder()) return sequences;
  encode(prompts);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (sequences[i] >= static_cast<Sequence>(source_of_.size())) source_of_.resize(sequences[i] + 1, -1);
    source_of_[sequences[i]] = sources() - static_cast<std::int64_t>(prompts.size() - i);
    readers_.push_back(1);
  }
  return sequences;
}

// Appends the prompts' keys and values to those of the sources that are still read; drops the others.
void PagedDecoder::encode(std::span<const Prompt* const> prompts) {
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
  Memory added = network_->remember(network_->encode(batch, pass), batch.offsets);

  std::vector<std::int64_t> place(readers_.size(), -1), kept_lengths, kept_readers;
  std::vector<std::vector<Tensor>> parts(added.key_values.size());
  for (std::size_t s = 0; s < readers_.size(); ++s) {
    if (readers_[s] == 0) continue;
    place[s] = static_cast<std::int64_t>(kept_lengths.size());
    kept_lengths.push_back(memory_.offsets.length(static_cast<std::int64_t>(s)));
    kept_readers.push_back(readers_[s]);
    for (std::size_t layer = 0; layer < parts.size(); ++layer)
      parts[layer].push_back(memory_.offsets.part(memory_.key_values[layer], static_cast<std::int64_t>(s)));
  }
  for (std::int64_t& source : source_of_)
    if (source >= 0) source = place[source];
  readers_ = std::move(kept_readers);
  if (!kept_lengths.empty()) {
    for (std::size_t layer = 0; layer < parts.size(); ++layer) {
      parts[layer].push_back(added.key_values[layer]);
      added.key_values[layer] = at::cat(parts[layer]);
    }
    kept_lengths.insert(kept_lengths.end(), lengths.begin(), lengths.end());
    added.offsets = Offsets(kept_lengths);
  }
  memory_ = std::move(added);
}

Decoder::Sequence PagedDecoder::fork(Sequence sequence) {
  const Sequence copy = cache_.fork(sequence);
  if (!has_encoder()) return copy;
  if (copy >= static_cast<Sequence>(source_of_.size())) source_of_.resize(copy + 1, -1);
  source_of_[copy] = source_of_[sequence];
  ++readers_[source_of_[copy]];
  return copy;
}

void PagedDecoder::release(Sequence sequence) {
  cache_.release(sequence);
  if (!has_encoder()) return;
  --readers_[source_of_[sequence]];
  source_of_[sequence] = -1;
}

Tensor PagedDecoder::step(std::span<const Feed> feeds) {
  std::vector<std::int64_t> lengths, ids, positions, scored;
  CacheUse use{&cache_, {}};
  memory_.source.clear();
  for (const Feed& feed : feeds) {
    const std::int64_t first = cache_.length(feed.sequence),
                       count = static_cast<std::int64_t>(feed.tokens.size());
    lengths.push_back(count);
    for (std::int64_t i = 0; i < count; ++i) {
      ids.push_back(feed.tokens[i]);
      positions.push_back(first + i);
    }
    for (auto i = feed.scored; i > 0; --i) scored.push_back(static_cast<std::int64_t>(ids.size() - i));
    cache_.extend(feed.sequence, count);
    use.sequences.push_back(feed.sequence);
    if (has_encoder()) memory_.source.push_back(source_of_[feed.sequence]);
  }
  const at::Device device = network_->decoder->embeddings->tokens.device();
  TokenBatch batch = TokenBatch{tensor_of(ids), tensor_of(positions), {}, Offsets(lengths)}.to(device);
  // transformers hands a decoder that stands alone its positions, counted from 0 for RoBERTa too.
  batch.positions_given = !has_encoder();
  Pass pass = Pass::inference();
  Tensor hidden = network_->decode(batch, pass, has_encoder() ? &memory_ : nullptr, &use);  // [T, d]
  for (std::int64_t i = 0; i < std::ssize(feeds); ++i)
    if (feeds[i].hidden) *feeds[i].hidden = batch.offsets.part(hidden, i).to(at::kCPU, at::kFloat).clone();
  if (scored.size() < ids.size()) hidden = hidden.index_select(0, tensor_of(scored).to(device));  // [rows, d]
  return network_->language_model_head(hidden).to(at::kCPU, at::kFloat).contiguous();
}

}  // namespace attend
