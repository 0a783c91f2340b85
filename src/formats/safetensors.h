// safetensors, Hugging Face's tensor file: a u64 header length, a JSON header, the data.
// https://github.com/huggingface/safetensors (README, "Format"). The file is mapped; nothing is copied.
#pragma once

#include "formats/tensor_file.h"

namespace attend {

// One file. The header is checked in full when it is opened: length, JSON, names that come once, known types,
// offsets in bounds, without holes or overlaps, sizes that equal shape times type. The views live as long as
// a copy of the file object.
class SafetensorsFile : public TensorFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::map<std::string, std::string> metadata_;
};

// Writes through a temporary file and a rename; the bytes are those the reference implementation writes: the
// data begins at a multiple of 8, the widest types first, then by name. transformers wants {"format": "pt"}
// in the metadata of a model.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace attend
