#include "nn/attention/distances.h"

#include <bit>
#include <cmath>

namespace attend {
namespace {

constexpr const char* kFrequencies = "frequencies";

Tensor usual_frequencies(std::int64_t width) {
  return 1 / ops::pow(10000.0, ops::arange(0, width, 2, kFloat) / static_cast<double>(width));
}

// Row r: sines, then cosines, of the distance first - r. [count, width]
Tensor sinusoids(const SinusoidalDistances& spec, const Tensor& frequencies, std::int64_t first,
                 std::int64_t count, const Tensor& like) {
  Tensor distance = first - ops::arange(count, kFloat);
  if (spec.clamp > 0) distance = distance.clamp(-spec.clamp, spec.clamp);
  const Tensor angles = distance.unsqueeze(1) * frequencies.to(kFloat);  // [count, width / 2]
  return ops::cat({ops::sin(angles), ops::cos(angles)}, 1).to(like.type());
}

// 2^(-8 h / n) for heads h = 1 to n if n is a power of two; else the slopes for the power below, and then
// every second one for the power above.
std::vector<double> slopes(std::int64_t heads) {
  const auto powers = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  std::vector<double> all;
  for (std::int64_t h = 1; h <= powers; ++h)
    all.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(powers)));
  for (std::int64_t h = 1; std::ssize(all) < heads; h += 2)
    all.push_back(std::exp2(-4.0 * static_cast<double>(h) / static_cast<double>(powers)));
  return all;
}

// What each head adds at positions 0, 1, ... count - 1: [heads, count].
Tensor linear_biases(const LinearDistances& spec, std::int64_t heads, std::int64_t count, double sign,
                     const Tensor& like) {
  Tensor slope = ops::tensor(slopes(heads), kDouble).to(kFloat).unsqueeze(1),
         place = ops::arange(count, kFloat);
  if (!spec.in_bfloat16) return (slope * place * (sign * spec.factor)).to(like.type());
  const auto rounded = [](const Tensor& t) { return t.to(kBFloat16).to(kFloat); };
  return (rounded(rounded(slope) * rounded(place)) * (sign * spec.factor)).to(like.type());
}

}  // namespace

// Logarithms in float32, as in the originals, because distances at the border of two buckets depend on it.
Tensor rows_of(const BucketedBias& spec, const Tensor& key_minus_query, bool causal) {
  const std::int64_t buckets = causal ? spec.buckets : spec.buckets / 2, exact = buckets / 2;
  const Tensor distance = causal ? key_minus_query.neg().clamp_min(0) : key_minus_query.abs();
  const double width = std::log(static_cast<double>(spec.max_distance) / static_cast<double>(exact));
  // Of distances below `exact`, whose logarithm may be -inf, the result is not used.
  const Tensor large = distance.clamp_min(exact).to(kFloat);
  const Tensor far = (ops::log(large / exact) / width * (buckets - exact)).to(kLong) + exact;
  const Tensor row = ops::where(distance < exact, distance, far.clamp_max(buckets - 1));
  return causal ? row : row + key_minus_query.gt(0).to(kLong) * buckets;
}

Tensor rows_of(const LearnedDistances& spec, const Tensor& key_minus_query) {
  Tensor distance = key_minus_query.neg();
  if (spec.max_distance > 0) {
    const std::int64_t half = spec.span / 2;
    const Tensor far = distance.abs().clamp_min(half).to(kFloat);
    const Tensor width =
        ops::log(ops::scalar_tensor((spec.max_distance - 1) / static_cast<double>(half), kFloat));
    const Tensor bucket = ops::ceil(ops::log(far / half) / width * (half - 1)).to(kLong) + half;
    distance = ops::where(distance.abs() <= half, distance, bucket * distance.sign());
  }
  return (distance + spec.span).clamp(0, 2 * spec.span - 1);
}

Tensor rows_of(const HeadDistances& spec, const Tensor& key_minus_query) {
  return key_minus_query.neg() + (spec.count - 1);
}

DistancesImpl::DistancesImpl(const DistanceSpec& spec, std::int64_t width, const AttentionSpec& attention)
    : spec_(spec), width_(width), heads_(attention.heads), causal_(attention.causal) {
  if (const auto* bias = std::get_if<BucketedBias>(&spec))
    table_ = register_parameter("table",
                                ops::empty({bias->rows > 0 ? bias->rows : bias->buckets, attention.heads}));
  const auto* fixed = std::get_if<SinusoidalDistances>(&spec);
  // Causal models (Transformer-XL) store the frequencies as a buffer.
  if (fixed && causal_) register_parameter(kFrequencies, usual_frequencies(width), /*learns=*/false);
  if (fixed && fixed->biases) {
    const std::int64_t w = attention.heads * attention.head_size;
    content_bias_ = register_parameter("content_bias", ops::zeros({w}));
    distance_bias_ = register_parameter("distance_bias", ops::zeros({w}));
  }
  if (const auto* learned = std::get_if<LearnedDistances>(&spec)) {
    table_ = register_parameter("table", ops::empty({2 * learned->span, width}));
    if (learned->norm) norm_ = register_module("norm", LayerNorm(width, *learned->norm));
  }
}

DistanceTable DistancesImpl::forward(std::int64_t longest, const Tensor& like, bool looks_ahead) {
  DistanceTable table;
  table.zero = longest - 1;
  const std::int64_t ahead =
      causal_ && !looks_ahead ? 0 : longest - 1;  // how far after its query a key may be
  const bool by_key = causal_ && std::holds_alternative<LinearDistances>(spec_);
  // Keys that causal attention does not see get an arbitrary row.
  const Tensor key_minus_query =
      ops::arange(1 - longest, longest, kLong).clamp_max(by_key ? longest - 1 : ahead);
  Tensor rows;
  if (const auto* bias = std::get_if<BucketedBias>(&spec_)) {
    rows = rows_of(*bias, key_minus_query, causal_);
    if (const auto row = rows.max().item<std::int64_t>(); row >= table_.size(0))
      fail("a text of {} tokens needs {} buckets of distances, and the model has {}", longest, row + 1,
           table_.size(0));
    table.of_head = table_.t().contiguous();
  }
  if (const auto* fixed = std::get_if<SinusoidalDistances>(&spec_)) {
    rows = key_minus_query + (longest - 1);  // from the farthest key before to the farthest after
    const auto own = named_parameters(/*recurse=*/false);
    const Tensor* stored = own.find(kFrequencies);
    table.vectors =
        sinusoids(*fixed, stored ? *stored : usual_frequencies(width_), longest - 1, longest + ahead, like);
  }
  if (const auto* learned = std::get_if<LearnedDistances>(&spec_)) {
    // Only the rows that can occur, so that short texts are fast.
    rows = rows_of(*learned, key_minus_query);
    const auto first = rows.min().item<std::int64_t>(), last = rows.max().item<std::int64_t>();
    rows = rows - first;
    table.vectors = (norm_ ? norm_(table_) : table_).narrow(0, first, last - first + 1);
  }
  if (const auto* of_heads = std::get_if<HeadDistances>(&spec_)) {
    if (longest > of_heads->count)
      fail("a text of {} tokens is longer than the model can read, {}", longest, of_heads->count);
    rows = rows_of(*of_heads, key_minus_query);
    table.first = rows.min().item<std::int64_t>();
    table.count = rows.max().item<std::int64_t>() - table.first + 1;
    rows = rows - table.first;
  }
  if (const auto* linear = std::get_if<LinearDistances>(&spec_)) {
    table.by_key = by_key;
    rows = causal_ ? key_minus_query.clamp_min(0) : key_minus_query.abs();
    table.of_head = linear_biases(*linear, heads_, longest, causal_ ? 1 : -1, like);
  }
  table.content_bias = content_bias_;
  table.distance_bias = distance_bias_;
  table.rows = rows.to(kInt);
  return table;
}

}  // namespace attend
