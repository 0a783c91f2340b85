// How a sentence-transformers directory processes a model's hidden states: the modules of its modules.json,
// and the settings for texts and vectors in config_sentence_transformers.json.
#pragma once

#include <attend/attend.h>

#include "formats/model_directory.h"

#include <map>

namespace attend {

// One module after the transformer.
struct SentenceModule {
  enum class Kind { pooling, dense, norm, unit_length } kind = Kind::pooling;
  std::filesystem::path folder = {};              // of its own files
  std::vector<SentencePooling::Mode> modes = {};  // pooling: what it makes of the states, side by side
  bool include_prompt = true;                     // pooling: the prompt's tokens are pooled too
  std::int64_t in = 0, out = 0;                   // dense, norm: numbers of a text before and after it
  bool bias = true;                               // dense
  std::string activation = {};                    // dense: as transformers calls it
};

struct SentenceDirectory {
  SentencePooling texts = {};           // how texts are read; mode and normalize say nothing
  std::vector<SentenceModule> modules;  // in order, the first of them pooling
  std::map<std::string, std::string> prompts = {{"query", ""}, {"document", ""}};  // by name
  Similarity similarity = Similarity::cosine;
  std::optional<std::int64_t> dimensions = {};  // how many numbers of a vector are kept (truncate_dim)
  bool assumed = false;                         // the directory has no modules.json

  bool normalizes() const { return modules.back().kind == SentenceModule::Kind::unit_length; }
};

// Without modules.json: what sentence-transformers assumes, which is the mean of all tokens, or the last
// token of a causal language model. Error for a module that is not known, or not where it can work.
SentenceDirectory read_sentence_directory(const ModelDirectory& directory);

// "mean", "lasttoken": as sentence-transformers calls them. Error for an unknown name; `source` is what says
// it.
const char* pooling_name(SentencePooling::Mode mode);
SentencePooling::Mode read_pooling_mode(const std::string& name, const std::string& source);
// "cosine", "dot", "euclidean", "manhattan".
const char* similarity_name(Similarity similarity);

}  // namespace attend
