#include "nn/losses/loss.h"

#include "tensor/parallel.h"

namespace attend {
namespace {

// Rows [0, rows) of one pass's scores, or of two passes whose predictions should also agree (R-Drop). Turns
// the scores into the gradients of the losses; writes the losses to `losses` [readings, rows].
struct RowLosses {
  const LossOptions& options;
  std::int64_t V;
  std::array<const std::int64_t*, 2> labels;
  std::array<float*, 2> scores, losses;

  void operator()(std::int64_t first, std::int64_t last) const {
    if (options.r_drop == 0) return cross_entropies(0, first, last);
    const auto weight = static_cast<float>(options.r_drop / 2);
    const auto columns = static_cast<std::size_t>(V);
    std::vector<float> gradients(2 * columns);  // of the disagreement
    for (std::int64_t t = first; t < last; ++t) {
      const std::array<float*, 2> rows{scores[0] + t * V, scores[1] + t * V};
      const bool counts = labels[0][t] >= 0;
      const float kl = !counts
                           ? 0
                           : kernels::kernels().disagreement(
                                 {rows[0], rows[1], V, weight, gradients.data(), gradients.data() + columns});
      for (std::size_t reading : {0, 1}) {
        cross_entropies(reading, t, t + 1);
        if (!counts) continue;
        const float* gradient = gradients.data() + reading * columns;
        for (std::int64_t i = 0; i < V; ++i) rows[reading][i] += gradient[i];
      }
      losses[0][t] += weight * kl;
    }
  }

 private:
  void cross_entropies(std::size_t reading, std::int64_t first, std::int64_t last) const {
    const kernels::CrossEntropy c{labels[reading], V, static_cast<float>(options.label_smoothing), 1.0f,
                                  losses[reading]};
    kernels::kernels().cross_entropy(c, scores[reading], first, last);
  }
};

// The sum of the losses and, if needed, its gradients, which are computed while the scores are in memory.
struct LossAndGradients {
  Tensor sum, hidden, weight, bias;
};

LossAndGradients losses_of_rows(const Tensor& hidden, const Tensor& weight, const Tensor& bias,
                                const Tensor& labels, const LossOptions& options, PackedWeight* packed,
                                bool with_gradients) {
  const std::int64_t V = weight.size(0), readings = options.r_drop > 0 ? 2 : 1;
  const std::int64_t T = hidden.size(0) / readings;  // of one pass
  LossAndGradients result;
  if (with_gradients) {
    result.hidden = ops::empty_like(hidden);
    // A frozen matrix needs none, and it would cost as much as the scores.
    if (ops::needs_gradient(weight))
      result.weight = T > 0 ? ops::empty_like(weight) : ops::zeros_like(weight);
    if (ops::needs_gradient(bias)) result.bias = ops::zeros_like(bias);
  }
  const Tensor losses = ops::empty({readings, T}, hidden.type());
  const std::int64_t block = vocabulary_block(hidden.size(1), V);
  Tensor gradients;  // [readings, block, V]
  std::optional<RightFactor> to_scores, to_hidden;
  if (with_gradients) {
    gradients = ops::empty({readings, std::min(block, T), V}, hidden.type());
    to_scores.emplace(weight.t(), hidden.size(0));
    to_hidden.emplace(weight, hidden.size(0));
  }
  for (std::int64_t begin = 0; begin < T; begin += block) {
    const std::int64_t rows = std::min(block, T - begin);
    std::array<Tensor, 2> x, scores;  // [rows, d], [rows, V]
    RowLosses row_losses{options, V, {}, {}, {}};
    for (std::int64_t r = 0; r < readings; ++r) {
      x[r] = hidden.narrow(0, r * T + begin, rows);
      if (with_gradients)
        to_scores->multiply(scores[r] = gradients[r].narrow(0, 0, rows), x[r], bias);
      else
        scores[r] = linear(x[r], weight, bias, packed);
      row_losses.labels[r] = labels.const_data<std::int64_t>() + r * T + begin;
      row_losses.scores[r] = scores[r].data<float>();
      row_losses.losses[r] = losses[r].data<float>() + begin;
    }
    parallel_ranges(rows, 4 * readings * V, row_losses);
    if (!with_gradients) continue;
    // `scores` hold their own gradients now.
    for (std::int64_t r = 0; r < readings; ++r) {
      to_hidden->multiply(result.hidden.narrow(0, r * T + begin, rows), scores[r]);
      if (result.weight.defined()) matrix_product(result.weight, scores[r].t(), x[r], begin > 0 || r > 0);
      if (result.bias.defined()) result.bias += scores[r].sum(0);
    }
  }
  // In double, so that the sum of many thousand losses keeps its precision.
  result.sum = losses.sum(kDouble).to(kFloat);
  return result;
}

Tensor kernel_cross_entropy(const Tensor& hidden, const Tensor& weight, const Tensor& bias,
                            const Tensor& labels, const LossOptions& options, PackedWeight* packed) {
  const bool with_gradients = ops::tracked(hidden, weight, bias);
  LossAndGradients made;
  const auto compute = [&] {
    const Unrecorded unrecorded;
    made = losses_of_rows(hidden, weight, bias, labels, options, packed, with_gradients);
    return std::exchange(made.sum, {});
  };
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return [parts = std::vector<Tensor>{made.hidden, made.weight, made.bias}](const Tensor& gradient) {
      return scaled_parts(parts, gradient);
    };
  };
  return ops::with_rule(compute, rule, hidden, weight, bias);
}

}  // namespace

std::vector<Tensor> scaled_parts(const std::vector<Tensor>& parts, const Tensor& by) {
  if (by.item<float>() == 1) return parts;
  std::vector<Tensor> scaled;
  for (const Tensor& part : parts) scaled.push_back(part.defined() ? part * by : part);
  return scaled;
}

std::int64_t count_labels(const Tensor& labels, std::int64_t vocabulary, const LossOptions& options) {
  const Tensor host = labels.contiguous();
  const auto* const values = host.const_data<std::int64_t>();
  const std::int64_t half = labels.numel() / 2;
  if (options.r_drop > 0 && (labels.numel() != 2 * half || !std::equal(values, values + half, values + half)))
    fail("R-Drop expects a batch twice, one copy after the other; the halves of {} labels differ",
         labels.numel());
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < labels.numel(); ++i) {
    const std::int64_t label = values[i];
    if (label == kIgnoredLabel) continue;
    if (label < 0 || label >= vocabulary)
      fail("label {} is outside the vocabulary of {} tokens", label, vocabulary);
    ++count;
  }
  return count;
}

// Few enough rows that their scores (16 MB) stay in the last-level cache between one product and the next;
// but up to four times as many if reading the weight again for each block costs more.
std::int64_t vocabulary_block(std::int64_t width, std::int64_t vocabulary) {
  const std::int64_t cached = (std::int64_t{4} << 20) / vocabulary;
  return std::clamp<std::int64_t>(std::clamp(width, cached, 4 * cached), 64, 1024);
}

LossSum cross_entropy(const Tensor& scores, const Tensor& labels, const LossOptions& options) {
  LossSum result;
  result.count = count_labels(labels, scores.size(1), options);
  result.sum = ops::cross_entropy_loss(scores, labels, {}, ops::Reduction::Sum, kIgnoredLabel,
                                       options.label_smoothing);
  if (options.r_drop == 0) return result;
  const std::vector<Tensor> readings = ops::log_softmax(scores, 1).chunk(2);  // log p, log q: [T / 2, V]
  // KL(p || q) + KL(q || p) is the sum of (p - q) (log p - log q).
  const Tensor disagreements = (readings[0].exp() - readings[1].exp()) * (readings[0] - readings[1]);
  const Tensor counts = labels.chunk(2)[0].ne(kIgnoredLabel);
  result.sum = result.sum + options.r_drop / 2 * (disagreements.sum(1) * counts).sum();
  return result;
}

LossSum linear_cross_entropy(const Tensor& hidden, const Tensor& weight, const Tensor& bias,
                             const Tensor& labels, const LossOptions& options, PackedWeight& packed) {
  if (labels.numel() != hidden.size(0))
    fail("expected a label for each of {} rows, found {}", hidden.size(0), labels.numel());
  if (!on_kernels(hidden)) return cross_entropy(ops::linear(hidden, weight, bias), labels, options);
  LossSum result;
  result.count = count_labels(labels, weight.size(0), options);
  result.sum = kernel_cross_entropy(hidden.contiguous(), weight, bias, labels.contiguous(), options, &packed);
  return result;
}

}  // namespace attend
