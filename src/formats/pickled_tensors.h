// The tensors of a pytorch_model.bin, as torch.save writes them, read from the mapped file.
#pragma once

#include "formats/tensor_file.h"

namespace attend {

// A whole file, of PyTorch 1.6 or newer (an archive) or older (pickles and numbers one behind the other).
class PickledTensorFile : public TensorFile {
 public:
  explicit PickledTensorFile(const std::filesystem::path& path);
};

// The lists of texts in a file's dictionary, which pickle.dump or torch.save wrote (read_pickled_lists).
std::map<std::string, std::vector<std::string>> read_pickled_lists(const std::filesystem::path& path);

// A PickledTensorFile or a SafetensorsFile, as the name ends in .bin or not.
TensorFile open_tensor_file(const std::filesystem::path& path);

}  // namespace attend
