#include "nn/pooling.h"

namespace attend {
namespace {

using autograd::AutogradContext;
using autograd::Function;
using autograd::variable_list;

void check_lengths(const Offsets& offsets) {
  for (std::int64_t b = 0; b < offsets.count(); ++b)
    if (offsets.length(b) == 0)
      fail("a text without tokens has no vector: it is text {} of its batch", b + 1);
}

// One node of the graph for all texts. Each text is summed by itself, so that it adds up as it would alone.
struct MeanFunction : public Function<MeanFunction> {
  static Tensor forward(AutogradContext* ctx, const Tensor& hidden, const Offsets& offsets) {
    Tensor pooled = ops::empty({offsets.count(), hidden.size(1)}, hidden.type());
    for (std::int64_t b = 0; b < offsets.count(); ++b) pooled[b].copy_(offsets.part(hidden, b).mean(0));
    ctx->saved_data["lengths"] = offsets.lengths();
    return pooled;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const Tensor lengths =
        ops::tensor(ctx->saved_data["lengths"].toIntVector(), kLong).to(gradients[0].device());
    const Tensor parts = gradients[0] / lengths.unsqueeze(1).to(gradients[0].type());
    return {parts.repeat_interleave(lengths, 0), Tensor()};
  }
};

// The mean of rows, each counting as often as its place says, from 1.
Tensor weighted_mean(const Tensor& hidden, const Offsets& offsets, const Tensor& places) {
  std::vector<Tensor> means;
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    const Tensor weights = places.defined() ? offsets.part(places, b).to(hidden.type()) + 1
                                            : ops::arange(1, offsets.length(b) + 1, hidden.type());
    means.push_back((offsets.part(hidden, b) * weights.unsqueeze(1)).sum(0) / weights.sum());
  }
  return ops::stack(means);
}

// The gradient goes to the token that had the largest number.
struct MaxFunction : public Function<MaxFunction> {
  static Tensor forward(AutogradContext* ctx, const Tensor& hidden, const Offsets& offsets) {
    Tensor pooled = ops::empty({offsets.count(), hidden.size(1)}, hidden.type());
    Tensor rows = ops::empty({offsets.count(), hidden.size(1)}, kLong);
    for (std::int64_t b = 0; b < offsets.count(); ++b) {
      const auto [values, places] = offsets.part(hidden, b).max(0);
      pooled[b].copy_(values);
      rows[b].copy_(places + offsets.begin(b));
    }
    ctx->save_for_backward({rows});
    ctx->saved_data["total"] = hidden.size(0);
    return pooled;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const Tensor rows = ctx->get_saved_variables()[0];
    return {ops::zeros({ctx->saved_data["total"].toInt(), rows.size(1)}, gradients[0].type())
                .scatter_(0, rows, gradients[0]),
            Tensor()};
  }
};

}  // namespace

Tensor pool(const Tensor& hidden, const Offsets& offsets, SentencePooling::Mode mode, const Tensor& places) {
  check_lengths(offsets);
  switch (mode) {
    case SentencePooling::Mode::cls:
      return hidden.index_select(0, offsets.first_rows());
    case SentencePooling::Mode::mean:
      return MeanFunction::apply(hidden, offsets);
    case SentencePooling::Mode::max:
      return MaxFunction::apply(hidden, offsets);
    case SentencePooling::Mode::mean_sqrt_len: {
      const Tensor lengths = ops::tensor(offsets.lengths(), hidden.type());
      return MeanFunction::apply(hidden, offsets) * lengths.sqrt().unsqueeze(1);
    }
    case SentencePooling::Mode::weighted_mean:
      return weighted_mean(hidden, offsets, places);
    case SentencePooling::Mode::last:
      return hidden.index_select(0, offsets.last_rows());
  }
  fail("unknown way to pool");
}

Tensor to_unit_length(const Tensor& x) {
  const Tensor length = ops::vector_norm(x, 2, {1}, true).clamp_min(1e-12);
  // NaN in place of an infinite length, which would make zeros of x that no check finds.
  return x / (length + (length - length));
}

}  // namespace attend
