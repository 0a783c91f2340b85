#include "nn/heads.h"

namespace attend {

LanguageModelHeadImpl::LanguageModelHeadImpl(const LanguageModelHeadSpec& spec, const Tensor& tokens)
    : spec_(spec) {
  const std::int64_t vocabulary = tokens.size(0), width = tokens.size(1);
  if (spec.transform) {
    dense_ = register_module("dense", Linear(width, width));
    norm_ = register_module("norm", LayerNorm(width, spec.transform->norm));
  }
  weight_ = spec.untied ? register_parameter("weight", at::empty({vocabulary, width})) : tokens;
  if (spec.bias) bias_ = register_parameter("bias", at::zeros({vocabulary}));
}

Tensor LanguageModelHeadImpl::transform(const Tensor& hidden) {
  return spec_.transform ? norm_(dense_(hidden, spec_.transform->activation)) : hidden;
}

Tensor LanguageModelHeadImpl::forward(const Tensor& hidden) {
  return linear(transform(hidden), weight_, bias_, &packed_);
}

LossSum LanguageModelHeadImpl::loss(const Tensor& hidden, const Tensor& labels, double smoothing) {
  return linear_cross_entropy(transform(hidden), weight_, bias_, labels, smoothing, packed_);
}

PoolerImpl::PoolerImpl(std::int64_t width) {
  dense_ = register_module("dense", Linear(width, width));
}

Tensor PoolerImpl::forward(const Tensor& hidden, const Offsets& offsets) {
  return dense_(hidden.index_select(0, offsets.first_rows().to(hidden.device())), Activation::tanh);
}

Tensor classification_loss(const Tensor& scores, const Tensor& labels, std::optional<ProblemType> problem) {
  const std::int64_t count = scores.size(1);
  if (!problem)  // as the original infers it
    problem = count == 1                                  ? ProblemType::regression
              : !at::isFloatingType(labels.scalar_type()) ? ProblemType::single_label
                                                          : ProblemType::multi_label;
  switch (*problem) {
    case ProblemType::regression:
      return at::mse_loss(scores.squeeze(), labels.to(scores.scalar_type()).squeeze());
    case ProblemType::single_label: {
      const Tensor flat = labels.reshape(-1).to(at::kLong);
      if (flat.numel() != scores.size(0))
        fail("labels: expected one number per text ({}), found {}", scores.size(0), flat.numel());
      if (flat.lt(0).logical_and(flat.ne(kIgnoredLabel)).logical_or(flat.ge(count)).any().item<bool>())
        fail("labels: expected numbers from 0 to {}", count - 1);
      return at::cross_entropy_loss(scores, flat, {}, at::Reduction::Mean, kIgnoredLabel);
    }
    case ProblemType::multi_label:
      return at::binary_cross_entropy_with_logits(scores, labels.to(scores.scalar_type()));
  }
  fail("unknown problem type");
}

}  // namespace attend
