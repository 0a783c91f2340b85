// Searching a text for an answer: Yang et al. 2019, "XLNet", arXiv:1906.08237, appendix A.3.
#pragma once

#include "nn/layers/norm.h"
#include "nn/linear/linear.h"
#include "nn/spec/spec.h"

namespace attend {

class SpanSearchImpl : public Module {
 public:
  SpanSearchImpl(const SpanSearchSpec& spec, std::int64_t width);

  // hidden [B, L, d] -> [B, L]: the score of each position as the start of an answer.
  Tensor starts(const Tensor& hidden, Pass& pass);
  // The score of each position as the end of an answer that starts at `start`, states [..., d] like hidden
  // [..., d]: [...].
  Tensor ends(const Tensor& hidden, const Tensor& start, Pass& pass);
  // The score of "no answer", from the states of its start and of the text's summary: [B, d] each -> [B].
  Tensor absent(const Tensor& start, const Tensor& summary, Pass& pass);

  const SpanSearchSpec& spec() const { return spec_; }

 private:
  SpanSearchSpec spec_;
  Linear start_{nullptr};
  Linear end_in_{nullptr}, end_out_{nullptr};
  LayerNorm end_norm_{nullptr};
  Linear absent_in_{nullptr}, absent_out_{nullptr};
};
ATTEND_MODULE(SpanSearch);

}  // namespace attend
