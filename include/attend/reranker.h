// How well documents answer a query.
//
//   attend::Reranker reranker("bge-reranker-v2-m3");
//   auto scores = reranker.score({{"who painted it", "A painter."}, {"who painted it", "It rains."}});
#pragma once

#include <attend/export.h>
#include <attend/tasks.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attend {
inline namespace v1 {

struct RerankOptions : RunOptions {
  bool raw_scores = false;  // the model's scores as they are, without a sigmoid
  // Models with a prompt only: what to look for, given as a text or as the name of one of the model's
  // prompts.
  std::optional<std::string> prompt = {}, prompt_name = {};
};

// One of three kinds of model:
// - a cross-encoder: a classifier with one label, which reads query and document as a pair.
// - a causal language model in a directory of sentence-transformers with a LogitScore module: the chat
//   template writes query and document, and the score is the logit of one token for the next, minus that of
//   another.
// - Qwen3-Reranker in the directory that was published first, which says nothing of this: the same with its
//   prompt and the tokens yes and no. A message says so.
class ATTEND_API Reranker {
 public:
  explicit Reranker(const ModelPath& model);
  // For each query and document a score. Throws Error for a pair without a document, or one that is too long
  // unless `truncate` is set, which cuts the document.
  std::vector<float> score(const std::vector<TextAndPair>& pairs, const RerankOptions& options = {});
  // The number of tokens that the model reads for each pair, including prompt and special tokens.
  std::vector<std::size_t> count_tokens(const std::vector<TextAndPair>& pairs,
                                        const RerankOptions& options = {}) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace v1
}  // namespace attend
