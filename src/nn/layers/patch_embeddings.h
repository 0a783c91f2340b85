// The first layer of a stack for images: patch vectors and positions.
#pragma once

#include "nn/linear/linear.h"
#include "nn/pass/pass.h"
#include "nn/pass/ragged.h"
#include "nn/spec/spec.h"

namespace attend {

struct ImageBatch {
  Tensor pixels;  // [B, channels, H, W]
  Tensor hidden;  // [B, patches] bool: those that the mask token replaces; or undefined
};

// [B, channels, H, W] -> [B * (1 + patches), width]: for each image the first token, then its patches row by
// row.
class PatchEmbeddingsImpl : public Module {
 public:
  PatchEmbeddingsImpl(const PatchSpec& spec, std::int64_t width);
  // Images of another size get interpolated positions.
  Tensor forward(const ImageBatch& images, Pass& pass);
  // The rows and columns of patches in an image of H x W.
  std::pair<std::int64_t, std::int64_t> grid(const Tensor& pixels) const;

  const Tensor& positions() const { return positions_; }
  void prepare() { packed_.prepare(weight_.flatten(1)); }  // packs the matrix before it is needed

  const PatchSpec& spec() const { return spec_; }

 private:
  Tensor cut(const Tensor& pixels) const;                              // one row per patch
  Tensor positions_of(std::int64_t rows, std::int64_t columns) const;  // [1, 1 + rows * columns, width]

  PatchSpec spec_;
  Tensor weight_, bias_;  // shaped like a convolution's: [width, channels, patch height, patch width]
  Tensor first_, mask_;   // [1, 1, width]
  Tensor positions_;      // [1, 1 + patches, width]
  PackedWeight packed_;
};
ATTEND_MODULE(PatchEmbeddings);

}  // namespace attend
