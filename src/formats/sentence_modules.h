// What a sentence-transformers directory does with a model's hidden states: the modules of its modules.json.
#pragma once

#include "formats/model_directory.h"

namespace attend {

// One module behind the transformer.
struct SentenceModule {
  enum class Kind { pooling, dense, norm, unit_length } kind = Kind::pooling;
  std::filesystem::path folder = {};              // of its own files
  std::vector<SentencePooling::Mode> modes = {};  // pooling: what it makes of the states, side by side
  std::int64_t in = 0, out = 0;                   // dense, norm: numbers of a text before and behind it
  bool bias = true;                               // dense
  std::string activation = {};                    // dense: as transformers calls it
};

struct SentenceDirectory {
  SentencePooling texts;                // how texts are read; mode and normalize say nothing
  std::vector<SentenceModule> modules;  // in order, the first of them pooling
};

// Nothing without modules.json. Error for a module that is not known, or not where it can work.
std::optional<SentenceDirectory> read_sentence_directory(const std::filesystem::path& directory);

}  // namespace attend
