// The vector of a text, as a sentence-transformers directory computes it from hidden states (Reimers &
// Gurevych 2019, arXiv:1908.10084): pooling and the modules after it, with their weights.
#pragma once

#include "models/checkpoint/pretrained_model.h"
#include "nn/layers/norm.h"
#include "nn/linear/linear.h"
#include "nn/pass/ragged.h"
#include "sources/sentence_modules.h"

namespace attend {

struct VectorOptions {
  Tensor places = {};              // the position of each token in its text, as in pool()
  std::int64_t prompt_tokens = 0;  // the number of each text's first tokens that belong to the prompt
  bool normalize = true;           // false: leaves out a final module that normalizes vectors to length 1
};

// The size of the model's hidden states.
std::int64_t width_of(const PretrainedModel& model);

// A module that FlagEmbedding keeps in a file of its own, such as sparse_linear.pt: weight [out, in], bias
// [out].
Linear read_linear(const std::filesystem::path& file, std::int64_t in, std::optional<std::int64_t> out = {});

class SentenceModules {
 public:
  // For hidden states of this width. An Error for weights that are missing or do not fit.
  SentenceModules(const std::vector<SentenceModule>& modules, std::int64_t width);

  // hidden [T, d] -> [B, size()]. A text without tokens is pooled to zeros.
  Tensor embed(const Tensor& hidden, const Offsets& offsets, const VectorOptions& options = {});
  std::int64_t size() const { return size_; }

 private:
  struct Module {
    SentenceModule spec;
    Activation activation = Activation::none;
    Linear dense{nullptr};
    LayerNorm norm{nullptr};
  };
  void add(const SentenceModule& spec);

  std::vector<Module> modules_;
  std::int64_t size_;
};

}  // namespace attend
