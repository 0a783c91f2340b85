// A directory written by CTranslate2's converter: model.bin, its own config.json and vocabularies, and the
// original's tokenizer files, which the user has copied there. Presents it as a Hugging Face directory, with
// tensors under a checkpoint's names; the tables are in ctranslate2_families.h.
#pragma once

#include "formats/json.h"
#include "formats/tensor_file.h"

#include <filesystem>
#include <string>

namespace attend {

// A directory with a model.bin and without a Hugging Face checkpoint.
bool is_ctranslate2(const std::filesystem::path& directory);

// The original's config.json. An Error for unsupported families and versions.
Json ctranslate2_config(const std::filesystem::path& directory);
// The files to copy from the original if there is no tokenizer.
std::string ctranslate2_tokenizer_files(const std::filesystem::path& directory);

// The tensors. Matrices of 8 and 16 bits are decoded when they are read: each integer is divided by the scale
// of its row or matrix.
class CTranslate2Checkpoint : public TensorFile {
 public:
  explicit CTranslate2Checkpoint(const std::filesystem::path& directory);
};

}  // namespace attend
