// A GGUF file as a model directory: presents it as the files of a Hugging Face directory, with tensors under
// a checkpoint's names. A model in several files is named by the first of them. Names and values are those of
// llama.cpp's convert_hf_to_gguf.py.
#pragma once

#include "formats/sentence_modules.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attend {

// config.json. An Error for an unsupported architecture, which lists the supported ones.
Json gguf_config(const std::filesystem::path& file);
// tokenizer_config.json: the class, special tokens by their roles, the longest text, the chat template.
Json gguf_tokenizer_config(const std::filesystem::path& file);
// Pooling from {arch}.pooling_type, with vectors of length 1, as in llama.cpp; none without that key.
std::optional<SentenceDirectory> gguf_sentences(const std::filesystem::path& file);

struct GgufTokenizerFacts {
  std::string kind;  // "BPE", "WordPiece", "Unigram"
  std::uint64_t vocabulary = 0;
};
std::optional<GgufTokenizerFacts> gguf_tokenizer_facts(const std::filesystem::path& file);

class GgufParts;

// The tensors of one file; a tensor that is not in the architecture's tables keeps its name.
class GgufCheckpoint : public TensorFile {
 public:
  // `part`: one of the files.
  GgufCheckpoint(const GgufParts& files, const std::filesystem::path& part);
};
std::vector<GgufCheckpoint> gguf_checkpoints(const std::filesystem::path& file);

}  // namespace attend
