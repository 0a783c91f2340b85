#include "nn/layers/embeddings.h"

#include "nn/pass/dropout.h"

#include <cmath>

namespace attend {
namespace {

// Checks that every value is in [0, count). `what` and `hint` complete the message.
void check_range(std::span<const std::int64_t> values, std::int64_t count, const char* what,
                 const char* hint) {
  for (const std::int64_t value : values)
    if (value < 0 || value >= count)
      fail("{} {} is outside the model's 0 to {}{}", what, value, count - 1, hint);
}
void check_range(const Tensor& values, std::int64_t count, const char* what, const char* hint) {
  const Tensor host = values.contiguous();
  check_range({host.const_data<std::int64_t>(), static_cast<std::size_t>(host.numel())}, count, what, hint);
}

constexpr const char* kTooLong = "; the text is longer than the model can read";
// Limits a growing table: an id may be any number, but memory is finite.
constexpr std::int64_t kMaxRows = 1 << 20;

// How positions are mapped to rows of a table.
struct Numbering {
  std::int64_t offset = 0, skipped_id = -1;
};
Numbering numbering(const PositionSpec& positions) {
  if (const auto* learned = std::get_if<LearnedPositions>(&positions))
    return {learned->offset, learned->skipped_id};
  if (const auto* fixed = std::get_if<SinusoidalPositions>(&positions))
    return {fixed->offset, fixed->skipped_id};
  return {};
}

}  // namespace

Tensor sinusoidal_positions(const SinusoidalPositions& spec, std::int64_t width) {
  const std::int64_t count = spec.count + spec.offset;
  Tensor table = ops::zeros({count, width});
  auto rows = table.accessor<float, 2>();
  // An odd width has one more sine than cosines, or, in M2M-100, a last column of zeros.
  const std::int64_t sines = spec.ends_included ? width / 2 : (width + 1) / 2;
  const std::int64_t columns = spec.ends_included ? 2 * sines : width;
  const double steps =
      spec.ends_included ? static_cast<double>(width / 2 - 1) : static_cast<double>(width) / 2;
  for (std::int64_t p = 0; p < count; ++p) {
    if (spec.skipped_id >= 0 && p == spec.offset - 1) continue;
    for (std::int64_t j = 0; j < columns; ++j) {
      const double angle = p / std::pow(10000.0, static_cast<double>(j / 2) / steps);
      if (j % 2 == 0)
        rows[p][j / 2] = static_cast<float>(std::sin(angle));
      else
        rows[p][sines + j / 2] = static_cast<float>(std::cos(angle));
    }
  }
  return table;
}

EmbeddingsImpl::EmbeddingsImpl(const EmbeddingSpec& spec, const Tensor& shared) : spec_(spec) {
  if (spec.clusters)
    clusters =
        register_module("clusters", ClusterEmbeddings(*spec.clusters, spec.width, spec.projected_width));
  else
    tokens =
        shared.defined() ? shared : register_parameter("tokens", ops::empty({spec.vocabulary, spec.width}));
  using Projection = EmbeddingSpec::Projection;
  const bool narrow = spec.projected_width > 0 && !spec.clusters;
  const auto width_behind = [&](Projection place) {
    return narrow && spec.projection >= place ? spec.projected_width : spec.width;
  };
  if (const auto* learned = std::get_if<LearnedPositions>(&spec.positions))
    positions = register_parameter(
        "positions", ops::empty({learned->count + learned->offset, width_behind(Projection::tokens)}));
  else if (const auto* fixed = std::get_if<SinusoidalPositions>(&spec.positions))
    positions = sinusoidal_positions(*fixed, spec.width);
  if (spec.types > 0) types = register_parameter("types", ops::empty({spec.types, spec.width}));
  if (spec.mask_vector) mask = register_parameter("mask", ops::zeros({1, 1, spec.width}));
  if (spec.languages > 0)
    languages = register_parameter("languages", ops::empty({spec.languages, spec.width}));
  if (spec.tasks > 0) tasks = register_parameter("tasks", ops::empty({spec.tasks, spec.width}));
  if (spec.norm)
    norm_ = register_module("norm", LayerNorm(width_behind(Projection::before_norm), *spec.norm));
  if (narrow)
    projection_ = register_module("projection", Linear(spec.width, spec.projected_width,
                                                       /*bias=*/spec.projection == Projection::last));
}

std::int64_t max_positions(const EmbeddingSpec& spec) {
  if (const auto* learned = std::get_if<LearnedPositions>(&spec.positions)) return learned->count;
  const auto* fixed = std::get_if<SinusoidalPositions>(&spec.positions);
  if (fixed && !fixed->grows) return fixed->count;
  if (const auto* distant = std::get_if<DistantPositions>(&spec.positions)) return distant->count;
  if (const auto* rotary = std::get_if<RotaryPositions>(&spec.positions)) return rotary->count;
  return std::numeric_limits<std::int64_t>::max();
}

bool EmbeddingsImpl::has_position_table() const {
  return std::holds_alternative<LearnedPositions>(spec_.positions) ||
         std::holds_alternative<SinusoidalPositions>(spec_.positions);
}

std::int64_t EmbeddingsImpl::first_position() const {
  const auto [offset, skipped] = numbering(spec_.positions);
  return skipped < 0 ? 0 : offset;  // RoBERTa uses positions directly as rows of its table
}

void EmbeddingsImpl::reach(const Tensor& rows, const char* what) {
  auto* fixed = std::get_if<SinusoidalPositions>(&spec_.positions);
  const std::int64_t last = rows.max().item<std::int64_t>();
  const std::lock_guard lock(growing_);
  if (fixed && fixed->grows && last >= positions.size(0) && last < kMaxRows) {
    fixed->count = std::min(kMaxRows, 2 * last) - fixed->offset;
    positions = sinusoidal_positions(*fixed, spec_.width).to(positions.type());
  }
  check_range(rows, positions.size(0), what, kTooLong);
}

Tensor EmbeddingsImpl::position_table(const Tensor& like) {
  if (!std::holds_alternative<SinusoidalPositions>(spec_.positions)) return positions;
  const std::lock_guard lock(growing_);
  // It is float32 until a pass needs another type.
  if (positions.type() != like.type()) positions = positions.to(like.type());
  return positions;
}

Tensor EmbeddingsImpl::rows_of(const TokenBatch& batch) {
  const auto [offset, skipped] = numbering(spec_.positions);
  if (skipped < 0) {
    // Padding has the row before the first, if the model has such a row.
    const auto* learned = std::get_if<LearnedPositions>(&spec_.positions);
    const bool padding = learned && learned->skips_padding;
    check_range(padding ? batch.positions.clamp_min(0) : batch.positions, max_positions(),
                batch.positions_given ? "position_ids: position" : "position", kTooLong);
    const Tensor rows = offset == 0 ? batch.positions : batch.positions + offset;
    if (std::holds_alternative<SinusoidalPositions>(spec_.positions)) reach(rows, "position");
    return rows;
  }
  if (batch.positions_given) {  // already rows of the table
    reach(batch.positions, "position_ids: position");
    return batch.positions;
  }
  const Tensor ids = batch.ids, rows = ops::empty_like(ids);
  const auto id = ids.accessor<std::int64_t, 1>();
  auto row = rows.accessor<std::int64_t, 1>();
  for (std::int64_t b = 0; b < batch.offsets.count(); ++b) {
    // Tokens after cached ones continue the count; columns of a padded batch do not matter here.
    const std::int64_t first =
        batch.columns ? batch.rows_before(b) : batch.positions[batch.offsets.begin(b)].item<std::int64_t>();
    std::int64_t next = offset + first;
    for (std::int64_t t = batch.offsets.begin(b); t < batch.offsets.begin(b) + batch.offsets.length(b); ++t)
      row[t] = id[t] == skipped ? offset - 1 : next++;
  }
  reach(rows, "position");
  return rows;
}

void EmbeddingsImpl::check_ids(std::span<const std::int64_t> ids) const {
  check_range(ids, spec_.vocabulary, "token id", "; is this the model's own tokenizer?");
}

Tensor EmbeddingsImpl::rows(const char* name, const Tensor& table, const Tensor& ids, std::int64_t padding_id,
                            const Pass& pass) const {
  const PackedMatrix* const packed = table.is_same(tokens) ? packed_tokens.get() : nullptr;
  const auto found = adapters.find(name);
  if (found != adapters.end()) return adapted_rows(table, packed, ids, padding_id, found->second, pass);
  return packed ? packed->rows(ids) : ops::embedding(table, ids, padding_id);
}

Tensor EmbeddingsImpl::token_vectors(const Tensor& given, const Pass& pass) {
  const Tensor ids = given.contiguous();
  check_ids({ids.const_data<std::int64_t>(), static_cast<std::size_t>(ids.numel())});
  return clusters ? clusters(given) : rows("tokens", tokens, given, spec_.padding_id, pass);
}

// The same if some tokens are virtual; those are not scaled and not in the vocabulary.
Tensor EmbeddingsImpl::prompted_vectors(const TokenBatch& batch, const Pass& pass) {
  std::vector<Tensor> tables;
  for (const TokenPrompt& prompt : prompts) tables.push_back(prompt.vectors());
  const Tensor is_virtual = batch.ids.ge(spec_.vocabulary), places = is_virtual.nonzero().squeeze(1);
  const Tensor x = token_vectors(batch.ids.masked_fill(is_virtual, 0), pass) * spec_.scale;
  if (places.numel() == 0) return x;
  return x.index_copy(0, places,
                      ops::cat(tables).index_select(0, batch.ids.index_select(0, places) - spec_.vocabulary));
}

Tensor EmbeddingsImpl::kind_rows(const char* name, const Tensor& table, const Tensor& kinds,
                                 const TokenBatch& batch, const char* what, const Pass& pass) const {
  if (kinds.defined()) check_range(kinds, table.size(0), what, "");
  if (!kinds.defined() && !adapters.contains(name)) return table[0];
  return rows(name, table, kinds.defined() ? kinds : ops::zeros_like(batch.ids), -1, pass);
}

Tensor EmbeddingsImpl::input_vectors(const TokenBatch& batch, const Pass& pass) {
  Tensor x = batch.prompted ? prompted_vectors(batch, pass) : token_vectors(batch.ids, pass);
  if (batch.predicted.defined()) x = ops::where(batch.predicted.unsqueeze(1), mask.view({1, -1}), x);
  if (spec_.types_are_tokens && batch.types.defined()) {
    check_range(batch.types, spec_.vocabulary, "token type", "; here these are token ids");
    x = x + rows("tokens", tokens, batch.types, spec_.padding_id, pass);
  }
  return spec_.scale != 1 && !batch.prompted ? x * spec_.scale : x;
}

std::vector<EmbeddingsImpl::Summand> EmbeddingsImpl::summands(const TokenBatch& batch, Pass& pass) {
  Tensor x = input_vectors(batch, pass);
  if (projection_ && spec_.projection == EmbeddingSpec::Projection::tokens) x = projection_(x, pass);
  if (norm_ && spec_.norm_before_positions) x = norm_(x);
  std::vector<Summand> all = {{"token", x}};
  if (types.defined())
    all.push_back(
        {"type", kind_rows("types", types, batch.types, batch, "token_type_ids: token type", pass)});
  if (languages.defined() && batch.languages.defined()) {
    check_range(batch.languages, spec_.languages, "language", "");
    all.push_back({"language", rows("languages", languages, batch.languages, -1, pass)});
  }
  if (tasks.defined())
    all.push_back({"task", kind_rows("tasks", tasks, batch.tasks, batch, "task_type_ids: task", pass)});
  if (has_position_table()) {
    const Tensor wanted = rows_of(batch), table = position_table(x);
    const auto [offset, skipped] = numbering(spec_.positions);
    all.push_back({"position", rows("positions", table, wanted, skipped >= 0 ? offset - 1 : -1, pass)});
  }
  return all;
}

Tensor EmbeddingsImpl::forward(const TokenBatch& batch, Pass& pass) {
  Tensor x;  // [T, width]
  for (const Summand& summand : summands(batch, pass)) x = x.defined() ? x + summand.rows : summand.rows;
  using Projection = EmbeddingSpec::Projection;
  if (projection_ && spec_.projection == Projection::before_norm) x = projection_(x, pass);
  if (norm_ && !spec_.norm_before_positions) x = norm_(x);
  x = dropout(x, spec_.dropout, pass);
  return projection_ && spec_.projection == Projection::last ? projection_(x, pass) : x;
}

}  // namespace attend
