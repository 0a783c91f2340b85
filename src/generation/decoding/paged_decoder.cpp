#include "generation/decoding/paged_decoder.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace attend {
namespace {

// With an encoder, the keys and values of sources have the same shape.
CacheShape shape_of(const PretrainedModel& model) {
  Stack decoder = model.network()->decoder;
  const AttentionSpec& attention = decoder->spec().layers.front().self_attention;
  return {.layers = static_cast<std::int64_t>(decoder->spec().layers.size()),
          .heads = attention.heads_of_keys(),
          .head_size = attention.head_size,
          .type = decoder->embeddings->tokens.type(),
          .format = model.cache_format(),
          .device = decoder->embeddings->tokens.device()};
}

// The largest number of keys that a query sees, if every layer has a window; else 0.
std::int64_t window_of(const StackSpec& decoder) {
  std::int64_t largest = 0;
  for (const LayerSpec& layer : decoder.layers) {
    const AttentionSpec& attention = layer.self_attention;
    if (!attention.causal || attention.window == 0) return 0;
    largest = std::max(largest, attention.window);
  }
  return largest;
}

// Joins prompts that are images of one size: [B, channels, height, width].
Tensor stack_images(std::span<const Prompt* const> prompts) {
  std::vector<Tensor> images;
  for (const Prompt* prompt : prompts) images.push_back(prompt->image);
  return ops::stack(images);
}

// Keys and values also depend on the adapter (PagedCache::add).
std::uint64_t kind_of(std::optional<std::int64_t> adapter) {
  return adapter ? static_cast<std::uint64_t>(*adapter + 2) : 0;
}

}  // namespace

PagedDecoder::PagedDecoder(const PretrainedModel& model, std::int64_t max_pages)
    : model_(model),
      network_(model.network()),
      cache_(shape_of(model), max_pages, window_of(model.network()->decoder->spec())) {}

std::int64_t PagedDecoder::page_bytes(const PretrainedModel& model) {
  return shape_of(model).page_bytes();
}

std::int64_t PagedDecoder::source_length(const Prompt& prompt) const {
  if (reads_images()) {
    const auto [rows, columns] = network_->encoder->patches->grid(prompt.image.unsqueeze(0));
    return 1 + rows * columns;
  }
  Transformer network = network_of(prompt.adapter);
  const Embeddings& reader = (has_encoder() ? network->encoder : network->decoder)->embeddings;
  return static_cast<std::int64_t>(prompt.ids.size()) + std::ssize(reader->prompt(prompt.adapter));
}

void PagedDecoder::check(const Prompt& prompt) const {
  if (prompt.image.defined() && !reads_images()) fail("the model reads texts, and this is an image");
  if (reads_images() && !prompt.image.defined())
    fail("the model reads images (the input pixel_values), and this is a text");
  if (reads_images()) return;
  Transformer network = network_of(prompt.adapter);
  const std::int64_t limit =
      (has_encoder() ? network->encoder : network->decoder)->max_positions(prompt.adapter);
  const auto length = static_cast<std::int64_t>(prompt.ids.size());
  const char* const what = has_encoder() ? "the text" : "the prompt";
  if (length == 0) fail("{} has no tokens", what);
  if (length > limit) fail("{} has {} tokens, but the model reads {}: shorten it", what, length, limit);
}

std::vector<Decoder::Sequence> PagedDecoder::add(std::span<const Prompt* const> prompts) {
  std::vector<Sequence> sequences(prompts.size(), -1);
  try {
    if (has_encoder())
      add_with_sources(prompts, sequences);
    else
      for (std::size_t i = 0; i < prompts.size(); ++i)
        begin(sequences[i], *prompts[i], kind_of(prompts[i]->adapter), prompts[i]->positions);
  } catch (...) {  // all of them or none
    for (const Sequence sequence : sequences)
      if (sequence >= 0) release(sequence);
    throw;
  }
  return sequences;
}

void PagedDecoder::add_with_sources(std::span<const Prompt* const> prompts,
                                    std::vector<Sequence>& sequences) {
  for_each_network(
      prompts.size(), [&](std::size_t i) { return prompts[i]->adapter; },
      [&](Transformer& network, const std::vector<std::size_t>& numbers) {
        std::vector<const Prompt*> theirs;
        for (const std::size_t i : numbers) theirs.push_back(prompts[i]);
        Pass pass = Pass::inference();
        const HiddenText read =
            reads_images() ? encode_images(network, theirs, pass) : encode_texts(network, theirs, pass);
        const AdapterScope scope(pass, read.adapters);
        std::vector<Sequence> sources;
        for (const std::size_t i : numbers) {
          begin(sequences[i], *prompts[i], 0, {});
          sources.push_back(cache_.add());
          set_source(sequences[i], sources.back());
          cache_.extend(sources.back(), read.batch.offsets.length(std::ssize(sources) - 1));
        }
        network->decoder->project_kv(network->bridged(read.hidden, pass), read.batch.offsets, cache_, sources,
                                     pass);
      });
}

// Creates the sequence: it has read nothing yet and has no source.
void PagedDecoder::begin(Sequence& sequence, const Prompt& prompt, std::uint64_t kind,
                         std::vector<std::int64_t> positions) {
  sequence = cache_.add(kind);
  set_source(sequence, -1);
  set_adapter(sequence, prompt.adapter);
  set_positions(sequence, std::move(positions));
  network_of(prompt.adapter)->decoder->begin(cache_, sequence, prompt.adapter);
}

void PagedDecoder::for_each_network(
    std::size_t count, const std::function<std::optional<std::int64_t>(std::size_t)>& adapter_of,
    const std::function<void(Transformer&, const std::vector<std::size_t>&)>& work) const {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // Texts with the same adapter are next to each other, so that their rows are one product.
  std::ranges::stable_sort(order, {}, adapter_of);
  std::vector<std::pair<Transformer, std::vector<std::size_t>>> groups;
  for (const std::size_t i : order) {
    Transformer network = network_of(adapter_of(i));
    auto group = std::ranges::find_if(groups, [&](const auto& g) { return g.first.get() == network.get(); });
    if (group == groups.end()) group = groups.insert(group, {network, {}});
    group->second.push_back(i);
  }
  for (auto& [network, numbers] : groups) work(network, numbers);
}

HiddenText PagedDecoder::encode_texts(Transformer& network, std::span<const Prompt* const> prompts,
                                      Pass& pass) const {
  std::vector<std::int64_t> lengths, ids, positions;
  std::vector<std::optional<std::int64_t>> adapters;  // of each row
  for (const Prompt* prompt : prompts) {
    lengths.push_back(static_cast<std::int64_t>(prompt->ids.size()));
    ids.insert(ids.end(), prompt->ids.begin(), prompt->ids.end());
    adapters.resize(ids.size(), prompt->adapter);
    positions.insert(positions.end(), prompt->positions.begin(), prompt->positions.end());
    if (prompt->positions.empty()) {
      positions.resize(ids.size());
      std::iota(positions.end() - lengths.back(), positions.end(), 0);
    }
  }
  const TokenBatch batch =
      TokenBatch{ops::tensor(ids, kLong), ops::tensor(positions, kLong), {}, Offsets(lengths)};
  pass.adapters = choose_adapters(adapters);
  return network->read(batch, pass);
}

HiddenText PagedDecoder::encode_images(Transformer& network, std::span<const Prompt* const> prompts,
                                       Pass& pass) const {
  std::vector<std::int64_t> lengths;
  std::vector<std::optional<std::int64_t>> all, adapters;  // of each row
  std::vector<Tensor> encoded;
  for (const Prompt* prompt : prompts) {
    lengths.push_back(source_length(*prompt));
    all.resize(all.size() + static_cast<std::size_t>(lengths.back()), prompt->adapter);
  }
  for (std::size_t begin = 0, end = 0; begin < prompts.size(); begin = end) {  // images of one size together
    adapters.clear();
    for (; end < prompts.size() && prompts[end]->image.sizes() == prompts[begin]->image.sizes(); ++end)
      adapters.resize(adapters.size() + static_cast<std::size_t>(lengths[end]), prompts[end]->adapter);
    pass.adapters = choose_adapters(adapters);
    encoded.push_back(
        network->encode(ImageBatch{stack_images(prompts.subspan(begin, end - begin)), {}}, pass));
  }
  TokenBatch rows;
  rows.offsets = Offsets(lengths);
  return {ops::cat(encoded), rows, choose_adapters(all)};
}

void PagedDecoder::set_adapter(Sequence sequence, std::optional<std::int64_t> adapter) {
  if (sequence >= std::ssize(adapter_of_)) adapter_of_.resize(static_cast<std::size_t>(sequence) + 1);
  adapter_of_[static_cast<std::size_t>(sequence)] = adapter;
}

void PagedDecoder::set_source(Sequence sequence, Sequence source) {
  if (sequence >= static_cast<Sequence>(source_of_.size())) source_of_.resize(sequence + 1, -1);
  source_of_[sequence] = source;
}

void PagedDecoder::set_positions(Sequence sequence, std::vector<std::int64_t> positions) {
  if (sequence >= std::ssize(positions_of_)) positions_of_.resize(static_cast<std::size_t>(sequence) + 1);
  positions_of_[static_cast<std::size_t>(sequence)] = std::move(positions);
}

std::int64_t PagedDecoder::position(Sequence sequence, std::int64_t row) const {
  const std::vector<std::int64_t>& known = positions_of_[static_cast<std::size_t>(sequence)];
  const auto adapter = adapter_of_[static_cast<std::size_t>(sequence)];
  const std::int64_t place = row - network_of(adapter)->decoder->virtual_rows(adapter);
  if (known.empty() || place < 0) return row;
  const std::int64_t after = place - std::ssize(known);
  return row - place + (after < 0 ? known[static_cast<std::size_t>(place)] : known.back() + 1 + after);
}

Decoder::Sequence PagedDecoder::fork(Sequence sequence) {
  const Sequence copy = cache_.fork(sequence);
  set_source(copy, -1);
  set_adapter(copy, adapter_of_.at(static_cast<std::size_t>(sequence)));
  set_positions(copy, positions_of_.at(static_cast<std::size_t>(sequence)));
  if (has_encoder()) set_source(copy, cache_.fork(source_of_[sequence]));
  return copy;
}

void PagedDecoder::release(Sequence sequence) {
  cache_.release(sequence);
  const Sequence source = std::exchange(source_of_[sequence], -1);
  if (source >= 0) cache_.release(source);
}

std::int64_t PagedDecoder::max_pages_of(const Prompt& prompt, std::int64_t tokens, std::int64_t texts) const {
  const std::int64_t length = source_length(prompt);
  const std::int64_t source = has_encoder() ? PagedCache::pages_of(length) : 0,
                     common = has_encoder() ? 0 : length / PagedCache::kPageRows;
  // One more page, while a shared page is copied for one text.
  const std::int64_t before = network_of(prompt.adapter)->decoder->virtual_rows(prompt.adapter);
  // With windows, each text ends up with pages of its own.
  const std::int64_t all = texts * PagedCache::pages_of(before + tokens) - (texts - 1) * common,
                     in_windows =
                         texts * cache_.pages_of(before + (has_encoder() ? 1 : length), before + tokens);
  return source + std::min(all, in_windows) + (texts > 1 ? 1 : 0);
}

std::int64_t PagedDecoder::pages_shared(const Prompt& prompt) const {
  Stack decoder = network_of(prompt.adapter)->decoder;
  if (has_encoder() || decoder->prefix_length(prompt.adapter) > 0 || decoder->spec().prompts_are_whole())
    return 0;
  std::vector<std::int64_t> tokens = decoder->embeddings->prompt(prompt.adapter);
  tokens.insert(tokens.end(), prompt.ids.begin(), prompt.ids.end());
  return cache_.pages_shared(tokens, kind_of(prompt.adapter));
}

std::vector<std::int64_t> PagedDecoder::tokens_of(const Feed& feed) const {
  std::vector<std::int64_t> tokens;
  const auto adapter = adapter_of_.at(static_cast<std::size_t>(feed.sequence));
  Stack decoder = network_of(adapter)->decoder;
  if (cache_.length(feed.sequence) == decoder->prefix_length(adapter))
    tokens = decoder->embeddings->prompt(adapter);
  tokens.insert(tokens.end(), feed.tokens.begin(), feed.tokens.end());
  return tokens;
}

std::int64_t PagedDecoder::pages_for(const Feed& feed) const {
  const std::vector<std::int64_t> tokens = tokens_of(feed);
  return is_shareable(feed) ? cache_.pages_to_read(feed.sequence, tokens)
                            : cache_.pages_to_extend(feed.sequence, std::ssize(tokens));
}

// Virtual tokens and prefixes come only before the first piece, and explicit positions count from the start
// of the whole prompt.
bool PagedDecoder::reads_in_pieces(const Prompt& prompt) const {
  Stack decoder = network_of(prompt.adapter)->decoder;
  return !has_encoder() && !decoder->spec().prompts_are_whole() && prompt.positions.empty() &&
         decoder->virtual_rows(prompt.adapter) == 0;
}

std::int64_t PagedDecoder::known_tokens(const Feed& feed) const {
  return is_shareable(feed) ? cache_.known_tokens(feed.sequence, feed.tokens) : 0;
}

Tensor PagedDecoder::step(std::span<const Feed> feeds) {
  std::vector<Tensor> parts;                       // the scores of each network's feeds
  std::vector<std::int64_t> places(feeds.size());  // where each feed's scores begin
  std::int64_t all = 0;
  try {
    for_each_network(
        feeds.size(), [&](std::size_t i) { return adapter_of_[static_cast<std::size_t>(feeds[i].sequence)]; },
        [&](Transformer& network, const std::vector<std::size_t>& numbers) {
          std::vector<Feed> theirs;
          for (const std::size_t i : numbers) {
            places[i] = all;
            all += static_cast<std::int64_t>(feeds[i].scored);
            theirs.push_back(feeds[i]);
          }
          parts.push_back(read(network, theirs));
        });
  } catch (...) {
    cache_.forget_prompts();
    throw;
  }
  const Tensor scores = parts.size() == 1 ? parts.front() : ops::cat(parts);
  if (std::ranges::is_sorted(places)) return scores;
  std::vector<std::int64_t> rows;  // feed by feed
  for (std::size_t i = 0; i < feeds.size(); ++i)
    for (std::size_t row = 0; row < feeds[i].scored; ++row)
      rows.push_back(places[i] + static_cast<std::int64_t>(row));
  return scores.index_select(0, ops::tensor(rows, kLong));
}

Tensor PagedDecoder::read(Transformer& network, std::span<const Feed> feeds) {
  std::vector<std::int64_t> lengths, ids, positions, scored;
  std::vector<std::optional<std::int64_t>> row_adapters, scored_adapters;
  CacheUse use{&cache_, {}};
  for (const Feed& feed : feeds) {
    const bool is_prompt = is_shareable(feed);
    const std::vector<std::int64_t> whole = tokens_of(feed);
    if (is_prompt) cache_.share(feed.sequence, whole);
    const std::int64_t first = cache_.length(feed.sequence);
    const auto tokens = std::span(whole).subspan(is_prompt ? static_cast<std::size_t>(first) : 0);
    lengths.push_back(static_cast<std::int64_t>(tokens.size()));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      ids.push_back(tokens[i]);
      positions.push_back(first_position(feed) +
                          position(feed.sequence, first + static_cast<std::int64_t>(i)));
    }
    for (auto i = feed.scored; i > 0; --i) scored.push_back(static_cast<std::int64_t>(ids.size() - i));
    row_adapters.resize(ids.size(), adapter_of_[static_cast<std::size_t>(feed.sequence)]);
    scored_adapters.resize(scored.size(), adapter_of_[static_cast<std::size_t>(feed.sequence)]);
    cache_.extend(feed.sequence, lengths.back());
    // A later prompt in this pass can already share it: each layer writes all keys before it reads any.
    if (is_prompt) cache_.publish(feed.sequence, whole);
    use.sequences.push_back(feed.sequence);
    if (has_encoder()) use.sources.push_back(source_of_[feed.sequence]);
  }
  tokens_read_ += std::ssize(ids);
  TokenBatch batch = TokenBatch{ops::tensor(ids, kLong), ops::tensor(positions, kLong), {}, Offsets(lengths)};
  // transformers' generate() passes positions to a decoder without an encoder (Feed::counts_positions).
  batch.positions_given = !has_encoder();
  batch.prompted = !network->decoder->embeddings->prompts.empty();
  Pass pass = Pass::inference();
  pass.adapters = choose_adapters(row_adapters);
  Tensor hidden = network->decode(batch, pass, nullptr, &use);  // [T, d]
  for (std::size_t i = 0; i < feeds.size(); ++i)
    if (const Feed& feed = feeds[i]; feed.hidden) {
      const auto count = std::ssize(feed.tokens);  // without those of virtual tokens
      const Tensor rows = batch.offsets.part(hidden, static_cast<std::int64_t>(i));
      *feed.hidden = rows.narrow(0, rows.size(0) - count, count).to(kFloat).clone();
    }
  if (scored.empty()) return ops::zeros({0});
  if (scored.size() < ids.size()) hidden = hidden.index_select(0, ops::tensor(scored, kLong));  // [rows, d]
  pass.adapters = choose_adapters(scored_adapters);
  return network->language_model_head(hidden, pass).to(kFloat).contiguous();
}

}  // namespace attend
