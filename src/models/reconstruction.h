// The error of a model's reconstruction of masked patches (Xie et al. 2021, "SimMIM", arXiv:2111.09886).
#pragma once

#include "nn/patch_embeddings.h"

namespace attend {

// made [B, channels, H, W], as images.pixels: the sum of |pixel - made| over the pixels of hidden patches, of
// which there are hidden patches * patch height * patch width * channels. Error if the shapes differ: what a
// patch becomes (encoder_stride) is to be as large as what it was cut from (patch_size).
Tensor reconstruction_distance(const ImageBatch& images, const Tensor& made, const PatchEmbeddings& patches);

}  // namespace attend
