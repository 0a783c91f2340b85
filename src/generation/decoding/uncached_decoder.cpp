#include "generation/decoding/uncached_decoder.h"

#include "nn/attention/memories.h"
#include "nn/attention/two_streams.h"

#include <map>

namespace attend {

UncachedDecoder::UncachedDecoder(const PretrainedModel& model) : model_(model), network_(model.network()) {}

void UncachedDecoder::check(const Prompt& prompt) const {
  const auto length = static_cast<std::int64_t>(prompt.ids.size());
  if (length == 0) fail("the prompt has no tokens");
  if (room(length) < 1)
    fail("the prompt has {} tokens, which leaves no room among the {} that the model reads: shorten it",
         length, top()->max_positions());
}

// The mask takes the place of the next token.
std::int64_t UncachedDecoder::room(std::int64_t first) const {
  return top()->max_positions() - first + (network_->spec().appended_mask ? 0 : 1);
}

std::vector<Decoder::Sequence> UncachedDecoder::add(std::span<const Prompt* const> prompts) {
  std::vector<Sequence> sequences;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto free = std::ranges::find_if(texts_, [](const Text& text) { return !text.used; });
    sequences.push_back(static_cast<Sequence>(free - texts_.begin()));
    if (free == texts_.end()) texts_.emplace_back();
    texts_[sequences.back()] = {{}, {}, true, prompts[i] != nullptr ? prompts[i]->adapter : std::nullopt};
  }
  return sequences;
}

Decoder::Sequence UncachedDecoder::fork(Sequence sequence) {
  const Text text = texts_[sequence];  // the tensors are shared, because they never change
  const Sequence copy = add(std::vector<const Prompt*>{nullptr}).front();
  texts_[copy] = text;
  return copy;
}

void UncachedDecoder::release(Sequence sequence) {
  texts_[sequence] = {};
}

// If past states are stored, XLNet reads the last two tokens again, Transformer-XL only the new one;
// otherwise everything is read.
std::vector<std::int64_t> UncachedDecoder::unread(const Text& text) const {
  if (text.past.empty()) return text.tokens;
  return {text.tokens.end() - (stack().two_streams ? 2 : 1), text.tokens.end()};
}

Tensor UncachedDecoder::step(std::span<const Feed> feeds) {
  std::map<std::tuple<std::size_t, std::int64_t, std::optional<std::int64_t>>, Group> groups;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    Text& text = texts_[feeds[i].sequence];
    text.tokens.insert(text.tokens.end(), feeds[i].tokens.begin(), feeds[i].tokens.end());
    const std::int64_t past = text.past.empty() ? -1 : text.past.front().size(0);
    groups[{unread(text).size(), past, text.adapter}].push_back(i);
  }
  Tensor scores;  // [feeds, V]
  for (const auto& [key, group] : groups) {
    std::vector<Text*> texts;
    for (const std::size_t i : group) texts.push_back(&texts_[feeds[i].sequence]);
    Pass pass = Pass::inference();
    pass.adapters = choose_adapters({texts[0]->adapter});
    Transformer network = model_.with_adapter(texts[0]->adapter).network();
    const Tensor hidden = network->spec().appended_mask
                              ? read_with_mask(network, texts, pass)
                              : read_behind_past(network, texts, pass);  // [group, d]
    const Tensor rows = network->language_model_head(hidden, pass).to(kFloat);
    if (!scores.defined()) scores = ops::empty({static_cast<std::int64_t>(feeds.size()), rows.size(1)});
    for (std::size_t i = 0; i < group.size(); ++i)
      scores[static_cast<std::int64_t>(group[i])].copy_(rows[static_cast<std::int64_t>(i)]);
  }
  return scores;
}

Tensor UncachedDecoder::read_with_mask(Transformer& network, std::span<Text* const> texts, Pass& pass) const {
  const AppendedMask& mask = *network->spec().appended_mask;
  std::vector<std::vector<std::int64_t>> sequences;
  Tensor complete = ops::ones({static_cast<std::int64_t>(texts.size()), 1});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    sequences.push_back(texts[i]->tokens);
    sequences.back().push_back(mask.id);
    // The length of a text is its number of tokens that are not padding; later rows are zero.
    const auto padding = std::ranges::count(sequences.back(), stack().embeddings.padding_id);
    if (padding > 0) complete[static_cast<std::int64_t>(i)].zero_();
  }
  TokenBatch batch = TokenBatch::from(sequences);
  if (mask.language) batch.languages = ops::full_like(batch.ids, *mask.language);
  const Tensor hidden = network->encode(batch, pass);
  return hidden.index_select(0, batch.offsets.last_rows()) * complete.to(hidden.type());
}

Tensor UncachedDecoder::read_behind_past(Transformer& network, std::span<Text* const> texts,
                                         Pass& pass) const {
  const bool streams = stack().two_streams;
  const auto B = static_cast<std::int64_t>(texts.size());
  const auto n = static_cast<std::int64_t>(unread(*texts[0]).size());
  const std::size_t layers = stack().layers.size();
  std::vector<std::int64_t> ids;
  for (const Text* text : texts) {
    for (const std::int64_t id : unread(*text)) ids.push_back(id);
    if (streams) ids.push_back(0);  // the position of the next token, which queries but is not visible
  }
  const std::int64_t rows = n + (streams ? 1 : 0);
  TokenBatch batch{ops::tensor(ids, kLong),
                   ops::arange(rows).repeat({B}),
                   {},
                   Offsets(std::vector<std::int64_t>(B, rows))};
  if (!texts[0]->past.empty())
    for (std::size_t layer = 0; layer < layers; ++layer) {
      std::vector<Tensor> past;
      for (const Text* text : texts) past.push_back(text->past[layer]);
      batch.past.push_back(ops::stack(past));  // [B, M, d]
    }
  if (streams) {
    batch.predicted = ops::arange(rows).eq(n).repeat({B});
    const std::int64_t M = batch.past.empty() ? 0 : batch.past.front().size(1);
    auto visible = std::make_shared<KeyMask>();
    visible->first.assign(B, 0);
    visible->count.assign(B, n);
    // The row of the next token sees the same as a row of the text, but is not a key.
    const Tensor hidden = always_hidden(stack(), rows, M).narrow(1, 0, M + n);
    visible->own.assign(B, {hidden.to(kFloat) * -1e30, ops::arange(M, M + rows), {}});
    batch.visible = std::move(visible);
  }
  Capture capture{true, false, {}, {}};
  pass.capture = &capture;
  const Tensor hidden =
      network->decoder ? network->decode(batch, pass) : network->encode(batch, pass);  // [B * rows, d]
  pass.capture = nullptr;
  if (stack().memory) {
    const std::vector<Tensor>& states = (network->decoder ? capture.decoder : capture.encoder).hidden;
    const std::int64_t empty = stack().layers.front().self_attention.empty_keys;
    for (std::int64_t b = 0; b < B; ++b)
      for (std::size_t layer = 0; layer < layers; ++layer) {
        const Tensor read = states[layer].view({B, rows, -1}).narrow(0, b, 1);  // [1, rows, d]
        std::vector<Tensor>& past = texts[b]->past;
        if (past.size() < layers) past.push_back(ops::zeros({empty, read.size(2)}));
        const Tensor kept = next_memory(past[layer].unsqueeze(0), read, stack())[0];
        // XLNet will read its last token again, and its memory also contains the query row.
        past[layer] = kept.narrow(0, 0, std::max<std::int64_t>(0, kept.size(0) - (streams ? 2 : 0)));
      }
  }
  return hidden.view({B, rows, -1}).select(1, rows - 1);
}

}  // namespace attend
