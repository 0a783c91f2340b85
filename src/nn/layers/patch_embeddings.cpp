#include "nn/layers/patch_embeddings.h"

#include "nn/pass/dropout.h"

namespace attend {

PatchEmbeddingsImpl::PatchEmbeddingsImpl(const PatchSpec& spec, std::int64_t width) : spec_(spec) {
  weight_ =
      register_parameter("weight", ops::empty({width, spec.channels, spec.patch_height, spec.patch_width}));
  bias_ = register_parameter("bias", ops::zeros({width}));
  first_ = register_parameter("first", ops::empty({1, 1, width}));
  positions_ = register_parameter("positions", ops::empty({1, 1 + spec.rows() * spec.columns(), width}));
  if (spec.mask_token) mask_ = register_parameter("mask", ops::zeros({1, 1, width}));
}

std::pair<std::int64_t, std::int64_t> PatchEmbeddingsImpl::grid(const Tensor& pixels) const {
  return {pixels.size(2) / spec_.patch_height, pixels.size(3) / spec_.patch_width};
}

Tensor PatchEmbeddingsImpl::cut(const Tensor& pixels) const {
  const auto [rows, columns] = grid(pixels);
  const std::int64_t high = spec_.patch_height, wide = spec_.patch_width;
  return pixels.narrow(2, 0, rows * high)
      .narrow(3, 0, columns * wide)
      .reshape({-1, spec_.channels, rows, high, columns, wide})
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({-1, spec_.channels * high * wide});
}

Tensor PatchEmbeddingsImpl::positions_of(std::int64_t rows, std::int64_t columns) const {
  if (rows == spec_.rows() && columns == spec_.columns()) return positions_;
  const std::int64_t width = positions_.size(2);
  const Tensor trained = positions_.narrow(1, 1, positions_.size(1) - 1)
                             .reshape({1, spec_.rows(), spec_.columns(), width})
                             .permute({0, 3, 1, 2});
  const Tensor between = ops::resize_bicubic(trained, {rows, columns}, /*align_corners=*/false);
  return ops::cat({positions_.narrow(1, 0, 1), between.permute({0, 2, 3, 1}).reshape({1, -1, width})}, 1);
}

Tensor PatchEmbeddingsImpl::forward(const ImageBatch& images, Pass& pass) {
  const auto [rows, columns] = grid(images.pixels);
  const std::int64_t batch = images.pixels.size(0), width = bias_.size(0);
  Tensor x = linear(cut(images.pixels), weight_.flatten(1), bias_, &packed_).reshape({batch, -1, width});
  if (images.hidden.defined()) x = ops::where(images.hidden.unsqueeze(2), mask_, x);
  x = ops::cat({first_.expand({batch, 1, width}), x}, 1) + positions_of(rows, columns);
  return dropout(x.reshape({-1, width}), spec_.dropout, pass);
}

}  // namespace attend
