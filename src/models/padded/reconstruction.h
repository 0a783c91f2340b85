// The error of a model's reconstruction of masked patches (Xie et al. 2021, "SimMIM", arXiv:2111.09886).
#pragma once

#include "nn/layers/patch_embeddings.h"

namespace attend {

// made [B, channels, H, W], like images.pixels: the sum of |pixel - made| over the pixels of hidden patches;
// there are hidden patches * patch height * patch width * channels of them. An Error if the shapes differ:
// the predicted patch (encoder_stride) must be as large as the input patch (patch_size).
Tensor reconstruction_distance(const ImageBatch& images, const Tensor& made, const PatchEmbeddings& patches);

}  // namespace attend
