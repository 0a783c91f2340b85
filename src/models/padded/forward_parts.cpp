#include "models/padded/forward_parts.h"

#include "models/padded/score_outputs.h"

#include <algorithm>

namespace attend {
namespace {

// Transformer-XL returns the tokens' losses instead of the scores: [B, L - 1], but cluster by cluster, with
// those that do not count at the end. With a single cluster each loss stays at its token's index. scores [T,
// V] are log-probabilities, labels [T] those of the next tokens.
Tensor losses_by_cluster(const Tensor& scores, const Tensor& labels, const Padded& layout,
                         const ClusterSpec& clusters) {
  const Tensor ignored = labels.eq(kIgnoredLabel);
  const Tensor losses =
      scores.gather(1, labels.masked_fill(ignored, 0).unsqueeze(1)).squeeze(1).neg().masked_fill(ignored, 0);
  Tensor cluster = ignored.to(kLong) * static_cast<std::int64_t>(clusters.ends.size());
  for (const std::int64_t end : clusters.ends) cluster += labels.ge(end).to(kLong);
  const auto but_last = [&](const Tensor& rows) {
    return layout.pad(rows).narrow(1, 0, layout.length() - 1).flatten();
  };
  Tensor in_order = but_last(losses);
  if (clusters.ends.size() > 1)
    in_order = in_order.index_select(0, ops::argsort(but_last(cluster), /*stable=*/true, 0, false));
  return in_order.view({layout.sequences(), layout.length() - 1});
}

}  // namespace

Pass capturing(Capture& capture, const ForwardOptions& options) {
  Pass pass = Pass::inference();
  pass.adapters = choose_adapters({options.adapter});
  if (capture.hidden_states || capture.attentions || capture.routing) pass.capture = &capture;
  return pass;
}

Tensor find(const Tensors& inputs, std::string_view name) {
  const auto found = inputs.find(std::string(name));
  return found == inputs.end() ? Tensor() : found->second;
}

void check_names(const Tensors& inputs, const std::set<std::string>& known) {
  for (const auto& [name, tensor] : inputs)
    if (known.count(name) == 0)
      fail("{} is not an input of this model; its inputs are {}", name, fmt::join(known, ", "));
}

std::set<std::string> label_inputs(Transformer& net) {
  std::set<std::string> names;
  if (net->language_model_head) names.insert("labels");
  if (net->pixel_head) names.insert("bool_masked_pos");
  if (net->span_search)
    names.insert({"start_positions", "end_positions", "cls_index", "is_impossible", "p_mask"});
  if (net->score_head)
    for (const std::string& name : label_inputs(net->score_head->spec())) names.insert(name);
  return names;
}

void put_captured(Tensors& out, const std::string& prefix, const Capture::Stack& stack,
                  const Padded& queries) {
  for (std::size_t i = 0; i < stack.hidden.size(); ++i)
    out[fmt::format("{}hidden_states.{}", prefix, i)] = queries.pad(stack.hidden[i]);
  for (std::size_t i = 0; i < stack.self_attentions.size(); ++i)
    out[fmt::format("{}attentions.{}", prefix, i)] = pad_own_weights(stack.self_attentions[i], queries);
}

void keep_real_rows(Capture::Stack& stack, const Padded& whole, const Padded& given) {
  for (auto* states : {&stack.hidden, &stack.routing})
    for (Tensor& rows : *states) rows = given.collect(whole.spread(rows));  // keeps routing's gradient
  for (auto* layers : {&stack.self_attentions, &stack.cross_attentions})
    for (std::vector<Tensor>& layer : *layers)
      for (std::size_t b = 0; b < layer.size(); ++b)
        layer[b] = layer[b].index_select(1, given.columns(static_cast<std::int64_t>(b)));
}

Tensor ragged_labels(const Tensor& labels, const Padded& layout, std::int64_t vocabulary) {
  layout.check(labels, "labels");
  const Tensor rows = layout.unpad(labels).to(kLong);
  const Tensor outside =
      rows.masked_select(rows.lt(0).logical_or(rows.ge(vocabulary)).logical_and(rows.ne(kIgnoredLabel)));
  if (outside.numel() > 0)
    fail("labels: {} is outside the vocabulary, 0 to {} (or {}, which does not count)",
         outside[0].item<std::int64_t>(), vocabulary - 1, kIgnoredLabel);
  return rows;
}

Tensor next_labels(const Tensor& labels, const Offsets& offsets) {
  Tensor next = ops::full_like(labels, kIgnoredLabel);
  for (std::int64_t b = 0; b < offsets.count(); ++b)
    if (const std::int64_t n = offsets.length(b); n > 1)
      next.narrow(0, offsets.begin(b), n - 1).copy_(labels.narrow(0, offsets.begin(b) + 1, n - 1));
  return next;
}

void check_distances(const StackSpec& stack, const Padded& layout) {
  const bool windows = std::ranges::any_of(stack.layers, [&](const LayerSpec& layer) {
    const std::int64_t window = layer.self_attention.window;
    return window > 0 && window < layout.length();
  });
  if (windows || !std::holds_alternative<std::monostate>(stack.distances)) layout.spans();
}

void put_language_model(Result& r, Transformer& net, const Tensor& hidden, const Padded& layout,
                        const Tensor& labels, Pass& pass) {
  if (const auto& clusters = net->spec().language_model_head->clusters; clusters && labels.defined()) {
    const Tensor scores = net->language_model_head(hidden, pass);
    r.out["losses"] = losses_by_cluster(scores, labels, layout, *clusters);
    r.loss = net->language_model_head->loss(hidden, labels, {}, pass).mean();
    return;
  }
  r.out[std::string(net->spec().language_model_head->quirks.output)] =
      layout.pad(net->language_model_head(hidden, pass));
  if (labels.defined()) r.loss = net->language_model_head->loss(hidden, labels, {}, pass).mean();
}

std::optional<Encoded> read_encoded(const Tensors& inputs, Stack& reader, std::int64_t sequences,
                                    Pass& pass) {
  const Tensor states = find(inputs, "encoder_hidden_states"), mask = find(inputs, "encoder_attention_mask");
  if (!states.defined()) {
    if (mask.defined()) fail("encoder_attention_mask: expected encoder_hidden_states too, found none");
    return {};
  }
  const std::int64_t width = reader->spec().width();
  if (states.dim() != 3 || !ops::is_floating(states.type()) || states.size(0) != sequences ||
      states.size(1) == 0 || states.size(2) != width)
    fail("encoder_hidden_states: expected numbers of shape [{}, length, {}], found {} of shape [{}]",
         sequences, width, name_of(states.type()), fmt::join(states.sizes(), ", "));
  Padded layout(ops::zeros({sequences, states.size(1)}, kLong), mask, "encoder_hidden_states");
  const TokenBatch batch = layout.batch({}, {});
  CrossAttentionKV memory = reader->project_kv(layout.unpad(states.to(kFloat)), batch.offsets, pass);
  return Encoded{layout, std::move(memory)};
}

void put_cross_attentions(Tensors& out, const Capture::Stack& capture, const Padded& queries,
                          const Padded& keys) {
  for (std::size_t i = 0; i < capture.cross_attentions.size(); ++i)
    out[fmt::format("cross_attentions.{}", i)] = pad_weights(capture.cross_attentions[i], queries, keys);
}

bool counts_padding(const Tensors& inputs) {
  return inputs.count("start_positions") > 0;
}

bool labels_reach_padding(Transformer& net, const Tensor& labels, const Padded& given, bool next) {
  const bool of_tokens = net->language_model_head ||
                         (net->score_head && net->score_head->spec().kind == ScoreKind::token_classification);
  if (!labels.defined() || !of_tokens || labels.sizes() != given.ids().sizes()) return false;
  const Tensor counted = labels.ne(kIgnoredLabel), padding = given.padding();
  const std::int64_t L = given.length();
  const auto any = [](const Tensor& t) { return t.any().item<bool>(); };
  if (!next) return any(counted.logical_and(padding));
  return any(counted.narrow(1, 1, L - 1)
                 .logical_and(padding.narrow(1, 0, L - 1).logical_or(padding.narrow(1, 1, L - 1))));
}

void keep_real_scores(Tensors& out, const Padded& given, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto found = out.find(std::string(name)); found != out.end())
      found->second = given.pad(given.unpad(found->second));
}

}  // namespace attend
