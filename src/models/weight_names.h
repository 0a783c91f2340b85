// Weight names as data: one table per family maps the names in a Hugging Face checkpoint to ours, in both
// directions (loading, saving, gradients by checkpoint name).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// How the checkpoint lays a tensor out, compared with our [out, in] matrices and [n] vectors.
enum class WeightLayout {
  same,
  transposed,  // Conv1D's [in, out]
  row,         // [1, n] for our [n]
  // One matrix [in, out] for each expert, or one vector: [experts, in, out] for our [experts * out, in].
  // `shape` says how many.
  experts,
  paired_experts,  // the same, where the two results of a gated layer alternate
};

// One row of a family's table, of patterns:
//   {i}      a number, the same on both sides
//   {a|b|c}  one of these words. A group that stands on both sides is the same word there; a group that
//            stands only in the checkpoint's pattern is packed: our tensor is the checkpoint's a, b, c one
//            below the other.
struct WeightName {
  std::string checkpoint, ours;
  WeightLayout layout = WeightLayout::same;
  bool frozen = false;  // a buffer of the original: stored, but never trained and without gradient
  // Other names under which a checkpoint may hold the same tensor (tied weights).
  std::vector<std::string> aliases = {};
  // The checkpoint's shape of each tensor, where it is another one of as many numbers (XLNet's heads are a
  // dimension of their own); empty: what `layout` makes of ours.
  std::vector<std::int64_t> shape = {};
  // Not 0: the checkpoint has our rows of queries, keys and values head by head, for so many heads (DeBERTa);
  // or of queries, values and keys (CodeGen, in four groups of heads); or of several heads of queries before
  // each of keys and values (Falcon).
  std::int64_t heads = 0, queries_per_head = 1;
  bool values_before_keys = false;
  // How many rows of ours each packed tensor has, where they are not all alike (fewer heads of keys than of
  // queries).
  std::vector<std::int64_t> rows = {};
};

// Where one of our parameters lies in a checkpoint.
struct WeightSource {
  std::vector<std::string> names;  // several: packed, in this order along the first dimension
  std::vector<std::string> aliases;
  WeightLayout layout = WeightLayout::same;
  bool frozen = false;
  std::vector<std::int64_t> shape;
  std::int64_t heads = 0, queries_per_head = 1;
  bool values_before_keys = false;
  std::vector<std::int64_t> rows = {};  // of each name, or empty: all alike

  // Those of tensor number i, in something of ours that has `total` rows for all of them.
  struct Rows {
    std::int64_t first = 0, count = 0;
  };
  Rows rows_of(std::size_t i, std::int64_t total) const;
};

// The row that covers `parameter`; Error if none does (a hole in the family's table).
WeightSource find_source(const std::vector<WeightName>& table, std::string_view parameter);

// Is `name`, as found in a checkpoint, an instance of `pattern`?
bool matches(std::string_view pattern, std::string_view name);

}  // namespace attend
