// The form in which a model is stored: a Hugging Face directory, a GGUF file, or CTranslate2's directory.
// Each presents itself as a Hugging Face directory; no other code checks the form. To add a form: a class
// derived from ModelSource, and a line in open_source().
#pragma once

#include "formats/json/json.h"
#include "sources/weight_files.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace attend {

struct SentenceDirectory;

// A tokenizer in a model's own file.
struct StoredTokenizer {
  std::string kind;  // "BPE", "WordPiece", "Unigram", "SentencePiece"
  std::uint64_t vocabulary = 0;
};

class ModelSource {
 public:
  virtual ~ModelSource() = default;
  const std::filesystem::path& path() const { return path_; }

  // Whether it is one file, which has everything. Otherwise path() is a directory, with more files.
  virtual bool is_one_file() const { return false; }
  // config.json, as transformers writes it. An Error if there is no model.
  virtual Json config() const = 0;
  // The file with the configuration, for messages.
  virtual std::filesystem::path config_path() const { return path_ / "config.json"; }
  virtual bool has_weights() const = 0;
  // By a checkpoint's names. Matrices that another program quantized stay as they are (foreign_weights.h).
  virtual WeightFiles weight_files() const = 0;
  // tokenizer_config.json; an empty object if there is none.
  virtual Json tokenizer_config() const = 0;
  virtual std::optional<StoredTokenizer> stored_tokenizer() const { return {}; }
  // The reason if the directory has no tokenizer.
  virtual std::string missing_tokenizer() const = 0;
  // How it makes vectors of sentences, if the model's own file says so; otherwise modules.json does.
  virtual std::optional<SentenceDirectory> stored_sentences() const;

 protected:
  explicit ModelSource(std::filesystem::path path) : path_(std::move(path)) {}

 private:
  std::filesystem::path path_;
};

// What is at `path`. Never fails: the functions say what is missing.
std::unique_ptr<const ModelSource> open_source(const std::filesystem::path& path);

}  // namespace attend
