#include "nn/loss.h"

#include "nn/parallel.h"

namespace attend {
namespace {

struct LinearCrossEntropy : torch::autograd::Function<LinearCrossEntropy> {
  // The gradients are computed here, where the scores are at hand; backward only scales them.
  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& hidden, const Tensor& weight,
                        const std::optional<Tensor>& maybe_bias, const Tensor& labels, double smoothing,
                        PackedWeight* packed, bool with_gradients) {
    const Tensor bias = maybe_bias.value_or(Tensor());
    const std::int64_t T = hidden.size(0), V = weight.size(0);
    Tensor dhidden, dweight, dbias;
    if (with_gradients) {
      dhidden = at::empty_like(hidden);
      dweight = T > 0 ? at::empty_like(weight) : at::zeros_like(weight);
      if (bias.defined()) dbias = at::zeros_like(bias);
    }
    const Tensor losses = at::empty({T}, hidden.options());
    const std::int64_t block = std::clamp<std::int64_t>((std::int64_t{16} << 20) / V, 64, 1024);
    for (std::int64_t begin = 0; begin < T; begin += block) {
      const std::int64_t rows = std::min(block, T - begin);
      const Tensor x = hidden.narrow(0, begin, rows);
      Tensor scores;  // [rows, V]
      {
        at::NoGradGuard no_grad;
        scores = linear(x, weight, bias, with_gradients ? nullptr : packed);
      }
      const kernels::CrossEntropy c{labels.const_data_ptr<std::int64_t>() + begin, V,
                                    static_cast<float>(smoothing), 1.0f, losses.data_ptr<float>() + begin};
      parallel_ranges(rows, 4 * V, [&](std::int64_t first, std::int64_t last) {
        kernels::kernels().cross_entropy(c, scores.data_ptr<float>(), first, last);
      });
      if (!with_gradients) continue;
      // `scores` holds its own gradient now.
      matrix_product(dhidden.narrow(0, begin, rows), scores, weight, false);
      matrix_product(dweight, scores.t(), x, begin > 0);
      if (dbias.defined()) dbias += scores.sum(0);
    }
    if (with_gradients) ctx->save_for_backward({dhidden, dweight, dbias});
    // In double: the sum of many thousand losses keeps its digits.
    return losses.sum(at::kDouble).to(at::kFloat);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    torch::autograd::variable_list result(7);
    const auto saved = ctx->get_saved_variables();
    const bool plain = gradients[0].item<float>() == 1;  // as in training, which divides in the optimizer
    for (std::size_t i = 0; i < saved.size(); ++i)
      if (saved[i].defined()) result[i] = plain ? saved[i] : saved[i] * gradients[0];
    return result;
  }
};

// Those that are not to be ignored; Error for one outside the vocabulary.
std::int64_t count_labels(const Tensor& labels, std::int64_t vocabulary) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < labels.numel(); ++i) {
    const std::int64_t label = labels.const_data_ptr<std::int64_t>()[i];
    if (label == kIgnoredLabel) continue;
    if (label < 0 || label >= vocabulary)
      fail("label {} is outside the vocabulary of {} tokens", label, vocabulary);
    ++count;
  }
  return count;
}

}  // namespace

LossSum cross_entropy(const Tensor& scores, const Tensor& labels, double smoothing) {
  LossSum result;
  result.count = count_labels(labels.cpu().contiguous(), scores.size(1));
  result.sum = at::cross_entropy_loss(scores, labels, {}, at::Reduction::Sum, kIgnoredLabel, smoothing);
  return result;
}

LossSum linear_cross_entropy(const Tensor& hidden, const Tensor& weight, const Tensor& bias,
                             const Tensor& labels, double smoothing, PackedWeight& packed) {
  const Tensor host = labels.cpu().contiguous();
  LossSum result;
  result.count = count_labels(host, weight.size(0));
  if (on_kernels(hidden)) {
    const bool with_gradients =
        at::GradMode::is_enabled() && (hidden.requires_grad() || weight.requires_grad());
    result.sum = LinearCrossEntropy::apply(hidden.contiguous(), weight, if_defined(bias), host, smoothing,
                                           &packed, with_gradients);
  } else {
    result.sum = at::cross_entropy_loss(at::linear(hidden, weight, bias), labels, {}, at::Reduction::Sum,
                                        kIgnoredLabel, smoothing);
  }
  return result;
}

}  // namespace attend
