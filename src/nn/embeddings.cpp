#include "nn/embeddings.h"

#include "nn/dropout.h"

#include <cmath>

namespace attend {
namespace {

// Every value in [0, count)? `what` and `hint` complete the message.
void check_range(const Tensor& values, std::int64_t count, const char* what, const char* hint) {
  const Tensor host = values.cpu().contiguous();
  for (const std::int64_t *v = host.const_data_ptr<std::int64_t>(), *end = v + host.numel(); v != end; ++v)
    if (*v < 0 || *v >= count) fail("{} {} is outside the model's 0 to {}{}", what, *v, count - 1, hint);
}

}  // namespace

Tensor sinusoidal_positions(std::int64_t count, std::int64_t width) {
  Tensor table = at::empty({count, width});
  auto rows = table.accessor<float, 2>();
  const std::int64_t sines = (width + 1) / 2;
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t j = 0; j < width; ++j) {
      const double angle = p / std::pow(10000.0, 2.0 * (j / 2) / width);
      if (j % 2 == 0)
        rows[p][j / 2] = static_cast<float>(std::sin(angle));
      else
        rows[p][sines + j / 2] = static_cast<float>(std::cos(angle));
    }
  return table;
}

EmbeddingsImpl::EmbeddingsImpl(const EmbeddingSpec& spec, const Tensor& shared) : spec_(spec) {
  tokens = shared.defined() ? shared : register_parameter("tokens", at::empty({spec.vocabulary, spec.width}));
  if (const auto* learned = std::get_if<LearnedPositions>(&spec.positions))
    positions = register_parameter("positions", at::empty({learned->count + learned->offset, spec.width}));
  else if (const auto* fixed = std::get_if<SinusoidalPositions>(&spec.positions))
    positions = sinusoidal_positions(fixed->count, spec.width);
  if (spec.types > 0) types = register_parameter("types", at::empty({spec.types, spec.width}));
  if (spec.norm) norm_ = register_module("norm", LayerNorm(spec.width, *spec.norm));
}

std::int64_t EmbeddingsImpl::max_positions() const {
  if (const auto* learned = std::get_if<LearnedPositions>(&spec_.positions)) return learned->count;
  if (const auto* fixed = std::get_if<SinusoidalPositions>(&spec_.positions)) return fixed->count;
  return std::numeric_limits<std::int64_t>::max();
}

Tensor EmbeddingsImpl::forward(const TokenBatch& batch, Pass& pass) {
  check_range(batch.ids, spec_.vocabulary, "token id", "; is this the model's own tokenizer?");
  Tensor x = at::embedding(tokens, batch.ids, spec_.padding_id);
  if (spec_.scale != 1) x = x * spec_.scale;
  if (types.defined()) {
    if (batch.types.defined()) {
      check_range(batch.types, spec_.types, "token type", "");
      x = x + at::embedding(types, batch.types);
    } else {
      x = x + types[0];
    }
  }
  if (positions.defined()) {
    check_range(batch.positions, max_positions(), "position", "; the text is longer than the model can read");
    const auto* learned = std::get_if<LearnedPositions>(&spec_.positions);
    const std::int64_t offset = learned ? learned->offset : 0;
    // The fixed table is a buffer of the CPU in float32 until a pass wants it elsewhere.
    if (!learned && (positions.device() != x.device() || positions.scalar_type() != x.scalar_type()))
      positions = positions.to(x.options());
    x = x + at::embedding(positions, offset == 0 ? batch.positions : batch.positions + offset);
  }
  if (norm_) x = norm_(x);
  return dropout(x, spec_.dropout, pass);
}

}  // namespace attend
