#include "nn/attention/rotary.h"

#include "kernels/kernels.h"
#include "nn/spec/rotary_frequencies.h"
#include "tensor/parallel.h"

#include <cmath>

namespace attend {
namespace {

// The frequencies for a text whose positions end before `length`.
std::vector<float> frequencies_of(const RotarySpec& spec, std::int64_t length) {
  if (!spec.long_frequencies.empty() && length > spec.short_length) return spec.long_frequencies;
  if (!spec.growing || length <= spec.growing->positions) return spec.frequencies;
  const auto& [base, factor, positions] = *spec.growing;
  const double n = static_cast<double>(spec.size),
               grown = factor * static_cast<double>(length) / static_cast<double>(positions) - (factor - 1);
  return rotary_frequencies(base * std::pow(grown, n / (n - 2)), spec.size);
}

bool depends_on_length(const RotarySpec& spec) {
  return spec.growing || !spec.long_frequencies.empty();
}

// [T, pairs]
Tensor angles_of(const RotarySpec& spec, const Tensor& positions, const Offsets& offsets, ScalarType type) {
  if (spec.frequencies.empty()) {
    const Tensor exponents = ops::arange(0, spec.size, 2, type) / spec.size;
    return positions.to(type).unsqueeze(1) / ops::pow(10000.0, exponents);
  }
  const auto times = [&](const Tensor& places, const std::vector<float>& frequencies) {
    return places.to(kFloat).unsqueeze(1) * ops::tensor(frequencies, kFloat).unsqueeze(0);
  };
  if (!depends_on_length(spec)) return times(positions, spec.frequencies);
  std::vector<Tensor> parts;
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    const Tensor own = offsets.part(positions, b);
    const std::int64_t length = own.numel() == 0 ? 0 : own.max().item<std::int64_t>() + 1;
    parts.push_back(times(own, frequencies_of(spec, length)));
  }
  return ops::cat(parts);
}

}  // namespace

RotaryTables rotary_tables(std::span<const RotarySpec> specs, const Tensor& positions, const Offsets& offsets,
                           ScalarType type) {
  RotaryTables tables;
  for (const RotarySpec& spec : specs) {
    const Tensor angles = angles_of(spec, positions, offsets, type);
    Tensor cosine = ops::cos(angles), sine = ops::sin(angles);
    if (spec.factor != 1) {
      cosine = cosine * spec.factor;
      sine = sine * spec.factor;
    }
    tables.push_back({cosine.to(type), sine.to(type), spec.halves});
  }
  return tables;
}

Tensor rotate(const Tensor& rows, const RotaryTable& table, std::int64_t heads, std::int64_t head_size) {
  const std::int64_t T = rows.size(0), pairs = table.cosine.size(1), size = 2 * pairs;
  if (on_kernels(rows) && !recording()) {
    const kernels::Rotation rotation{.heads = heads,
                                     .head_size = head_size,
                                     .row = rows.stride(0),
                                     .pairs = pairs,
                                     .halves = table.halves,
                                     .cosine = table.cosine.const_data<float>(),
                                     .sine = table.sine.const_data<float>()};
    parallel_ranges(T, heads * size, [&](std::int64_t begin, std::int64_t end) {
      kernels::kernels().rotate(rotation, rows.data<float>(), begin, end);
    });
    return rows;
  }
  const Tensor sine = table.sine.unsqueeze(1), cosine = table.cosine.unsqueeze(1);
  const Tensor all = rows.narrow(1, 0, heads * head_size).reshape({T, heads, head_size}),
               first = all.narrow(2, 0, size);
  Tensor turned;  // [T, heads, size]
  if (table.halves) {
    const Tensor x = first.narrow(2, 0, pairs), y = first.narrow(2, pairs, pairs);
    turned = ops::cat({x * cosine - y * sine, y * cosine + x * sine}, 2);
  } else {
    const Tensor both = first.reshape({T, heads, pairs, 2}), x = both.select(3, 0), y = both.select(3, 1);
    turned = ops::stack({x * cosine - y * sine, y * cosine + x * sine}, 3).flatten(2);
  }
  const Tensor rest = all.narrow(2, size, head_size - size);
  const std::int64_t w = heads * head_size;
  return ops::cat({ops::cat({turned, rest}, 2).reshape({T, w}), rows.narrow(1, w, rows.size(1) - w)}, 1);
}

}  // namespace attend
