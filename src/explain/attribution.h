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

// A token that may be taken away: special ones stay.
struct TokenPlace {
  std::size_t side = 0;
  std::int64_t token = 0;
};

// The result to explain, and the replacement of a removed token.
struct AttributionTask {
  const ExplainedScore& function;
  AskedScore asked;
  std::vector<TokenPlace> replaceable;
  std::vector<Tensor> baseline;  // by side [n, d]: the inputs with all of them taken away
  bool bfloat16 = false;         // Pass::bfloat16

  Pass pass() const;
  // Scores [variants, V or labels] where in variant i the tokens replaceable[taken[i][...]] are taken away,
  // in parts, without gradients.
  Tensor scores_without(const std::vector<std::vector<std::size_t>>& taken) const;
};

// By side, one number for each token: [n].
using TokenScores = std::vector<Tensor>;

TokenScores gradient_times_input(const AttributionTask& task);

struct IntegratedGradients {
  TokenScores scores;
  Attribution::Completeness completeness;
};
// Along the straight way from the baseline, at `steps` places by Gauss and Legendre's rule (Captum's too).
IntegratedGradients integrated_gradients(const AttributionTask& task, int steps);

// How much the score falls when a token is taken away; 0 for those that stay.
TokenScores occlusion(const AttributionTask& task);

// The points and weights of the Gauss-Legendre rule with this many points for integrals from 0 to 1.
std::vector<std::pair<double, double>> gauss_legendre(int points);

}  // namespace attend
