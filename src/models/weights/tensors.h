// Converts between safetensors and Tensor.
#pragma once

#include "formats/tensors/safetensors.h"
#include "tensor/tensor.h"

#include <map>

namespace attend {

Tensor copy_tensor(const TensorView& view);
// A tensor in the view's memory, which keeps its owner alive; must not be written to. A copy if the file's
// alignment does not suit the type or if the data must be decoded.
Tensor map_tensor(const TensorView& view, const std::shared_ptr<const void>& owner);

// Whole files: written completely or not at all, read as copies.
void write_tensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                   const std::map<std::string, std::string>& metadata = {{"format", "pt"}});
std::map<std::string, Tensor> read_tensors(const std::filesystem::path& path);
// The same in the mapped file: read-only, and in memory only while they are read.
std::map<std::string, Tensor> map_tensors(const std::filesystem::path& path);

}  // namespace attend
