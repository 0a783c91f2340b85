// safetensors <-> torch tensors.
#pragma once

#include "formats/safetensors.h"
#include "tensor/tensor.h"

#include <map>

namespace attend {

Tensor copy_tensor(const TensorView& view);
// Lies in the view's memory and keeps its owner; must not be written to. A copy where the file's alignment
// does not suit the type or something else has to be decoded.
Tensor map_tensor(const TensorView& view, const std::shared_ptr<const void>& owner);

// Whole files. Written complete or not at all; read as copies.
void write_tensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                   const std::map<std::string, std::string>& metadata = {{"format", "pt"}});
std::map<std::string, Tensor> read_tensors(const std::filesystem::path& path);

}  // namespace attend
