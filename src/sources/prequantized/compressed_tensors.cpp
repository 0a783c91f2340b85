// compressed-tensors, the format of llm-compressor, https://github.com/vllm-project/compressed-tensors,
// compressors/. A matrix NAME with `in` inputs and `out` outputs is stored as
//   pack-quantized  NAME.weight_packed int32 [out, in / n]   integers + 8 (8 bits: + 128), n in a word
//                   NAME.weight_shape int64 [2]
//                   NAME.weight_zero_point int32 [out / n, groups], unless symmetric, packed along outputs
//   int-quantized   NAME.weight int8 [out, in], NAME.weight_zero_point int8 [out, groups]
// both with NAME.weight_scale [out, groups] (one group: per channel; [1]: for the whole matrix) and perhaps
// NAME.weight_g_idx int32 [in], the group of each input. A weight is scale * (integer - zero point).
#include "base/error.h"
#include "sources/prequantized/foreign_matrix.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace attend {
namespace {

struct CompressedSettings {
  unsigned bits = 8;
  std::int64_t group_size = -1;  // -1: follows from the scales
};

// For all groups of config_groups; their targets may differ, but not these settings.
CompressedSettings read_compressed_settings(const Fields& config) {
  const Json groups = config.json().value("config_groups", Json());
  if (!groups.is_object() || groups.empty())
    fail("{}: config_groups: expected an object with groups, found {}", config.source(), shown(groups));
  std::optional<CompressedSettings> settings;
  for (const auto& [name, group] : groups.items()) {
    const std::string source = fmt::format("{}: config_groups: {}", config.source(), name);
    const Fields weights(Fields(group, source).json().value("weights", Json()), source + ": weights");
    if (const std::string type = weights.text({"type"}, "int"); type != "int")
      fail("{}: type: expected int, found {}", weights.source(), shown(Json(type)));
    const std::int64_t bits = weights.integer({"num_bits"});
    if (bits != 4 && bits != 8) fail("{}: num_bits: expected 4 or 8, found {}", weights.source(), bits);
    const CompressedSettings own = {static_cast<unsigned>(bits),
                                    weights.maybe_integer({"group_size"}, -1, 1 << 20).value_or(-1)};
    if (settings && (settings->bits != own.bits || settings->group_size != own.group_size))
      fail("{}: config_groups: groups of several widths or sizes are not supported", config.source());
    settings = own;
  }
  return *settings;
}

// Scales, zero points and groups of one matrix.
struct Grid {
  std::int64_t rows = 1, groups = 1;  // of scales: a single row applies to all
  std::vector<float> scales;
  std::vector<int> zeros;               // empty: 0
  std::vector<std::uint32_t> group_of;  // by input
  std::vector<std::string> parts;
};

Grid read_grid(const WeightFiles& checkpoint, const std::string& module, const CompressedSettings& settings,
               std::int64_t out, std::int64_t in) {
  const std::string scales = module + ".weight_scale", order = module + ".weight_g_idx";
  Grid grid;
  grid.parts = {scales};
  const TensorView* const view = checkpoint.find(scales);
  if (view != nullptr && view->shape.size() == 2) {
    grid.rows = out;
    grid.groups = view->shape[1];
    grid.scales = foreign::numbers(checkpoint, scales, {out, -1});
  } else {
    grid.scales = foreign::numbers(checkpoint, scales, {1});
  }
  // Without a size, each row is one group.
  const std::int64_t size = settings.group_size < 1 ? std::max<std::int64_t>(in, 1) : settings.group_size;
  if (view != nullptr && view->shape.size() == 2 && grid.groups != (in + size - 1) / size)
    fail("{}: {}: expected a scale for each {} of {} inputs, found {}", checkpoint.file_of(scales).string(),
         shown(Json(scales)), size, in, grid.groups);
  if (checkpoint.find(order) != nullptr) {
    grid.parts.push_back(order);
    grid.group_of = foreign::words(foreign::part(checkpoint, order, DType::i32, {in}));
    for (const std::uint32_t group : grid.group_of)
      if (group >= static_cast<std::uint64_t>(grid.groups))
        fail("{}: {}: expected groups 0 to {}, found {}", checkpoint.file_of(order).string(),
             shown(Json(order)), grid.groups - 1, static_cast<std::int32_t>(group));
  } else {
    for (std::int64_t i = 0; i < in; ++i)
      grid.group_of.push_back(static_cast<std::uint32_t>(grid.groups == 1 ? 0 : i / size));
  }
  return grid;
}

// `integer` returns the integer of an output and an input.
template <class Integer>
auto decoder(Grid grid, std::int64_t out, std::int64_t in, Integer integer) {
  return [grid = std::move(grid), out, in, integer = std::move(integer)](std::span<float> to) {
    foreign::for_each_row(out, in, [&](std::size_t row) {
      const auto width = static_cast<std::size_t>(in);
      const std::size_t first = grid.rows == 1 ? 0 : row * static_cast<std::size_t>(grid.groups);
      for (std::size_t i = 0; i < width; ++i) {
        const std::size_t at = first + grid.group_of[i];
        const int zero = grid.zeros.empty() ? 0 : grid.zeros[at];
        to[row * width + i] = static_cast<float>(integer(row, i) - zero) * grid.scales[at];
      }
    });
  };
}

ForeignMatrix read_packed(const WeightFiles& checkpoint, const std::string& module,
                          const CompressedSettings& settings) {
  const std::string packed_name = module + ".weight_packed", shape_name = module + ".weight_shape",
                    zeros_name = module + ".weight_zero_point";
  const unsigned bits = settings.bits;
  const std::int64_t per_word = 32 / bits;
  const TensorView& packed = foreign::part(checkpoint, packed_name, DType::i32, {-1, -1});
  const TensorView& shape = foreign::part(checkpoint, shape_name, DType::i64, {2});
  std::int64_t sizes[2];
  std::memcpy(sizes, shape.data.data(), sizeof sizes);
  const auto [out, in] = std::pair(sizes[0], sizes[1]);
  if (out != packed.shape[0] || in < 1 || in > packed.shape[1] * per_word ||
      in <= (packed.shape[1] - 1) * per_word)
    fail("{}: {}: [{}, {}] does not fit the {} x {} words of {} bits",
         checkpoint.file_of(shape_name).string(), shown(Json(shape_name)), out, in, packed.shape[0],
         packed.shape[1], bits);
  ForeignMatrix matrix = {module + ".weight", fmt::format("int{}, compressed-tensors", bits), out, in};
  Grid grid = read_grid(checkpoint, module, settings, out, in);
  const int middle = 1 << (bits - 1);
  if (checkpoint.find(zeros_name) != nullptr) {
    grid.parts.push_back(zeros_name);
    const auto words = foreign::words(foreign::part(checkpoint, zeros_name, DType::i32,
                                                    {(grid.rows + per_word - 1) / per_word, grid.groups}));
    for (std::int64_t row = 0; row < grid.rows; ++row)
      for (std::int64_t group = 0; group < grid.groups; ++group) {
        const auto word = words[static_cast<std::size_t>(row / per_word * grid.groups + group)];
        const auto shift = static_cast<unsigned>(row % per_word) * bits;
        grid.zeros.push_back(static_cast<int>(word >> shift & ((1U << bits) - 1)) - middle);
      }
  }
  matrix.data = packed.data;
  matrix.parts = grid.parts;
  matrix.parts.insert(matrix.parts.begin(), {packed_name, shape_name});
  matrix.decode =
      decoder(std::move(grid), out, in,
              [words = foreign::words(packed), bits, middle,
               width = static_cast<std::size_t>(packed.shape[1] * per_word)](std::size_t row, std::size_t i) {
                return static_cast<int>(foreign::packed(words, row * width + i, bits)) - middle;
              });
  return matrix;
}

ForeignMatrix read_plain(const WeightFiles& checkpoint, const std::string& module,
                         const CompressedSettings& settings) {
  const std::string name = module + ".weight", zeros_name = module + ".weight_zero_point";
  const TensorView& integers = foreign::part(checkpoint, name, DType::i8, {-1, -1});
  const std::int64_t out = integers.shape[0], in = integers.shape[1];
  ForeignMatrix matrix = {name, "int8, compressed-tensors", out, in};
  Grid grid = read_grid(checkpoint, module, settings, out, in);
  if (checkpoint.find(zeros_name) != nullptr) {
    grid.parts.push_back(zeros_name);
    const TensorView& zeros = grid.rows == 1
                                  ? foreign::part(checkpoint, zeros_name, DType::i8, {1})
                                  : foreign::part(checkpoint, zeros_name, DType::i8, {out, grid.groups});
    for (const std::byte zero : zeros.data) grid.zeros.push_back(static_cast<std::int8_t>(zero));
  }
  matrix.data = integers.data;
  matrix.parts = grid.parts;
  matrix.parts.insert(matrix.parts.begin(), name);
  matrix.decode = decoder(
      std::move(grid), out, in,
      [data = integers.data, width = static_cast<std::size_t>(in)](std::size_t row, std::size_t i) -> int {
        return static_cast<std::int8_t>(data[row * width + i]);
      });
  return matrix;
}

}  // namespace

std::vector<ForeignMatrix> read_compressed_tensors(const WeightFiles& checkpoint,
                                                   const Fields& quantization) {
  const std::string format = quantization.text({"format"});
  const bool packed = format == "pack-quantized";
  if (!packed && format != "int-quantized" && format != "naive-quantized")
    fail("{}: format: expected pack-quantized or int-quantized, found {}", quantization.source(),
         shown(Json(format)));
  const CompressedSettings settings = read_compressed_settings(quantization);
  std::vector<ForeignMatrix> matrices;
  if (packed) {
    for (const std::string& module : foreign::modules(checkpoint, ".weight_packed"))
      matrices.push_back(read_packed(checkpoint, module, settings));
  } else {
    for (const std::string& module : foreign::modules(checkpoint, ".weight_scale"))
      matrices.push_back(read_plain(checkpoint, module, settings));
  }
  return matrices;
}

}  // namespace attend
