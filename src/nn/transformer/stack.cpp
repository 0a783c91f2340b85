#include "nn/transformer/stack.h"

#include "base/parallel.h"
#include "nn/attention/two_streams.h"
#include "nn/linear/matrix_product.h"
#include "nn/pass/dropout.h"
#include "tensor/parallel.h"

namespace attend {
namespace {

// The largest number of keys that a query of this pass can see.
std::int64_t longest_keys(const Offsets& offsets, const CacheUse* cache) {
  if (!cache) return offsets.longest();
  std::int64_t longest = 0;
  for (PagedCache::Sequence sequence : cache->sequences)
    longest = std::max(longest, cache->cache->length(sequence));
  return longest;
}

// The batch, with the rows of prefixes before its sequences.
TokenBatch after(std::vector<std::int64_t> before, TokenBatch batch) {
  std::vector<std::int64_t> shifts;  // [T]
  for (std::int64_t b = 0; b < batch.offsets.count(); ++b)
    shifts.insert(shifts.end(), static_cast<std::size_t>(batch.offsets.length(b)),
                  before[static_cast<std::size_t>(b)]);
  batch.positions = batch.positions + ops::tensor(shifts, kLong);
  batch.before = std::move(before);
  return batch;
}

// Whether only the result is needed, and all rows use the same adapters.
bool only_reads(const Pass& pass, const Capture::Stack* capture) {
  return !recording() && !pass.is_training() && pass.adapters == nullptr && capture == nullptr;
}

// Devices compute fastest if all texts are in one product.
ReadingGroups groups_of(std::span<const std::int64_t> lengths, std::int64_t width, const Tensor& weight) {
  if (weight.defined() && weight.device() != nullptr) return {.begins = {0, std::ssize(lengths)}};
  return reading_groups(lengths, width, parallel_threads(), /*apart=*/true);
}

std::shared_ptr<const RotaryTables> turns(const StackSpec& spec, const TokenBatch& batch, ScalarType type) {
  if (spec.rotaries.empty()) return nullptr;
  return std::make_shared<const RotaryTables>(
      rotary_tables(spec.rotaries, batch.positions, batch.offsets, type));
}

// If the norm comes before the attention, earlier states are normalized like the current ones. Before the
// first segment, they are `empty` zero rows; the norm changes these too, so it must be applied.
Tensor normed_past(LayerNorm& norm, const LayerContext& c, const Tensor& x, std::int64_t empty) {
  Tensor past = c.past;
  if (!past.defined() && empty > 0) past = ops::zeros({c.offsets.count(), empty, x.size(1)}, x.type());
  return past.defined() ? norm(past.flatten(0, 1)).view(past.sizes()) : past;
}

}  // namespace

std::vector<Tensor*> LayerContext::differentiable() {
  std::vector<Tensor*> all;
  for (Tensor* tensor : {&memory, &past, &distances.vectors, &distances.of_head, &distances.content_bias,
                         &distances.distance_bias})
    if (tensor->defined()) all.push_back(tensor);
  for (Tensor& tensor : before) all.push_back(&tensor);
  return all;
}

LayerImpl::LayerImpl(std::int64_t width, const LayerSpec& spec) : spec_(spec) {
  const auto add_norm = [&](const char* name) { return register_module(name, LayerNorm(width, spec.norm)); };
  self_attention_ = register_module("self_attention", SelfAttention(width, spec.self_attention));
  if (spec.normed_input) self_attention_norm_ = add_norm("self_attention_norm");
  if (spec.cross_attention) {
    cross_attention_ = register_module("cross_attention", CrossAttention(width, *spec.cross_attention));
    cross_attention_norm_ = add_norm("cross_attention_norm");
  }
  if (spec.experts)
    experts_ = register_module("experts", Experts(width, spec.feed_forward, *spec.experts));
  else
    feed_forward_ = register_module("feed_forward", FeedForward(width, spec.feed_forward));
  if (spec.order != NormOrder::parallel || spec.two_norms) feed_forward_norm_ = add_norm("feed_forward_norm");
  if (spec.order != NormOrder::around) return;
  attention_result_norm_ = add_norm("attention_result_norm");
  feed_forward_result_norm_ = add_norm("feed_forward_result_norm");
}

template <class Sublayer>
Tensor LayerImpl::around(LayerNorm& norm, LayerNorm& result_norm, const Tensor& x, const Sublayer& sublayer) {
  if (spec_.order == NormOrder::post) return norm(sublayer(x, x));
  const bool before = spec_.order != NormOrder::result && norm;
  const Tensor in = before ? norm(x) : x;
  if (spec_.order == NormOrder::pre && spec_.result_scale == 1)
    return sublayer(in, spec_.adds_to_normed ? in : x);
  Tensor result = sublayer(in, Tensor());
  if (spec_.order == NormOrder::result) result = norm(result);
  if (spec_.order == NormOrder::around) result = result_norm(result);
  return x + (spec_.result_scale == 1 ? result : result * spec_.result_scale);
}

Tensor LayerImpl::feed(const Tensor& in, const Tensor& residual, const LayerContext& c, Pass& pass) {
  if (experts_) return experts_->forward(in, residual, spec_.feed_forward_result_dropout, pass, c.routing);
  return feed_forward_->forward(in, residual, spec_.feed_forward_result_dropout, pass);
}

Tensor LayerImpl::forward_parallel(const Tensor& x, const LayerContext& c, Pass& pass) {
  const Tensor in = self_attention_norm_(x), other = feed_forward_norm_ ? feed_forward_norm_(x) : in;
  const Tensor mixed = self_attention_->forward(in, c.rows(), {x, spec_.attention_result_dropout}, pass,
                                                c.cache, c.layer, c.self_capture);
  return feed(other, mixed, c, pass);
}

Tensor LayerImpl::forward(const Tensor& input, const LayerContext& context, Pass& pass) {
  if (spec_.order == NormOrder::parallel) return forward_parallel(input, context, pass);
  LayerContext c = context;
  if (spec_.order == NormOrder::pre && self_attention_norm_)
    c.past = normed_past(self_attention_norm_, context, input, spec_.self_attention.empty_keys);
  const auto attend = [&](const Tensor& in, const Tensor& residual) {
    return self_attention_->forward(in, c.rows(), {residual, spec_.attention_result_dropout}, pass, c.cache,
                                    c.layer, c.self_capture);
  };
  Tensor x = around(self_attention_norm_, attention_result_norm_, input, attend);
  if (cross_attention_ && (c.memory.defined() || (c.cache && !c.cache->sources.empty())))
    x = around(cross_attention_norm_, cross_attention_norm_, x, [&](const Tensor& in, const Tensor& added) {
      const Residual residual{added, spec_.attention_result_dropout};
      if (!c.memory.defined())
        return cross_attention_->forward(in, c.offsets, *c.cache, c.layer, residual, pass, c.cross_capture);
      return cross_attention_->forward(in, c.offsets, c.memory, c.memory_offsets, residual, pass,
                                       c.cross_capture);
    });
  return around(feed_forward_norm_, feed_forward_result_norm_, x,
                [&](const Tensor& in, const Tensor& residual) { return feed(in, residual, c, pass); });
}

StackImpl::StackImpl(const StackSpec& spec, const Tensor& tokens) : spec_(spec) {
  if (spec.patches)
    patches = register_module("patches", PatchEmbeddings(*spec.patches, spec.embeddings.width));
  else
    embeddings = register_module("embeddings", Embeddings(spec.embeddings, tokens));
  const auto make_distances = [&] {
    return Distances(spec.distances, spec.width(), spec.layers.front().self_attention);
  };
  if (has_layer_distances()) {
    register_module("layer_distances", layer_distances_);
    while (layer_distances_->size() < spec.layers.size()) layer_distances_->push_back(make_distances());
  } else if (!std::holds_alternative<std::monostate>(spec.distances)) {
    distances_ = register_module("distances", make_distances());
  }
  if (spec.convolution)
    convolution_ = register_module("convolution", Convolution(spec.width(), *spec.convolution));
  register_module("layers", layers_);
  // With shared weights, only the layers that own some are built; the others refer to them.
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const bool own =
        spec.weights_of.empty() || spec.weights_of[i] == static_cast<std::int64_t>(layers_->size());
    if (own) layers_->push_back(Layer(spec.width(), spec.layers[i]));
  }
  if (spec.final_norm) final_norm_ = register_module("final_norm", LayerNorm(spec.width(), *spec.final_norm));
  if (spec.projects_back)
    back_ = register_module("back", Linear(spec.width(), spec.result_width(), /*bias=*/false));
}

std::shared_ptr<LayerImpl> StackImpl::layer(std::size_t i) {
  return layers_->ptr<LayerImpl>(spec_.weights_of.empty() ? i
                                                          : static_cast<std::size_t>(spec_.weights_of[i]));
}

Tensor StackImpl::result_of(const Tensor& x, Pass& pass) {
  const Tensor normed = final_norm_ ? final_norm_(x) : x;
  return back_ ? back_(normed, pass) : normed;
}

Tensor StackImpl::without_padding(const Tensor& x, const Offsets& offsets, const KeyMask* real) const {
  return real && spec_.quirks.padding_begins_as_zero ? x * real->rows(offsets, x.type()) : x;
}

Tensor StackImpl::read_in_groups(const ReadingGroups& groups, const Pass& pass,
                                 const std::function<Tensor(std::int64_t, std::int64_t, Pass&)>& read) {
  std::vector<Tensor> parts(static_cast<std::size_t>(groups.count()));
  const auto read_one = [&](std::size_t i) {
    Pass own = pass;        // for this thread only
    own.gradients = false;  // each thread needs its own setting
    const PassScope scope(own);
    parts[i] = read(groups.begins[i], groups.begins[i + 1] - groups.begins[i], own);
  };
  if (groups.on_one_thread_each)
    parallel_for(parts.size(), 1, [&](std::size_t i, std::size_t) { read_one(i); });
  else
    for (std::size_t i = 0; i < parts.size(); ++i) read_one(i);
  return ops::cat(parts);
}

Tensor StackImpl::forward(const TokenBatch& batch, Pass& pass, const CrossAttentionKV* memory,
                          const CacheUse* cache, Capture::Stack* capture) {
  const bool plain = batch.visible == nullptr && batch.past.empty() && batch.before.empty() &&
                     prefixes.empty() && !spec_.half_backwards && memory == nullptr && cache == nullptr;
  if (!plain || layer_weights || !only_reads(pass, capture))
    return forward_together(batch, pass, memory, cache, capture);
  const ReadingGroups groups = groups_of(batch.offsets.lengths(), spec_.width(), embeddings->tokens);
  if (groups.count() == 1) return forward_together(batch, pass, memory, cache, capture);
  return read_in_groups(groups, pass, [&](std::int64_t first, std::int64_t count, Pass& own) {
    return forward_together(batch.texts(first, count), own, nullptr, nullptr, nullptr);
  });
}

Tensor StackImpl::forward_together(const TokenBatch& given, Pass& pass, const CrossAttentionKV* memory,
                                   const CacheUse* cache, Capture::Stack* capture) {
  // In a cache, the prefixes are stored already.
  const PassPrefixes own =
      cache ? PassPrefixes() : PassPrefixes(prefixes, given.offsets, pass.adapters.get());
  const TokenBatch batch = own.empty() ? given : after(own.lengths(), given);
  const Tensor x = without_padding(embeddings(batch, pass), batch.offsets, batch.visible.get());  // [T, d]
  const bool sees_less =
      (spec_.looks_back || spec_.half_backwards) && (!batch.visible || batch.visible->own.empty());
  LayerContext context{.offsets = batch.offsets,
                       .visible = sees_less ? default_mask(spec_, batch) : batch.visible,
                       .rotaries = turns(spec_, batch, x.type()),
                       .types = batch.types,
                       .cache = cache};
  return run_layers(x, std::move(context), memory, batch.past, own, pass, capture);
}

Tensor StackImpl::forward(const ImageBatch& images, Pass& pass, Capture::Stack* capture) {
  if (!layer_weights && only_reads(pass, capture)) {
    const auto [high, wide] = patches->grid(images.pixels);
    const std::vector<std::int64_t> lengths(static_cast<std::size_t>(images.pixels.size(0)), 1 + high * wide);
    const ReadingGroups groups = groups_of(lengths, spec_.width(), patches->positions());
    if (groups.count() > 1)
      return read_in_groups(groups, pass, [&](std::int64_t first, std::int64_t count, Pass& own) {
        const auto part = [&](const Tensor& t) { return t.defined() ? t.narrow(0, first, count) : t; };
        return forward_together(ImageBatch{part(images.pixels), part(images.hidden)}, own, nullptr);
      });
  }
  return forward_together(images, pass, capture);
}

Tensor StackImpl::forward_together(const ImageBatch& images, Pass& pass, Capture::Stack* capture) {
  const Tensor x = patches(images, pass);  // [T, d]
  const std::int64_t count = images.pixels.size(0);
  const Offsets offsets(std::vector<std::int64_t>(count, x.size(0) / count));
  return run_layers(x, {.offsets = offsets}, nullptr, {}, {}, pass, capture);
}

Tensor StackImpl::with_weights(const Module& module, const Recomputable& function,
                               const std::vector<Tensor>& inputs, Pass& pass, bool recomputed) {
  if (!recomputed && !layer_weights) return function(inputs, pass);
  std::vector<Tensor> parameters = module.parameters();
  if (!recomputed) {
    if (recording()) fail("gradients of layers that other processes keep: expected a training pass");
    const InMemory in_memory(layer_weights.get(), parameters);
    return function(inputs, pass);
  }
  const std::vector<Tensor> adapters = adapter_tensors(module);
  parameters.insert(parameters.end(), adapters.begin(), adapters.end());
  return recompute(function, inputs, parameters, pass, layer_weights);
}

Tensor StackImpl::run_layer(std::size_t i, const Tensor& x, LayerContext context, Pass& pass) {
  const auto module = layer(i);
  if (!recording())
    return with_weights(
        *module, [&](const auto& inputs, Pass& own) { return module->forward(inputs[0], context, own); }, {x},
        pass, false);
  // The gradients of all uses of a tensor within the layer are summed before they are added to those of other
  // layers. Recomputed layers can only do it this way, so both give the same sums.
  std::vector<Tensor> inputs{ops::alias(x)};
  for (Tensor* tensor : context.differentiable()) inputs.push_back(*tensor = ops::alias(*tensor));
  const bool can_recompute = pass.is_training() && !context.self_capture.weights && !context.cache;
  if (!can_recompute || !(pass.recompute || layer_weights))
    return with_weights(
        *module, [&](const auto& aliases, Pass& own) { return module->forward(aliases[0], context, own); },
        inputs, pass, false);
  const auto run = [module, context](const std::vector<Tensor>& tensors, Pass& drawn) {
    LayerContext own = context;
    std::size_t next = 1;
    for (Tensor* tensor : own.differentiable()) *tensor = tensors[next++];
    Tensor routing;  // part of the result, because it has gradients in a recomputed layer too
    if (context.routing) own.routing = &routing;
    const Tensor result = module->forward(tensors[0], own, drawn);
    return routing.defined() ? ops::cat({result, routing}, 1) : result;
  };
  const Tensor result = with_weights(*module, run, inputs, pass, true);
  const std::int64_t width = x.size(1), routed = result.size(1) - width;
  if (routed == 0) return result;
  *context.routing = result.narrow(1, width, routed);
  return result.narrow(1, 0, width).contiguous();
}

Tensor StackImpl::run_layers(Tensor x, LayerContext context, const CrossAttentionKV* memory,
                             const std::vector<Tensor>& past, const PassPrefixes& own_prefixes, Pass& pass,
                             Capture::Stack* capture) {
  const Capture* wanted = pass.capture;
  const bool keep_hidden = capture && wanted->hidden_states, keep_weights = capture && wanted->attentions;
  // Adds an entry for this layer; returns where attention stores captured tensors.
  const auto place = [&](auto& weights, auto& scores) -> AttentionCapture {
    weights.emplace_back();
    scores.emplace_back();
    if (!wanted->keeps(context.layer)) return {};
    return {&weights.back(), wanted->scores ? &scores.back() : nullptr};
  };
  std::int64_t earlier = past.empty() ? spec_.layers.front().self_attention.empty_keys : past.front().size(1);
  for (const std::int64_t length : own_prefixes.lengths()) earlier = std::max(earlier, length);
  const std::int64_t longest = earlier + longest_keys(context.offsets, context.cache);
  const bool looks_ahead = context.visible != nullptr;
  if (distances_) context.distances = distances_(longest, x, looks_ahead);
  if (memory) context.memory_offsets = memory->offsets;
  for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
    if (keep_hidden && i % static_cast<std::size_t>(spec_.quirks.layers_per_state) == 0)
      capture->hidden.push_back(x);
    context.layer = static_cast<std::int64_t>(i);
    if (has_layer_distances())
      context.distances = layer_distances_->ptr<DistancesImpl>(i)->forward(longest, x, looks_ahead);
    if (!past.empty()) context.past = past[i];
    context.before = own_prefixes.of_layer(context.layer);
    if (memory) context.memory = memory->key_values[i];
    if (keep_weights) {
      context.self_capture = place(capture->self_attentions, capture->self_scores);
      if (spec_.layers[i].cross_attention)
        context.cross_capture = place(capture->cross_attentions, capture->cross_scores);
    }
    context.routing =
        capture && wanted->routing && spec_.layers[i].experts ? &capture->routing.emplace_back() : nullptr;
    const Tensor in = x;
    x = run_layer(i, in, context, pass);
    if (i == 0 && convolution_)
      x = without_padding(convolution_(in, x, context.offsets, pass), context.offsets, context.visible.get());
  }
  if (keep_hidden && !spec_.quirks.norm_in_states) capture->hidden.push_back(x);
  x = result_of(x, pass);
  x = dropout(x, spec_.final_dropout.value_or(0), pass);
  if (keep_hidden && spec_.quirks.norm_in_states) capture->hidden.push_back(x);
  return x;
}

Tensor StackImpl::project_kv(std::size_t i, const Tensor& encoded, Pass& pass) {
  const auto module = layer(i);
  const bool learns = recording() && pass.is_training();
  return with_weights(
      module->kv_projection(),
      [module](const std::vector<Tensor>& inputs, Pass& own) { return module->project_kv(inputs[0], own); },
      {learns && layer_weights ? ops::alias(encoded) : encoded}, pass, learns && layer_weights);
}

CrossAttentionKV StackImpl::project_kv(const Tensor& encoded, const Offsets& offsets, Pass& pass) {
  CrossAttentionKV memory;
  memory.offsets = offsets;
  for (std::size_t i = 0; i < spec_.layers.size(); ++i)
    memory.key_values.push_back(project_kv(i, encoded, pass));
  return memory;
}

std::int64_t StackImpl::prefix_length(std::optional<std::int64_t> adapter) const {
  std::int64_t length = 0;
  for (const KeyPrefix& prefix : prefixes)
    if (!adapter || prefix.adapter == *adapter) length += prefix.length();
  return length;
}

void StackImpl::begin(PagedCache& cache, PagedCache::Sequence sequence, std::optional<std::int64_t> adapter) {
  const std::int64_t length = prefix_length(adapter);
  if (length == 0) return;
  const AdapterChoice choice{adapter};
  const PassPrefixes own(prefixes, Offsets({length}), adapter ? &choice : nullptr);
  cache.extend(sequence, length);
  for (std::int64_t i = 0; i < std::ssize(spec_.layers); ++i)
    cache.write(i, {sequence}, Offsets({length}), own.of_layer(i).front());
}

void StackImpl::project_kv(const Tensor& encoded, const Offsets& offsets, PagedCache& cache,
                           const std::vector<PagedCache::Sequence>& sources, Pass& pass) {
  for (std::size_t i = 0; i < spec_.layers.size(); ++i)
    cache.write(static_cast<std::int64_t>(i), sources, offsets, project_kv(i, encoded, pass));
}

}  // namespace attend
