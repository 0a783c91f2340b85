// The tensors of a pytorch_model.bin, as torch.save writes them, read from the mapped file.
#pragma once

#include "formats/tensors/tensor_file.h"

namespace attend {

// A whole file of PyTorch 1.6 or newer (an archive) or older (a sequence of pickles and numbers).
class PickledTensorFile : public TensorFile {
 public:
  explicit PickledTensorFile(const std::filesystem::path& path);
};

// The lists of strings in the dictionary of a file written by pickle.dump or torch.save (read_pickled_lists).
std::map<std::string, std::vector<std::string>> read_pickled_lists(const std::filesystem::path& path);

// A PickledTensorFile if the name ends in .bin, else a SafetensorsFile.
TensorFile open_tensor_file(const std::filesystem::path& path);

}  // namespace attend
