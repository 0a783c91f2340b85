// A directory written by CTranslate2's converter: model.bin, its own config.json and vocabularies, and the
// original's tokenizer files, which the user has copied there. Presents it as a Hugging Face directory, with
// tensors under a checkpoint's names; the tables are in ctranslate2_families.h.
#pragma once

#include "sources/hugging_face_source.h"

#include <filesystem>
#include <string>

namespace attend {

// A directory with a model.bin and without a Hugging Face checkpoint.
bool is_ctranslate2(const std::filesystem::path& directory);

class CTranslate2Source : public HuggingFaceSource {
 public:
  explicit CTranslate2Source(std::filesystem::path directory) : HuggingFaceSource(std::move(directory)) {}

  // The original's config.json. An Error for unsupported families and versions.
  Json config() const override;
  bool has_weights() const override { return true; }
  WeightFiles weight_files() const override;
  // Names the files to copy from the original.
  std::string missing_tokenizer() const override;
};

// The tensors. Matrices of 8 and 16 bits are decoded when they are read: each integer is divided by the scale
// of its row or matrix.
class CTranslate2Checkpoint : public TensorFile {
 public:
  explicit CTranslate2Checkpoint(const std::filesystem::path& directory);
};

}  // namespace attend
