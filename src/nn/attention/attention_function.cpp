#include "nn/attention/attention_function.h"

#include "kernels/int8/int8.h"
#include "nn/attention/decode.h"
#include "nn/attention/plain_sequences.h"
#include "nn/cache/cache.h"
#include "tensor/parallel.h"

#include <algorithm>
#include <numeric>

namespace attend {
namespace {

using Numbers = std::vector<std::int64_t>;

AttentionLayout make_layout(const Offsets& queries, const KeySource& keys, const Sight& sight,
                            const AttentionCall& call) {
  AttentionLayout layout;
  layout.queries = queries;
  const Offsets& offsets = keys.rows.defined() ? keys.offsets : queries;
  const KeyMask* visible = reads_padding(keys, sight, call) ? nullptr : sight.visible;
  layout.all_keys = visible == nullptr;
  std::int64_t cached = 0;
  for (std::int64_t b = 0; b < queries.count(); ++b) {
    const std::int64_t length = keys.cache ? keys.cache->length(keys.sequences[b])
                                : visible  ? visible->count[b]
                                           : offsets.length(b);
    layout.key_begin.push_back(keys.cache ? cached : offsets.begin(b) + (visible ? visible->first[b] : 0));
    layout.key_length.push_back(length);
    cached += length;
  }
  if (call.distance.by_key) layout.places.assign(static_cast<std::size_t>(queries.total()), 0);
  return layout;
}

// Allocates the weights of each sequence; returns the kernel's pointers to them.
std::vector<float*> make_weights(const AttentionLayout& layout, const AttentionCall& call) {
  std::vector<float*> pointers;
  if (!call.weights) return pointers;
  call.weights->clear();
  for (std::int64_t b = 0; b < layout.count(); ++b) {
    call.weights->push_back(ops::empty({call.spec.heads, layout.queries.length(b), layout.key_length[b]}));
    pointers.push_back(call.weights->back().data<float>());
  }
  return pointers;
}

// A kernel call without the pointers to queries, keys and values.
kernels::Attention describe(const AttentionLayout& layout, const AttentionCall& call) {
  const AttentionSpec& spec = call.spec;
  kernels::Attention a;
  a.sequences = layout.count();
  a.heads = spec.heads;
  a.key_heads = spec.heads_of_keys();
  a.head_size = spec.head_size;
  a.query_offsets = layout.queries.offsets().data();
  a.keys.key_begin = layout.key_begin.data();
  a.keys.key_length = layout.key_length.data();
  a.causal = spec.causal;
  a.window = spec.window;
  a.scale = static_cast<float>(spec.scale);
  a.soft_cap = static_cast<float>(spec.soft_cap);
  if (call.sinks.defined()) a.sinks = call.sinks.const_data<float>();
  a.dropout = static_cast<float>(call.dropout);
  a.seed = call.seed;
  if (const DistanceTensors& d = call.distance; d.rows.defined()) {
    const auto point = [](const Tensor& table) {
      return table.defined() ? table.const_data<float>() : nullptr;
    };
    for (const Tensor& table : {d.of_query, d.of_key, d.of_head})
      if (table.defined()) a.distance.count = table.size(-1);
    a.distance.of_segment = point(d.of_segment);
    if (d.segment.defined())
      a.distance.query_segment = a.distance.key_segment = d.segment.const_data<std::int64_t>();
    a.distance.row = d.rows.const_data<std::int32_t>() + d.zero;
    a.distance.of_query = point(d.of_query);
    a.distance.of_key = point(d.of_key);
    a.distance.of_head = point(d.of_head);
    if (d.of_key.defined()) a.distance.key_rows = d.of_key.size(1);
    if (!layout.places.empty()) a.distance.place = layout.places.data();
  }
  if (layout.own) {
    a.causal = false;
    a.window = 0;
    a.penalty = layout.own->penalty.data();
    a.distance.place = layout.own->places.data();
    a.distance.key_segment = layout.own->key_segment.data();
  }
  return a;
}

// `segment`: of all rows (DistanceTensors), for sequences whose keys have no segments of their own.
OwnKeyRows own_rows(std::span<const QueryMask> own, const Offsets& keys, const Tensor& segment) {
  OwnKeyRows rows;
  const auto append = [](auto& all, const Tensor& part) {
    const Tensor numbers = part.contiguous();
    const std::int64_t* const first = numbers.const_data<std::int64_t>();
    all.insert(all.end(), first, first + numbers.numel());
  };
  for (std::int64_t b = 0; b < keys.count(); ++b) {
    const QueryMask& of = own[static_cast<std::size_t>(b)];
    rows.penalties.push_back(of.penalty.contiguous());
    rows.penalty.push_back(rows.penalties.back().const_data<float>());
    append(rows.places, of.places);
    if (segment.defined())
      append(rows.key_segment, of.segments.defined() ? of.segments : keys.part(segment, b));
  }
  return rows;
}

// Whether the kernels support such keys.
bool in_kernels(const QueryMask& own) {
  return !own.backwards && own.penalty.type() == kFloat;
}

Numbers all_sequences(const AttentionLayout& layout) {
  Numbers all(static_cast<std::size_t>(layout.count()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Runs kernel(begin, end, scratch) for all tasks of some sequences; `heads`: the number of tasks of each.
template <class Kernel>
void run_kernel(const kernels::Attention& a, const AttentionLayout& layout, const Numbers& sequences,
                std::int64_t heads, std::int64_t scratch_size, const Kernel& kernel) {
  if (sequences.empty()) return;
  // Keys and values are touched once, which is all the work for a text with one query; in addition,
  // multiply-adds of both products count 1/16 each.
  std::int64_t work = 0;
  for (const std::int64_t b : sequences)
    work += (16 + layout.queries.length(b)) * layout.key_length[b] * a.head_size / 8;
  parallel_ranges(std::ssize(sequences) * heads, work / std::ssize(sequences),
                  [&](std::int64_t begin, std::int64_t end) {
                    const Tensor scratch = ops::empty({scratch_size}, kFloat);
                    while (begin < end) {  // sequence by sequence
                      const std::int64_t i = begin / heads, stop = std::min(end, (i + 1) * heads),
                                         first = sequences[static_cast<std::size_t>(i)] * heads - i * heads;
                      kernel(first + begin, first + stop, scratch.data<float>());
                      begin = stop;
                    }
                  });
}

void run_forward(const kernels::Attention& a, const AttentionLayout& layout, Factors factors) {
  if (factors == Factors::int8) {
    const std::int64_t bytes = kernels::int8_attention_scratch(a);
    return run_kernel(a, layout, all_sequences(layout), a.heads, bytes / 4 + 1,
                      [&](std::int64_t begin, std::int64_t end, float* scratch) {
                        kernels::int8_kernels().attention(a, begin, end,
                                                          reinterpret_cast<std::uint8_t*>(scratch));
                      });
  }
  // While texts are generated, other prompts may be read in the same pass.
  Numbers one_query, others;
  for (std::int64_t b = 0; b < layout.count(); ++b)
    (a.dropout == 0 && layout.queries.length(b) == 1 ? one_query : others).push_back(b);
  decode(a, one_query);
  run_kernel(a, layout, others, a.heads, kernels::kernels().attention_scratch(a),
             [&](std::int64_t begin, std::int64_t end, float* scratch) {
               kernels::kernels().attention_forward(a, begin, end, scratch);
             });
}

void point(kernels::Attention& a, const AttentionViews& views) {
  a.query = views.query.const_data<float>();
  a.query_stride = views.query.stride(0);
  if (!views.key.defined()) return;
  a.keys.key = views.key.const_data<float>();
  a.keys.value = views.value.const_data<float>();
  a.keys.stride = views.key.stride(0);
}

Tensor forward_kernel(const Tensor& first, const KeySource& keys, const AttentionLayout& layout,
                      const AttentionCall& call) {
  const std::int64_t w = call.spec.width();
  const Tensor out = ops::empty({layout.queries.total(), w}, first.type());
  kernels::Attention a = describe(layout, call);
  point(a, AttentionViews(first, keys.rows, call.spec, keys.cache != nullptr));
  std::vector<const std::int32_t*> tables;
  if (keys.cache) {
    for (const std::int64_t sequence : keys.sequences)
      tables.push_back(keys.cache->page_table(sequence).data());
    keys.cache->pages().describe(keys.layer, a.keys);
    a.keys.page_table = tables.data();
  }
  a.out = out.data<float>();
  a.out_stride = w;
  const std::vector<float*> weights = make_weights(layout, call);
  a.probabilities = call.weights ? weights.data() : nullptr;
  a.bfloat16 = call.factors == Factors::bfloat16;
  run_forward(a, layout, call.factors);
  return out;
}

// The gradients of `first`, of the keys' rows, of the tables of call.distance and of the sinks.
std::vector<Tensor> backward_kernel(const Tensor& first, const Tensor& key_value,
                                    const AttentionLayout& layout, const AttentionCall& call,
                                    const Tensor& dout) {
  // If every row belongs to a sequence, the kernel writes every element.
  const Tensor dfirst = layout.all_keys ? ops::empty_like(first) : ops::zeros_like(first);
  const Tensor dkey_value = key_value.defined() ? ops::empty_like(key_value) : Tensor();

  kernels::Attention a = describe(layout, call);
  point(a, AttentionViews(first, key_value, call.spec));
  const AttentionViews d(dfirst, dkey_value, call.spec);
  kernels::AttentionGradient g;
  g.out_gradient = dout.const_data<float>();
  g.out_gradient_stride = dout.size(1);
  g.query_gradient = d.query.data<float>();
  g.query_gradient_stride = d.query.stride(0);
  g.key_gradient = d.key.data<float>();
  g.value_gradient = d.value.data<float>();
  g.key_gradient_stride = d.key.stride(0);
  // Sums start at zero, because several sequences may use a row, or none.
  const auto zeros = [](const Tensor& table) { return table.defined() ? ops::zeros_like(table) : Tensor(); };
  const auto point = [](const Tensor& table) { return table.defined() ? table.data<float>() : nullptr; };
  const DistanceTensors& distance = call.distance;
  const Tensor dof_query = zeros(distance.of_query), dof_key = zeros(distance.of_key),
               dof_segment = zeros(distance.of_segment);
  const Tensor dof_head =
      needs_gradient(distance.of_head)
          ? ops::zeros({layout.count(), call.spec.heads, distance.of_head.size(1)}, first.type())
          : Tensor();
  g.of_query = point(dof_query);
  g.of_key = point(dof_key);
  g.of_segment = point(dof_segment);
  g.of_head = point(dof_head);
  const Tensor dsinks =
      call.sinks.defined() ? ops::empty({layout.count(), call.spec.heads}, first.type()) : Tensor();
  g.sinks = point(dsinks);
  run_kernel(a, layout, all_sequences(layout), a.key_heads, kernels::kernels().attention_scratch(a),
             [&](std::int64_t begin, std::int64_t end, float* scratch) {
               kernels::kernels().attention_backward(a, g, begin, end, scratch);
             });
  const auto sum = [](const Tensor& parts) { return parts.defined() ? parts.sum(0) : parts; };
  return {dfirst, dkey_value, dof_query, dof_key, sum(dof_head), dof_segment, sum(dsinks)};
}

Tensor learned_attention(const Tensor& first, const Tensor& key_value, const AttentionLayout& layout,
                         const AttentionCall& call) {
  const DistanceTensors& d = call.distance;
  const auto compute = [&] { return forward_kernel(first, {.rows = key_value}, layout, call); };
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return
        [first = ops::Saved(first), key_value = ops::Saved(key_value), layout, call](const Tensor& gradient) {
          return backward_kernel(first(), key_value(), layout, call, gradient.contiguous());
        };
  };
  return ops::with_rule(compute, rule, first, key_value, d.of_query, d.of_key, d.of_head, d.of_segment,
                        call.sinks);
}

bool computes_in_kernels(const Tensor& first, const KeySource& keys, const Sight& sight,
                         const AttentionCall& call) {
  // Captured scores with gradients are for differentiation, but the kernels compute their scores outside of
  // tensors.
  if (!on_kernels(first) || (call.scores && recording())) return false;
  if (reads_padding(keys, sight, call)) return false;
  return sight.own.empty() ||
         (keys.cache == nullptr && call.scores == nullptr && std::ranges::all_of(sight.own, in_kernels));
}

Factors factors_of(const AttentionCall& call, const KeySource& keys, const Sight& sight,
                   bool differentiates) {
  if (differentiates || call.dropout > 0) return Factors::float32;
  if (keys.cache != nullptr)
    return keys.cache->pages().format() == CacheFormat::bfloat16 ? Factors::bfloat16 : Factors::float32;
  const bool in_int8 = call.factors == Factors::int8;
  return in_int8 && !sight.own.empty() ? Factors::float32 : call.factors;  // integers have no penalties
}

}  // namespace

Tensor attention(const Tensor& first, const Offsets& queries, const KeySource& keys, const Sight& sight,
                 const AttentionCall& call) {
  AttentionLayout layout = make_layout(queries, keys, sight, call);
  const PlainSequences plain(first, layout, keys, sight, call);
  if (!computes_in_kernels(first, keys, sight, call)) return plain.attend();
  if (call.scores) plain.capture_all();
  if (!sight.own.empty())
    layout.own = std::make_shared<const OwnKeyRows>(own_rows(sight.own, keys.offsets, call.distance.segment));
  const bool differentiates = recording() && keys.cache == nullptr;
  AttentionCall own = call;
  own.factors = factors_of(call, keys, sight, differentiates);
  if (!differentiates) return forward_kernel(first, keys, layout, own);
  return learned_attention(first, keys.rows, layout, own);
}

}  // namespace attend
