#include "nn/layers/pooling.h"

namespace attend {
namespace {

void check_lengths(const Offsets& offsets) {
  for (std::int64_t b = 0; b < offsets.count(); ++b)
    if (offsets.length(b) == 0) fail("a text without tokens has no vector: text {} of its batch", b + 1);
}

// One tape node for all texts. Each text is summed separately, so that its sum is the same as alone.
Tensor mean_of_texts(const Tensor& hidden, const Offsets& offsets) {
  const auto compute = [&] {
    Tensor pooled = ops::empty({offsets.count(), hidden.size(1)}, hidden.type());
    for (std::int64_t b = 0; b < offsets.count(); ++b) pooled[b].copy_(offsets.part(hidden, b).mean(0));
    return pooled;
  };
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return [lengths = ops::tensor(offsets.lengths(), kLong)](const Tensor& gradient) {
      const Tensor parts = gradient / lengths.unsqueeze(1).to(gradient.type());
      return std::vector<Tensor>{parts.repeat_interleave(lengths, 0)};
    };
  };
  return ops::with_rule(compute, rule, hidden);
}

// The weighted mean of rows; the weight is the position, from 1.
Tensor weighted_mean(const Tensor& hidden, const Offsets& offsets, const Tensor& places) {
  std::vector<Tensor> means;
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    const Tensor weights = places.defined() ? offsets.part(places, b).to(hidden.type()) + 1
                                            : ops::arange(1, offsets.length(b) + 1, hidden.type());
    means.push_back((offsets.part(hidden, b) * weights.unsqueeze(1)).sum(0) / weights.sum());
  }
  return ops::stack(means);
}

// The gradient goes to the token with the largest number.
Tensor max_of_texts(const Tensor& hidden, const Offsets& offsets) {
  Tensor rows = ops::empty({offsets.count(), hidden.size(1)}, kLong);
  const auto compute = [&] {
    Tensor pooled = ops::empty({offsets.count(), hidden.size(1)}, hidden.type());
    for (std::int64_t b = 0; b < offsets.count(); ++b) {
      const auto [values, places] = offsets.part(hidden, b).max(0);
      pooled[b].copy_(values);
      rows[b].copy_(places + offsets.begin(b));
    }
    return pooled;
  };
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return [rows, total = hidden.size(0)](const Tensor& gradient) {
      Tensor sum = ops::zeros({total, rows.size(1)}, gradient.type());
      sum.scatter_(0, rows, gradient);
      return std::vector<Tensor>{sum};
    };
  };
  return ops::with_rule(compute, rule, hidden);
}

}  // namespace

Tensor pool(const Tensor& hidden, const Offsets& offsets, SentencePooling::Mode mode, const Tensor& places) {
  check_lengths(offsets);
  switch (mode) {
    case SentencePooling::Mode::cls:
      return hidden.index_select(0, offsets.first_rows());
    case SentencePooling::Mode::mean:
      return mean_of_texts(hidden, offsets);
    case SentencePooling::Mode::max:
      return max_of_texts(hidden, offsets);
    case SentencePooling::Mode::mean_sqrt_len: {
      const Tensor lengths = ops::tensor(offsets.lengths(), hidden.type());
      return mean_of_texts(hidden, offsets) * lengths.sqrt().unsqueeze(1);
    }
    case SentencePooling::Mode::weighted_mean:
      return weighted_mean(hidden, offsets, places);
    case SentencePooling::Mode::last:
      return hidden.index_select(0, offsets.last_rows());
  }
  fail("unknown pooling mode");
}

Tensor to_unit_length(const Tensor& x) {
  const Tensor length = ops::vector_norm(x, 2, {1}, true).clamp_min(1e-12);
  // NaN instead of an infinite length, which would turn x into zeros that no check finds.
  return x / (length + (length - length));
}

}  // namespace attend
