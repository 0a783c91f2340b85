#include "metrics/perplexity.h"

#include <cmath>

namespace attend {

Figures PerplexityMetric::figures() const {
  const double loss = quotient(loss_, static_cast<double>(tokens_));
  return {{"loss", loss}, {"perplexity", std::exp(loss)}};
}

}  // namespace attend
