// What a model's files contain, without loading the model.
#pragma once

#include <attend/export.h>
#include <attend/model_path.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attend {
inline namespace v1 {

struct ModelInfo {
  struct TypeTotals {
    std::uint64_t tensors = 0, values = 0, bytes = 0;
  };
  struct File {
    std::string name;
    std::uint64_t bytes = 0;
  };
  struct TokenizerInfo {
    std::string kind;                         // "BPE", "WordPiece", "Unigram", "SentencePiece", ...
    std::string file;                         // the file with this information
    std::optional<std::uint64_t> vocabulary;  // tokens, if known without running the tokenizer
  };

  std::string model_type;
  std::vector<std::string> architectures;  // of config.json; or else the one that the tensors fit
  // Trained floating-point values, and computed ones (masks, positions), which old checkpoints also contain.
  std::uint64_t parameters = 0, buffers = 0;
  std::map<std::string, TypeTotals> types;  // by the name of the type: "F32", "Q4_K"
  std::vector<File> files;                  // of weights
  std::optional<TokenizerInfo> tokenizer;
  std::vector<std::string> unusual;  // one sentence each
};

// Reads a directory or a GGUF file. `check_values` reads all weights and searches for NaN, infinity, and
// numbers so large that their squares overflow. Throws Error for files that are no model.
ATTEND_API ModelInfo inspect(const ModelPath& model, bool check_values = false);

}  // namespace v1
}  // namespace attend
