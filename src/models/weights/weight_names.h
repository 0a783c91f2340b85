// Weight names as data: one table per family maps the names in a Hugging Face checkpoint to ours, in both
// directions (loading, saving, gradients by checkpoint name).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// A tensor's layout in the checkpoint, compared with our [out, in] matrices and [n] vectors.
enum class WeightLayout {
  same,
  transposed,  // Conv1D's [in, out]
  row,         // [1, n] for our [n]
  // One matrix [in, out] or one vector for each expert: [experts, in, out] for our [experts * out, in].
  // `shape` gives the number of experts.
  experts,
  paired_experts,  // the same, with the two results of a gated layer alternating
  swapped,         // the second half of the rows before the first (GTE's gated layers)
};

// One row of a family's table. Patterns:
//   {i}      a number, the same on both sides
//   {a|b|c}  one of these words. A group on both sides is the same word there. A group only in the
//            checkpoint's pattern is packed: our tensor is the checkpoint's a, b, c stacked.
struct WeightName {
  std::string checkpoint, ours;
  WeightLayout layout = WeightLayout::same;
  bool frozen = false;  // a buffer of the original: stored, but never trained and without gradient
  // Other names under which a checkpoint may hold the same tensor (tied weights).
  std::vector<std::string> aliases = {};
  // The checkpoint's shape of each tensor, if it differs but has as many numbers (XLNet's heads are a
  // separate dimension); empty: derived from ours by `layout`.
  std::vector<std::int64_t> shape = {};
  // Not 0: the checkpoint has our rows of queries, keys and values head by head, for this many heads
  // (DeBERTa); or queries, values and keys (CodeGen, in four groups of heads); or several query heads before
  // each head of keys and values (Falcon).
  std::int64_t heads = 0, queries_per_head = 1;
  bool values_before_keys = false;
  // The number of our rows that each packed tensor has, if they differ (fewer heads of keys than of queries).
  std::vector<std::int64_t> rows = {};
};

// The tensors of a checkpoint that hold one of our parameters.
struct WeightSource {
  std::vector<std::string> names;  // several: packed, in this order along the first dimension
  std::vector<std::string> aliases;
  WeightLayout layout = WeightLayout::same;
  bool frozen = false;
  std::vector<std::int64_t> shape;
  std::int64_t heads = 0, queries_per_head = 1;
  bool values_before_keys = false;
  std::vector<std::int64_t> rows = {};  // of each name; empty: equally many

  // The rows of tensor number i in our parameter, which has `total` rows.
  struct Rows {
    std::int64_t first = 0, count = 0;
  };
  Rows rows_of(std::size_t i, std::int64_t total) const;
};

// The row for `parameter`; an Error if there is none (the family's table is incomplete).
WeightSource find_source(const std::vector<WeightName>& table, std::string_view parameter);

// Whether `name` from a checkpoint is an instance of `pattern`.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace attend
