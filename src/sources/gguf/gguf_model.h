// A GGUF file as a model directory: presents it as the files of a Hugging Face directory, with tensors under
// a checkpoint's names. A model in several files is named by the first of them. Names and values are those of
// llama.cpp's convert_hf_to_gguf.py.
#pragma once

#include "sources/gguf/gguf.h"
#include "sources/model_source.h"
#include "sources/sentence_modules.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attend {

class GgufSource : public ModelSource {
 public:
  explicit GgufSource(std::filesystem::path file) : ModelSource(std::move(file)) {}

  bool is_one_file() const override { return true; }
  // An Error for an unsupported architecture, which lists the supported ones.
  Json config() const override;
  std::filesystem::path config_path() const override { return path(); }
  bool has_weights() const override { return true; }
  WeightFiles weight_files() const override;
  // The class, special tokens by their roles, the longest text, the chat template.
  Json tokenizer_config() const override;
  std::optional<StoredTokenizer> stored_tokenizer() const override;
  std::string missing_tokenizer() const override { return "the file has no tokenizer"; }
  // Pooling from {arch}.pooling_type, with vectors of length 1, as in llama.cpp; none without that key.
  std::optional<SentenceDirectory> stored_sentences() const override;
};

class GgufParts;

// The tensors of one file; a tensor that is not in the architecture's tables keeps its name.
class GgufCheckpoint : public TensorFile {
 public:
  // `part`: one of the files.
  GgufCheckpoint(const GgufParts& files, const std::filesystem::path& part);
};

}  // namespace attend
