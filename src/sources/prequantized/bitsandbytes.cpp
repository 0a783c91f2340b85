// bitsandbytes, https://github.com/bitsandbytes-foundation/bitsandbytes: LLM.int8 (Dettmers et al. 2022,
// arXiv:2208.07339) and QLoRA's NF4 and FP4 (arXiv:2305.14314), as written by functional.py and transformers'
// quantizers. Matrices are [out, in] even if the plain checkpoint has them transposed.
#include "base/error.h"
#include "sources/prequantized/foreign_matrix.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace attend {
namespace {

// NAME.weight int8 [out, in], NAME.SCB [out]: the largest magnitude of each row, which is stored as 127.
ForeignMatrix read_int8(const WeightFiles& checkpoint, const std::string& module) {
  const std::string name = module + ".weight", scales_name = module + ".SCB";
  const TensorView& integers = foreign::part(checkpoint, name, DType::i8, {-1, -1});
  ForeignMatrix matrix = {name, "bitsandbytes int8", integers.shape[0], integers.shape[1]};
  matrix.data = integers.data;
  matrix.parts = {name, scales_name};
  if (const std::string layout = module + ".weight_format"; checkpoint.find(layout) != nullptr) {
    // 0: row by row; other values are layouts for GPUs
    if (std::ranges::any_of(checkpoint.find(layout)->data,
                            [](std::byte byte) { return byte != std::byte{0}; }))
      fail("{}: {}: expected 0 (row by row)", checkpoint.file_of(layout).string(), shown(Json(layout)));
    matrix.parts.push_back(layout);
  }
  matrix.decode = [data = integers.data, columns = static_cast<std::size_t>(matrix.columns),
                   scales = foreign::numbers(checkpoint, scales_name, {matrix.rows})](std::span<float> to) {
    constexpr float step = 1.0F / 127;
    foreign::for_each_row(
        static_cast<std::int64_t>(scales.size()), static_cast<std::int64_t>(columns), [&](std::size_t row) {
          for (std::size_t i = row * columns; i < (row + 1) * columns; ++i)
            to[i] = static_cast<float>(static_cast<std::int8_t>(data[i])) * scales[row] * step;
        });
  };
  return matrix;
}

// A JSON object that is stored as the bytes of a tensor.
Fields read_state(const WeightFiles& checkpoint, const std::string& name) {
  const TensorView& view = foreign::part(checkpoint, name, DType::u8, {-1});
  const std::string source = checkpoint.file_of(name).string() + ": " + name;
  return {parse_json({reinterpret_cast<const char*>(view.data.data()), view.data.size()}, source), source};
}

// NAME.weight uint8 [n / 2, 1]: each byte has two indices into the codebook of 16 numbers, the first in the
// high half. They are multiplied by NAME.weight.absmax of each block. With double quantization that is itself
// quantized: a codebook of 256 numbers, with scales and an offset.
ForeignMatrix read_four_bits(const WeightFiles& checkpoint, const std::string& name,
                             const std::string& kind) {
  const std::string state_name = fmt::format("{}.quant_state.bitsandbytes__{}", name, kind);
  const Fields state = read_state(checkpoint, state_name);
  const std::vector<std::int64_t> shape = state.integers({"shape"});
  constexpr std::int64_t max = std::int64_t{1} << 31;
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || shape[0] > max || shape[1] > max)
    fail("{}: shape: expected two positive sizes, found {}", state.source(), shown(Json(shape)));
  const std::int64_t count = shape[0] * shape[1], block = state.integer({"blocksize"}, {}, 1, 1 << 20);
  const std::int64_t blocks = (count + block - 1) / block;

  ForeignMatrix matrix = {name, kind == "nf4" ? "NF4" : "FP4", shape[0], shape[1]};
  const TensorView& codes = foreign::part(checkpoint, name, DType::u8, {-1, -1});
  if (codes.data.size() != static_cast<std::size_t>((count + 1) / 2))
    fail("{}: expected {} bytes for {} numbers, found {}", state.source(), (count + 1) / 2, count,
         codes.data.size());
  const std::string scales_name = name + ".absmax", book_name = name + ".quant_map",
                    outer_name = name + ".nested_absmax", outer_book_name = name + ".nested_quant_map";
  matrix.data = codes.data;
  matrix.parts = {name, state_name, scales_name, book_name};
  std::vector<float> scales;
  if (checkpoint.find(outer_name) != nullptr) {
    matrix.parts.insert(matrix.parts.end(), {outer_name, outer_book_name});
    const std::int64_t outer_block = state.integer({"nested_blocksize"}, {}, 1, 1 << 20);
    const auto offset = static_cast<float>(state.number({"nested_offset"}));
    const TensorView& inner = foreign::part(checkpoint, scales_name, DType::u8, {blocks});
    const auto outer = foreign::numbers(checkpoint, outer_name, {(blocks + outer_block - 1) / outer_block});
    const auto book = foreign::numbers(checkpoint, outer_book_name, {256});
    for (std::size_t i = 0; i < inner.data.size(); ++i)
      scales.push_back(book[std::to_integer<std::size_t>(inner.data[i])] *
                           outer[i / static_cast<std::size_t>(outer_block)] +
                       offset);
  } else {
    scales = foreign::numbers(checkpoint, scales_name, {blocks});
  }
  matrix.decode = [data = codes.data, scales = std::move(scales), block = static_cast<std::size_t>(block),
                   book = foreign::numbers(checkpoint, book_name, {16}), rows = matrix.rows,
                   columns = matrix.columns](std::span<float> to) {
    foreign::for_each_row(rows, columns, [&](std::size_t row) {
      const auto width = static_cast<std::size_t>(columns);
      for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
        const auto byte = std::to_integer<unsigned>(data[i / 2]);
        to[i] = book[i % 2 == 0 ? byte >> 4 : byte & 0xFU] * scales[i / block];
      }
    });
  };
  return matrix;
}

}  // namespace

std::vector<ForeignMatrix> read_bitsandbytes(const WeightFiles& checkpoint, const Fields&) {
  std::vector<ForeignMatrix> matrices;
  for (const std::string& module : foreign::modules(checkpoint, ".SCB"))
    matrices.push_back(read_int8(checkpoint, module));
  for (const char* kind : {"nf4", "fp4"})
    for (const std::string& name :
         foreign::modules(checkpoint, fmt::format(".quant_state.bitsandbytes__{}", kind)))
      matrices.push_back(read_four_bits(checkpoint, name, kind));
  return matrices;
}

}  // namespace attend
