// How a sentence-transformers directory processes a model's hidden states: the modules of its modules.json,
// and the settings for texts and vectors in config_sentence_transformers.json.
#pragma once

#include <attend/similarity.h>

#include "sources/model_directory.h"

#include <map>

namespace attend {

// One module after the transformer.
struct SentenceModule {
  // splade and logit_score are the only module after the transformer: they make no vectors of hidden states.
  enum class Kind { pooling, dense, norm, unit_length, splade, logit_score } kind = Kind::pooling;
  std::filesystem::path folder = {};              // with its own files
  std::vector<SentencePooling::Mode> modes = {};  // pooling: the results are concatenated
  bool include_prompt = true;                     // pooling: includes the prompt's tokens
  std::int64_t in = 0, out = 0;                   // dense, norm: width before and after
  bool bias = true;                               // dense
  std::string activation = {};                    // dense: transformers' name
  bool sums = false;                              // splade: adds up tokens instead of taking the largest
  int logarithms = 1;                             // splade: how many times log(1 + x) is taken
  // logit_score: the score is the logit of `yes` for the token after the text, minus that of `no`.
  std::int64_t yes = 0;
  std::optional<std::int64_t> no = {};
};

struct SentenceDirectory {
  SentencePooling texts = {};           // how texts are read; mode and normalize are not used
  std::vector<SentenceModule> modules;  // in order, the first of them pooling
  std::map<std::string, std::string> prompts = {{"query", ""}, {"document", ""}};  // by name
  Similarity similarity = Similarity::cosine;
  std::optional<std::int64_t> dimensions = {};  // the number of elements that are kept of a vector
                                                // (truncate_dim)
  bool assumed = false;                         // the directory has no modules.json

  // Otherwise its module is splade or logit_score.
  bool makes_vectors() const { return modules.front().kind == SentenceModule::Kind::pooling; }
  bool normalizes() const { return modules.back().kind == SentenceModule::Kind::unit_length; }
};

// Without modules.json: sentence-transformers' default, which is the mean of all tokens, or the last token of
// a causal language model. An Error for an unknown module, or one in a place where it cannot work.
SentenceDirectory read_sentence_directory(const ModelDirectory& directory);

// sentence-transformers' names, such as "mean", "lasttoken". An Error for an unknown name; `source` is where
// it comes from.
const char* pooling_name(SentencePooling::Mode mode);
SentencePooling::Mode read_pooling_mode(const std::string& name, const std::string& source);
// "cosine", "dot", "euclidean", "manhattan".
const char* similarity_name(Similarity similarity);

}  // namespace attend
