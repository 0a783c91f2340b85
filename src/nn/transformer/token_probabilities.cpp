#include "nn/transformer/token_probabilities.h"

#include "nn/transformer/vocabulary_scores.h"
#include "tensor/parallel.h"

namespace attend {
namespace {

struct TokenScores {
  Tensor hidden, weight, bias, labels;  // [n, d], [V, d], [V] or undefined, [n]

  std::int64_t rows() const { return hidden.size(0); }
  std::int64_t vocabulary() const { return weight.size(0); }

  // use(begin, gradients [rows, V], losses [rows]) for a block of rows at a time. The gradients of each row's
  // -log p are multiplied by `factors` [n]; undefined: by 1.
  template <class Use>
  void by_blocks(const Tensor& factors, const Use& use) const {
    const std::int64_t n = rows(), V = vocabulary(), block = std::min(n, vocabulary_block(hidden.size(1), V));
    const RightFactor to_scores(weight.t(), n);
    const Tensor room = ops::empty({block, V}, kFloat), losses = ops::empty({block}, kFloat);
    const auto* const by = factors.defined() ? factors.const_data<float>() : nullptr;
    const auto* const tokens = labels.const_data<std::int64_t>();
    for (std::int64_t begin = 0; begin < n; begin += block) {
      const std::int64_t count = std::min(block, n - begin);
      const Tensor scores = room.narrow(0, 0, count), own = losses.narrow(0, 0, count);
      to_scores.multiply(scores, hidden.narrow(0, begin, count), bias);
      auto *const score = scores.data<float>(), *const loss = own.data<float>();
      parallel_ranges(count, 4 * V, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t t = first; t < last; ++t) {
          const kernels::CrossEntropy each{tokens + begin, V, 0, by == nullptr ? 1 : by[begin + t], loss};
          kernels::kernels().cross_entropy(each, score, t, t + 1);
        }
      });
      use(begin, scores, own);
    }
  }

  Tensor log_probabilities() const {
    const Tensor result = ops::empty({rows()}, kFloat);
    by_blocks({}, [&](std::int64_t begin, const Tensor&, const Tensor& losses) {
      result.narrow(0, begin, losses.size(0)).copy_(-losses);
    });
    return result;
  }

  // Gradients of hidden, weight and bias, if wanted, from the gradient of each log-probability.
  std::vector<Tensor> gradients(const Tensor& gradient) const {
    if (rows() == 0) return {ops::zeros_like(hidden), Tensor(), Tensor()};
    const Tensor dhidden = ops::empty_like(hidden);
    const Tensor dweight = ops::needs_gradient(weight) ? ops::empty_like(weight) : Tensor(),
                 dbias = ops::needs_gradient(bias) ? ops::zeros_like(bias) : Tensor();
    const RightFactor to_hidden(weight, rows());
    by_blocks(-gradient.to(kFloat).contiguous(),
              [&](std::int64_t begin, const Tensor& dscores, const Tensor& losses) {
                const std::int64_t count = losses.size(0);
                to_hidden.multiply(dhidden.narrow(0, begin, count), dscores);
                if (dweight.defined())
                  matrix_product(dweight, dscores.t(), hidden.narrow(0, begin, count), begin > 0);
                if (dbias.defined()) dbias += dscores.sum(0);
              });
    return {dhidden, dweight, dbias};
  }
};

Tensor by_kernels(const TokenScores& all) {
  const bool rounded = Bfloat16Products::on();
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return [hidden = ops::Saved(all.hidden), weight = ops::Saved(all.weight), bias = ops::Saved(all.bias),
            labels = all.labels, rounded](const Tensor& gradient) {
      const Bfloat16Products products(rounded);
      return TokenScores{hidden(), weight(), bias(), labels}.gradients(gradient);
    };
  };
  return ops::with_rule([&] { return all.log_probabilities(); }, rule, all.hidden, all.weight, all.bias);
}

// Whether the scores are only hidden states times a defined matrix.
bool is_product(const Transformer& model) {
  const auto& spec = model->spec().language_model_head;
  const LanguageModelHead& head = model->language_model_head;
  return spec && !spec->clusters && spec->soft_cap == 0 && head->adapters.empty() &&
         head->packed() == nullptr;
}

}  // namespace

Tensor token_log_probabilities(const Transformer& model, const Tensor& hidden, const Tensor& labels,
                               Pass& pass) {
  const auto& spec = model->spec().language_model_head;
  if (!spec) fail("expected a model with scores over a vocabulary, found one without");
  if (labels.numel() != hidden.size(0))
    fail("expected a label for each of {} rows, found {}", hidden.size(0), labels.numel());
  const PassScope scope(pass);
  if (is_product(model) && on_kernels(hidden)) {
    const VocabularyScores scores = vocabulary_scores(model, hidden, pass);
    count_labels(labels, scores.weight.size(0), {});  // an Error for one outside the vocabulary
    return by_kernels({scores.hidden.contiguous(), scores.weight, scores.bias, labels.contiguous()});
  }
  Tensor scores = model->language_model_head(hidden, pass);
  if (!spec->clusters) scores = ops::log_softmax(scores, 1);
  return scores.gather(1, labels.unsqueeze(1)).squeeze(1);
}

}  // namespace attend
