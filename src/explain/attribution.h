// Attribution: how much each token of an input contributes to one result of a model.
//
// Methods with gradients: gradient times input (Simonyan et al. 2013, arXiv:1312.6034; Shrikumar et al. 2016,
// arXiv:1605.01713) and integrated gradients (Sundararajan et al. 2017, arXiv:1703.01365), both summed over a
// token's vector. Also occlusion (Zeiler and Fergus 2013, arXiv:1311.2901). Their numbers have signs:
// positive means in favour of the result.
#pragma once

#include "explain/explained_score.h"
#include "explain/explanation.h"

namespace attend {

// A token that may be removed: special tokens are kept.
struct TokenPlace {
  std::size_t side = 0;
  std::int64_t token = 0;
};

// The result to explain, and the replacement of a removed token.
struct AttributionTask {
  const ExplainedScore& function;
  AskedScore asked;
  std::vector<TokenPlace> replaceable;
  std::vector<Tensor> baseline;  // by side, [n, d]: the inputs without any replaceable token
  bool bfloat16 = false;         // Pass::bfloat16

  Pass pass() const;
  // Scores [variants, V or labels]. Variant i has the tokens replaceable[taken[i][...]] removed. Computed in
  // parts, without gradients.
  Tensor scores_without(const std::vector<std::vector<std::size_t>>& taken) const;
};

// By side, one score for each token: [n].
using TokenScores = std::vector<Tensor>;

TokenScores gradient_times_input(const AttributionTask& task);

struct IntegratedGradients {
  TokenScores scores;
  Attribution::Completeness completeness;
};
// Along the straight line from the baseline, at `steps` points of the Gauss-Legendre rule (as in Captum).
IntegratedGradients integrated_gradients(const AttributionTask& task, int steps);

// How much the score falls when a token is removed; 0 for tokens that are kept.
TokenScores occlusion(const AttributionTask& task);

// The points and weights of the Gauss-Legendre rule with `count` points for integrals from 0 to 1.
std::vector<std::pair<double, double>> gauss_legendre(int points);

}  // namespace attend
