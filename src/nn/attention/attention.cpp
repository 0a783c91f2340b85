#include "nn/attention/attention.h"

#include "nn/attention/block_sparse.h"
#include "nn/attention/head_products.h"
#include "nn/attention/plain_attention.h"

namespace attend {
namespace {

AttentionCall make_call(const AttentionSpec& spec, Pass& pass, const AttentionCapture& capture) {
  AttentionCall call{spec, pass.rate(spec.dropout), 0, capture.weights, {}, capture.scores, {}};
  if (call.dropout > 0) call.seed = pass.next_seed();
  return call;
}

// If the inputs of the products before are rounded, the factors of both attention products are, too: to 8
// bits like them where a text is read in one step, else as an automatic cache stores them.
Factors factors_after(const Linear& linear, const AttentionSpec& spec) {
  const PackedMatrix* matrix = linear->packed();
  if (matrix == nullptr || !attends_in_bfloat16(matrix->format())) return Factors::float32;
  return spec.causal || matrix->format() == WeightFormat::bfloat16 ? Factors::bfloat16 : Factors::int8;
}

// The keys and values of each sequence, with `earlier` ([B] of [M, 2 kw]) before them. Includes only those
// that may be seen, unless padding after a prefix is computed.
KeySource with_earlier(const std::vector<Tensor>& earlier, const Tensor& packed, const AttentionRows& rows,
                       const AttentionSpec& spec) {
  // All rows are taken at once: taking each text's part separately would cost its gradient a pass over all
  // rows.
  const Tensor key_value = packed.narrow(1, spec.width(), 2 * spec.key_width());
  const KeyMask* visible = rows.before.empty() ? rows.visible : nullptr;
  std::vector<Tensor> sources = earlier;
  sources.push_back(key_value);
  std::int64_t front = 0, own = 0;  // where the sequence's own begin
  for (const Tensor& rows_before : earlier) own += rows_before.size(0);
  std::vector<std::int64_t> taken, lengths;
  const auto take = [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) taken.push_back(first + i);
  };
  for (std::int64_t b = 0; b < rows.offsets.count(); ++b) {
    const std::int64_t before = earlier[static_cast<std::size_t>(b)].size(0);
    const std::int64_t first = visible ? visible->first[b] : 0,
                       count = visible ? visible->count[b] : rows.offsets.length(b);
    take(front, before);
    take(own + rows.offsets.begin(b) + first, count);
    front += before;
    lengths.push_back(before + count);
  }
  return {.rows = (own == 0 ? key_value : ops::cat(sources)).index_select(0, ops::tensor(taken, kLong)),
          .offsets = Offsets(lengths)};
}

// Whether some sequence reads several tokens and has read none before.
bool reads_prompt(const Offsets& offsets, const CacheUse& use) {
  for (std::int64_t b = 0; b < offsets.count(); ++b)
    if (offsets.length(b) > 1 &&
        offsets.length(b) == use.cache->length(use.sequences[static_cast<std::size_t>(b)]))
      return true;
  return false;
}

// What queries see in a cache if heads have vectors for distances, as in transformers' BERT: distances of a
// whole prompt are counted from its last token.
std::vector<QueryMask> from_last_token(const AttentionSpec& spec, const Offsets& offsets,
                                       const KeySource& keys, ScalarType type) {
  std::vector<QueryMask> all;
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    const std::int64_t length = keys.cache->length(keys.sequences[static_cast<std::size_t>(b)]);
    all.push_back(default_query_mask(spec, offsets.length(b), length, type));
    if (offsets.length(b) == length) all.back().places.fill_(length - 1);
  }
  return all;
}

// All keys that a cache holds for its sequences, one after another: [Tk, kw].
Tensor gathered_keys(const KeySource& keys) {
  std::vector<Tensor> all;
  for (const std::int64_t sequence : keys.sequences)
    all.push_back(keys.cache->gather(sequence, keys.layer).first);
  return ops::cat(all);
}

}  // namespace

SelfAttentionImpl::SelfAttentionImpl(std::int64_t width, const AttentionSpec& spec) : spec_(spec) {
  const std::int64_t inner = spec.width(), keys = spec.key_width();
  query_key_value_ =
      register_module("query_key_value", Linear(width, inner + 2 * keys, spec.input_bias && spec.key_bias));
  if (spec.input_bias && !spec.key_bias) {
    query_bias_ = register_parameter("query_bias", ops::zeros({inner}));
    value_bias_ = register_parameter("value_bias", ops::zeros({keys}));
  }
  if (spec.query_key_norm) {
    query_norm_ = register_module("query_norm", HeadNorm(spec.heads, spec.head_size, *spec.query_key_norm));
    key_norm_ =
        register_module("key_norm", HeadNorm(spec.heads_of_keys(), spec.head_size, *spec.query_key_norm));
  }
  if (spec.sinks) sinks_ = register_parameter("sinks", ops::zeros({spec.heads}));
  output_ = register_module("output", Linear(inner, width, spec.output_bias));
  if (!spec.distance) return;
  const DistanceTerms& terms = *spec.distance;
  if (terms.own_vectors > 0)
    distance_vectors_ =
        register_parameter("distance_vectors", ops::empty({terms.own_vectors, spec.head_size}));
  const bool matrices = terms.own_matrices && terms.own_vectors == 0;
  if (matrices && terms.with_query)
    distance_key_ = register_module("distance_key", Linear(width, inner, terms.key_bias));
  if (matrices && terms.with_key)
    distance_query_ = register_module("distance_query", Linear(width, inner, terms.query_bias));
  if (terms.biases) {
    content_bias_ = register_parameter("content_bias", ops::zeros({inner}));
    distance_bias_ = register_parameter("distance_bias", ops::zeros({inner}));
  }
  if (terms.segments) {
    segment_bias_ = register_parameter("segment_bias", ops::zeros({inner}));
    segments_ = register_parameter("segments", ops::empty({2, inner}));
  }
}

Tensor SelfAttentionImpl::project(const Tensor& x, std::int64_t first, std::int64_t count, Pass& pass) {
  const auto end = [&](std::int64_t part) {
    return part == 0 ? 0 : spec_.width() + (part - 1) * spec_.key_width();
  };
  return query_key_value_->part(x, end(first), end(first + count) - end(first), pass);
}

// Keys and values before those of each sequence: [B] of [M, 2 kw]; empty: none.
std::vector<Tensor> SelfAttentionImpl::earlier_keys(const AttentionRows& rows, const Tensor& packed,
                                                    Pass& pass) {
  const std::int64_t B = rows.offsets.count(), kw = spec_.key_width();
  if (!rows.before.empty()) return {rows.before.begin(), rows.before.end()};
  if (rows.past.defined())
    return project(rows.past.flatten(0, 1), 1, 2, pass).view({B, rows.past.size(1), 2 * kw}).unbind();
  if (spec_.empty_keys > 0 || (rows.visible && !rows.visible->own.empty()))
    return std::vector<Tensor>(static_cast<std::size_t>(B),
                               ops::zeros({spec_.empty_keys, 2 * kw}, packed.type()));
  return {};
}

DistanceTensors SelfAttentionImpl::distances(const Tensor& packed, const AttentionRows& rows, Pass& pass) {
  const DistanceTable& table = *rows.distances;
  DistanceTensors d{table.rows, table.zero, {}, {}, table.of_head, {}, {}, table.by_key};
  if (!spec_.distance) return d;
  const std::int64_t w = spec_.heads * spec_.head_size;
  if (distance_vectors_.defined()) {
    const Tensor shared =
        distance_vectors_.narrow(0, table.first, table.count).repeat({1, spec_.heads});  // [R, w]
    const double scale = spec_.distance->scaled ? spec_.scale : 1;
    if (spec_.distance->with_query)
      d.of_query = head_products(packed.narrow(1, 0, w) * scale, shared, spec_.heads);
    if (spec_.distance->with_key)
      d.of_key = head_products(packed.narrow(1, w, w) * scale, shared, spec_.heads);
    return d;
  }
  const Tensor vectors = dropout(table.vectors, spec_.distance->dropout, pass);  // [R, d]
  if (spec_.distance->with_query) {
    Tensor query = packed.narrow(1, 0, w);
    const Tensor& bias = table.distance_bias.defined() ? table.distance_bias : distance_bias_;
    if (bias.defined()) query = query + bias;
    d.of_query = head_products(query * spec_.scale,
                               distance_key_ ? distance_key_(vectors, pass) : project(vectors, 1, 1, pass),
                               spec_.heads);
  }
  if (spec_.distance->with_key)
    d.of_key = head_products(packed.narrow(1, w, w) * spec_.scale,
                             distance_query_ ? distance_query_(vectors, pass) : project(vectors, 0, 1, pass),
                             spec_.heads);
  if (spec_.distance->segments && rows.types.defined()) {
    d.of_segment =
        head_products((packed.narrow(1, 0, w) + segment_bias_) * spec_.scale, segments_, spec_.heads);
    d.segment = rows.types;
  }
  return d;
}

Tensor SelfAttentionImpl::queries_keys_values(const Tensor& x, const AttentionRows& rows, Pass& pass) {
  Tensor packed;
  if (query_bias_.defined())
    packed = query_key_value_->with_bias(
        x, ops::cat({query_bias_, ops::zeros_like(value_bias_), value_bias_}), pass);
  else
    packed = query_key_value_(x, pass);
  const std::int64_t w = spec_.width(), kw = spec_.key_width();
  if (query_norm_)
    packed = ops::cat({query_norm_(packed.narrow(1, 0, w)), key_norm_(packed.narrow(1, w, kw)),
                       packed.narrow(1, w + kw, kw)},
                      1);
  if (spec_.clip > 0) packed = packed.clamp(-spec_.clip, spec_.clip);
  if (spec_.rotary)
    packed = rotate(packed, rows.rotaries->at(*spec_.rotary), spec_.heads + spec_.heads_of_keys(),
                    spec_.head_size);
  return packed;
}

Tensor SelfAttentionImpl::attend(const Tensor& packed, const AttentionRows& rows, const AttentionCall& call,
                                 Pass& pass, const CacheUse* cache, std::int64_t layer) {
  const std::int64_t w = spec_.width();
  if (const std::vector<Tensor> earlier = earlier_keys(rows, packed, pass); !earlier.empty()) {
    Sight sight;
    if (rows.visible && !rows.before.empty())
      sight.visible = rows.visible;
    else if (rows.visible)
      sight.own = rows.visible->own;
    return attention(packed.narrow(1, 0, w).contiguous(), rows.offsets,
                     with_earlier(earlier, packed, rows, spec_), sight, call);
  }
  if (cache == nullptr && spec_.blocks && rows.visible == nullptr) {
    const auto drawn = pass.is_training() ? std::optional(layer) : std::nullopt;
    return block_sparse_attention(packed, rows.offsets, *spec_.blocks, call, drawn);
  }
  if (cache == nullptr) return attention(packed, rows.offsets, {}, {.visible = rows.visible}, call);
  cache->cache->write(layer, cache->sequences, rows.offsets, packed.narrow(1, w, 2 * spec_.key_width()));
  const KeySource keys{.cache = cache->cache, .sequences = cache->sequences, .layer = layer};
  if (!distance_vectors_.defined() || !(call.distance.of_key.defined() || reads_prompt(rows.offsets, *cache)))
    return attention(packed, rows.offsets, keys, {}, call);
  // If keys are also multiplied with distances, these terms are computed again for all keys in the cache.
  AttentionCall by_distance = call;
  const DistanceTable& table = *rows.distances;
  if (spec_.distance->with_key)
    by_distance.distance.of_key = head_products(
        gathered_keys(keys) * (spec_.distance->scaled ? spec_.scale : 1),
        distance_vectors_.narrow(0, table.first, table.count).repeat({1, spec_.heads}), spec_.heads);
  const std::vector<QueryMask> own = from_last_token(spec_, rows.offsets, keys, packed.type());
  return attention(packed, rows.offsets, keys, {.own = own}, by_distance);
}

Tensor SelfAttentionImpl::forward(const Tensor& x, const AttentionRows& rows, const Residual& residual,
                                  Pass& pass, const CacheUse* cache, std::int64_t layer,
                                  const AttentionCapture& capture) {
  Tensor packed = queries_keys_values(x, rows, pass);  // [T, w + 2 kw]
  const std::int64_t w = spec_.width(), kw = spec_.key_width();
  if (rows.visible && rows.visible->no_query.defined())
    packed = ops::cat({packed.narrow(1, 0, w).masked_fill(rows.visible->no_query.unsqueeze(1), 0),
                       packed.narrow(1, w, 2 * kw)},
                      1);
  AttentionCall call = make_call(spec_, pass, capture);
  call.factors = factors_after(query_key_value_, spec_);
  call.sinks = sinks_;
  if (rows.distances) call.distance = distances(packed, rows, pass);
  const bool shared = rows.distances && rows.distances->content_bias.defined();
  if (const Tensor& bias = shared ? rows.distances->content_bias : content_bias_; bias.defined())
    packed = ops::cat({packed.narrow(1, 0, w) + bias, packed.narrow(1, w, 2 * kw)}, 1);
  return project_add(output_, attend(packed, rows, call, pass, cache, layer), residual, pass);
}

CrossAttentionImpl::CrossAttentionImpl(std::int64_t width, const AttentionSpec& spec) : spec_(spec) {
  const std::int64_t inner = spec.width();
  query_ = register_module("query", Linear(width, inner, spec.input_bias));
  key_value_ = register_module("key_value", Linear(width, 2 * spec.key_width(), spec.input_bias));
  output_ = register_module("output", Linear(inner, width, spec.output_bias));
}

Tensor CrossAttentionImpl::forward(const Tensor& x, const Offsets& offsets, const Tensor& key_value,
                                   const Offsets& key_offsets, const Residual& residual, Pass& pass,
                                   const AttentionCapture& capture) {
  const Tensor mixed = attention(query_(x, pass), offsets, {.rows = key_value, .offsets = key_offsets}, {},
                                 make_call(spec_, pass, capture));
  return project_add(output_, mixed, residual, pass);
}

Tensor CrossAttentionImpl::forward(const Tensor& x, const Offsets& offsets, const CacheUse& cache,
                                   std::int64_t layer, const Residual& residual, Pass& pass,
                                   const AttentionCapture& capture) {
  const KeySource keys{.cache = cache.cache, .sequences = cache.sources, .layer = layer};
  const Tensor mixed = attention(query_(x, pass), offsets, keys, {}, make_call(spec_, pass, capture));
  return project_add(output_, mixed, residual, pass);
}

}  // namespace attend
