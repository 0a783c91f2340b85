// The content of `attend inspect`: a description of a model directory, from its files alone; no model is
// built.
#pragma once

#include "sources/sentence_modules.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attend {

struct Inspection {
  struct TypeTotals {
    std::uint64_t tensors = 0, values = 0, bytes = 0;
  };
  struct File {
    std::string name;
    std::uint64_t bytes;
  };
  struct Tokenizer {
    std::string kind;                         // "BPE", "WordPiece", "Unigram", "SentencePiece", ...
    std::string file;                         // the file with this information
    std::optional<std::uint64_t> vocabulary;  // tokens, if known without running the tokenizer
  };

  std::string model_type;
  std::vector<std::string> architectures;
  // Trained floating-point values, and computed ones (masks, positions), which old checkpoints also contain.
  std::uint64_t parameters = 0, buffers = 0;
  std::map<std::string, TypeTotals> types;  // by the name of the type: "F32", "Q4_K"
  std::vector<File> files;                  // of weights
  std::optional<Tokenizer> tokenizer;
  std::optional<SentenceDirectory> sentences;  // how it makes vectors from texts, if it can
  Json generation;                             // as in ModelDirectory::generation_config
  std::vector<std::string> unusual;            // one sentence each
};

// `check_values` reads all weights and searches for NaN, infinity, and numbers so large that their squares
// overflow.
Inspection inspect_model(const ModelDirectory& directory, const WeightFiles& checkpoint, bool check_values);

struct OddValues {
  std::uint64_t nan = 0, infinite = 0;
  std::uint64_t huge = 0;  // 2^64 and more: a norm of such numbers overflows in float32
};
OddValues count_odd_values(const TensorView& tensor);  // none in an integer tensor

}  // namespace attend
