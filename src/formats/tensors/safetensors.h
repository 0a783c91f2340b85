// safetensors, Hugging Face's tensor file: a u64 header length, a JSON header, the data.
// https://github.com/huggingface/safetensors (README, "Format"). The file is mapped; nothing is copied.
#pragma once

#include "formats/tensors/tensor_file.h"

namespace attend {

// One file. The header is checked completely when it is opened: length, JSON, unique names, known types,
// offsets in bounds without gaps or overlaps, and sizes equal to shape times type. The views are valid as
// long as a copy of the file object exists.
class SafetensorsFile : public TensorFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::map<std::string, std::string> metadata_;
};

// Writes through a temporary file and a rename, with the same bytes as the reference implementation: the data
// begins at a multiple of 8, the widest types first, then by name. transformers requires {"format": "pt"} in
// the metadata of a model.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace attend
