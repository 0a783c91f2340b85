#include "nn/attention/two_streams.h"

namespace attend {
namespace {

// As in the original: so large that a row that would see nothing sees everything equally.
constexpr double kHidden = -1e30;

void check(const PermutedText& text, std::size_t number) {
  const std::size_t L = text.ids.size();
  if (text.order.size() != L || (!text.types.empty() && text.types.size() != L))
    fail(
        "text {}: expected a position in the order for each of {} tokens, and types for all or none; found "
        "{} and {}",
        number, L, text.order.size(), text.types.size());
  std::vector<bool> seen(L);
  for (const std::int64_t token : text.predicted) {
    if (token < 0 || token >= static_cast<std::int64_t>(L) || seen[static_cast<std::size_t>(token)])
      fail("text {}: expected predicted tokens from 0 to {}, each once, found {}", number,
           static_cast<std::int64_t>(L) - 1, token);
    seen[static_cast<std::size_t>(token)] = true;
  }
}

// Which tokens are hidden from each token: [L, L] bool.
Tensor hidden_tokens(const PermutedText& text, const Tensor& targets) {
  const Tensor order = ops::tensor(text.order, kLong);
  const Tensor later = order.unsqueeze(1).le(order.unsqueeze(0));  // not order[j] < order[i]
  const Tensor predicted = ops::zeros_like(order, kBool).index_fill_(0, targets, true);
  return later.logical_and(predicted);
}

}  // namespace

QueryMask two_stream_keys(const Tensor& hidden, const Tensor& targets, std::int64_t past,
                          const Tensor& types) {
  const std::int64_t L = hidden.size(0);
  const Tensor all = ops::with_margins(hidden, {past + L - hidden.size(1), 0});  // [L, past + L]
  const Tensor itself = ops::with_margins(ops::eye(L, kBool), {past, 0});
  const Tensor unseen = ops::cat({all.logical_and(itself.logical_not()), all.index_select(0, targets)});
  QueryMask keys;
  keys.penalty = unseen.to(kFloat) * kHidden;  // [L + P, past + L]
  keys.places = ops::cat({ops::arange(L), targets}) + past;
  if (types.defined()) keys.segments = ops::with_margins(types, {past, 0});
  return keys;
}

Tensor always_hidden(const StackSpec& stack, std::int64_t L, std::int64_t past) {
  Tensor hidden = ops::zeros({L, past + L}, kBool);
  if (!stack.looks_back) return hidden;
  const Tensor row = ops::arange(L).unsqueeze(1), key = ops::arange(past + L).unsqueeze(0);
  hidden = key.gt(row + past);
  return stack.same_length ? hidden.logical_or(key.lt(row)) : hidden;
}

std::shared_ptr<const KeyMask> default_mask(const StackSpec& stack, const TokenBatch& batch) {
  if (stack.half_backwards)
    fail(
        "bi_data: the model reads the second half of a batch backwards, which only `attend forward` "
        "supports");
  if (!stack.looks_back) return batch.visible;
  const std::int64_t past = batch.past.empty() ? 0 : batch.past.front().size(1);
  auto visible = std::make_shared<KeyMask>();
  for (std::int64_t b = 0; b < batch.offsets.count(); ++b) {
    const std::int64_t L = batch.offsets.length(b);
    visible->first.push_back(0);
    visible->count.push_back(L);
    const Tensor types = batch.types.defined() ? batch.offsets.part(batch.types, b) : Tensor();
    visible->own.push_back(
        two_stream_keys(always_hidden(stack, L, past), ops::zeros({0}, kLong), past, types));
  }
  return visible;
}

TwoStreams two_streams(const std::vector<PermutedText>& texts, std::vector<Tensor> past) {
  const std::int64_t before = past.empty() ? 0 : past.front().size(1);
  std::vector<std::int64_t> lengths, ids, positions, types, targets, labels, predicted;
  auto visible = std::make_shared<KeyMask>();
  const bool typed = !texts.empty() && !texts.front().types.empty();
  for (std::size_t b = 0; b < texts.size(); ++b) {
    const PermutedText& text = texts[b];
    check(text, b);
    if (typed == text.types.empty() && !text.ids.empty())
      fail("text {}: expected types for all texts or for none", b);
    const auto L = static_cast<std::int64_t>(text.ids.size());
    const auto P = static_cast<std::int64_t>(text.predicted.size());
    ids.insert(ids.end(), text.ids.begin(), text.ids.end());
    types.insert(types.end(), text.types.begin(), text.types.end());
    for (std::int64_t i = 0; i < L; ++i) positions.push_back(i);
    predicted.resize(predicted.size() + text.ids.size(), 0);
    for (const std::int64_t token : text.predicted) {
      const auto t = static_cast<std::size_t>(token);
      targets.push_back(static_cast<std::int64_t>(ids.size()));
      labels.push_back(text.ids[t]);
      ids.push_back(0);  // not read
      positions.push_back(token);
      if (typed) types.push_back(text.types[t]);
      predicted.push_back(1);
    }
    lengths.push_back(L + P);
    visible->first.push_back(0);
    visible->count.push_back(L);
    const Tensor tokens = ops::tensor(text.predicted, kLong);
    visible->own.push_back(two_stream_keys(hidden_tokens(text, tokens), tokens, before,
                                           typed ? ops::tensor(text.types, kLong) : Tensor()));
  }
  TwoStreams streams;
  streams.batch.ids = ops::tensor(ids, kLong);
  streams.batch.positions = ops::tensor(positions, kLong);
  if (typed) streams.batch.types = ops::tensor(types, kLong);
  streams.batch.offsets = Offsets(lengths);
  streams.batch.predicted = ops::tensor(predicted, kLong).to(kBool);
  streams.batch.visible = std::move(visible);
  streams.batch.past = std::move(past);
  streams.targets = ops::tensor(targets, kLong);
  streams.labels = ops::tensor(labels, kLong);
  return streams;
}

}  // namespace attend
