// MXFP4 (https://www.opencompute.org, "OCP Microscaling Formats") as gpt-oss's checkpoints store the matrices
// of their experts: of NAME with `in` inputs and `out` outputs
//   NAME_blocks uint8 [experts, out, in / 32, 16], NAME_scales uint8 [experts, out, in / 32]
// where a byte holds two of 32 weights, the first in its lower half, and a block's scale is 2^(byte - 127). A
// weight is a number of four bits times the scale. In floating point NAME is [experts, in, out].
#include "base/error.h"
#include "sources/prequantized/foreign_matrix.h"

#include <cmath>

namespace attend {
namespace {

constexpr std::int64_t mxfp4_bytes = 16, mxfp4_weights = 2 * mxfp4_bytes;
constexpr float mxfp4_values[] = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                  -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};

void decode_mxfp4(std::span<const std::byte> blocks, std::span<const std::byte> scales, std::span<float> to,
                  std::size_t out, std::size_t in) {
  const std::size_t rows = scales.size() / (in / mxfp4_weights);  // [experts, out]
  foreign::for_each_row(static_cast<std::int64_t>(rows), static_cast<std::int64_t>(in), [&](std::size_t row) {
    float* const first = to.data() + row / out * in * out + row % out;
    for (std::size_t i = 0; i < in; ++i) {
      const std::size_t at = row * in + i;
      const auto pair = std::to_integer<unsigned>(blocks[at / 2]);
      const int exponent = std::to_integer<int>(scales[at / mxfp4_weights]) - 127;
      first[i * out] = std::ldexp(mxfp4_values[i % 2 == 0 ? pair & 0xFU : pair >> 4], exponent);
    }
  });
}

ForeignMatrix read_expert_matrices(const WeightFiles& checkpoint, const std::string& name) {
  const std::string blocks_name = name + "_blocks", scales_name = name + "_scales";
  const TensorView& blocks = foreign::part(checkpoint, blocks_name, DType::u8, {-1, -1, -1, mxfp4_bytes});
  const TensorView& scales =
      foreign::part(checkpoint, scales_name, DType::u8, {blocks.shape[0], blocks.shape[1], blocks.shape[2]});
  const std::int64_t experts = blocks.shape[0], out = blocks.shape[1], in = blocks.shape[2] * mxfp4_weights;
  ForeignMatrix matrix = {name, "MXFP4", experts * in, out};
  matrix.shape = {experts, in, out};
  matrix.data = blocks.data;
  matrix.parts = {blocks_name, scales_name};
  matrix.decode = [blocks = blocks.data, scales = scales.data, out, in](std::span<float> to) {
    if (!to.empty())
      decode_mxfp4(blocks, scales, to, static_cast<std::size_t>(out), static_cast<std::size_t>(in));
  };
  return matrix;
}

}  // namespace

std::vector<ForeignMatrix> read_mxfp4(const WeightFiles& checkpoint, const Fields& quantization) {
  std::vector<ForeignMatrix> matrices;
  for (const std::string& name : foreign::modules(checkpoint, "_blocks"))
    matrices.push_back(read_expert_matrices(checkpoint, name));
  if (matrices.empty())
    fail("{}: quant_method is mxfp4, but no tensor's name ends in _blocks", quantization.source());
  return matrices;
}

}  // namespace attend
