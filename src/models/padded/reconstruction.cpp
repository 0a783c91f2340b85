#include "models/padded/reconstruction.h"

namespace attend {

Tensor reconstruction_distance(const ImageBatch& images, const Tensor& made, const PatchEmbeddings& patches) {
  const PatchSpec& spec = patches->spec();
  if (made.sizes() != images.pixels.sizes())
    fail(
        "the predicted image [{}] has another shape than the input [{}]: encoder_stride must equal "
        "patch_size",
        fmt::join(made.sizes(), ", "), fmt::join(images.pixels.sizes(), ", "));
  const auto [rows, columns] = patches->grid(images.pixels);
  const Tensor hidden = images.hidden.reshape({-1, rows, columns})
                            .repeat_interleave(spec.patch_height, 1)
                            .repeat_interleave(spec.patch_width, 2)
                            .unsqueeze(1)
                            .to(made.type());  // [B, 1, H, W]
  return ((images.pixels - made).abs() * hidden).sum();
}

}  // namespace attend
