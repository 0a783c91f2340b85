// What embedders of two other kinds make of a text: a weight for each token of the vocabulary that it is
// about, or a vector for each of its own tokens.
//
//   attend::SparseEmbedder embedder("splade-v3");
//   for (const auto& [token, text, weight] : embedder.embed({"A cat sits on the mat."}).front())
//     std::cout << text << " " << weight << "\n";
#pragma once

#include <attend/embedder.h>
#include <attend/export.h>
#include <attend/tasks.h>

#include <memory>
#include <string>
#include <vector>

namespace attend {
inline namespace v1 {

struct TokenWeight {
  TokenId token = 0;
  std::string text;  // the token's, as in the vocabulary
  float weight = 0;
};

// SPLADE (Formal et al. 2021, arXiv:2109.10086) in a directory of sentence-transformers, or the sparse
// vectors of BGE-M3 (Chen et al. 2024, arXiv:2402.03216), which weighs the tokens of the text
// (sparse_linear.pt).
class ATTEND_API SparseEmbedder {
 public:
  explicit SparseEmbedder(const ModelPath& model);
  // The tokens of each text with a weight greater than 0, the heaviest first. Options: prompts and `truncate`
  // as for an Embedder; an Error for `dimensions` and `normalize`.
  std::vector<std::vector<TokenWeight>> embed(const std::vector<std::string>& texts,
                                              const EmbedOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};
// The sum over the tokens that both have of the products of their weights.
ATTEND_API float similarity(const std::vector<TokenWeight>& a, const std::vector<TokenWeight>& b);

// The vectors of BGE-M3 for late interaction (colbert_linear.pt), of length 1, one for each token after the
// first.
class ATTEND_API TokenEmbedder {
 public:
  explicit TokenEmbedder(const ModelPath& model);
  std::vector<Features> embed(const std::vector<std::string>& texts, const EmbedOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};
// Late interaction (Khattab and Zaharia 2020, arXiv:2004.12832): the mean over the query's tokens of the
// largest product with a token of the document. 0 without tokens.
ATTEND_API float late_interaction(const Features& query, const Features& document);

}  // namespace v1
}  // namespace attend
