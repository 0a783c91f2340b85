// Attribution: how much each token of an input has to do with one result of a model.
//
// What a score is made of: gradient times input (Simonyan et al. 2013, arXiv:1312.6034; Shrikumar et al.
// 2016, arXiv:1605.01713) and integrated gradients (Sundararajan et al. 2017, arXiv:1703.01365), both added
// up over a token's vector; occlusion (Zeiler and Fergus 2013, arXiv:1311.2901). Their numbers have signs:
// what speaks for the result is positive.
#pragma once

#include "explain/explained_score.h"
#include "explain/explanation.h"

namespace attend {

// A token that may be taken away: special ones stay.
struct TokenPlace {
  std::size_t side = 0;
  std::int64_t token = 0;
};

// What is asked of a model, and what stands where a token is taken away.
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

// The places and weights of the rule of so many points for integrals from 0 to 1.
std::vector<std::pair<double, double>> gauss_legendre(int points);

}  // namespace attend
