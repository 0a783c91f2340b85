// Tensors whose memory is an unnamed file: the system can write it to the disk when memory is scarce.
#pragma once

#include "tensor/handle.h"

#include <filesystem>

namespace attend::ops {

// A copy of t in an unnamed file in this folder, which disappears with the tensor. Throws Error if the disk
// is full.
Tensor in_file(const Tensor& t, const std::filesystem::path& folder);

}  // namespace attend::ops
