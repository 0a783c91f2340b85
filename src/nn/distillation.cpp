#include "nn/distillation.h"

#include "tensor/parallel.h"

#include <array>

namespace attend {
namespace {

// Sum of p (log p - log q) for the teacher's p and the student's q, given their logarithms.
Tensor divergence(const Tensor& student, const Tensor& teacher) {
  const Tensor wanted = teacher.exp();
  // What is never wanted may be impossible: nothing times infinity is to be nothing.
  return ops::where(wanted > 0, wanted * (teacher - student), ops::zeros({}, wanted.type())).sum();
}

Tensor scores_of(const VocabularyScores& s, std::int64_t begin, std::int64_t rows) {
  if (s.stored.defined()) return s.stored.narrow(0, begin, rows);
  return linear(s.hidden.narrow(0, begin, rows), s.weight, s.bias, nullptr);
}

struct LinearSoftCrossEntropy : autograd::Function<LinearSoftCrossEntropy> {
  // The gradients are computed here, where the scores are at hand; backward only scales them.
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& hidden, const Tensor& weight,
                        const std::optional<Tensor>& bias, const VocabularyScores& teacher,
                        double temperature, bool with_gradients) {
    const VocabularyScores student{hidden, weight, bias.value_or(Tensor()), {}};
    const std::int64_t n = hidden.size(0), block = vocabulary_block(hidden.size(1), weight.size(0));
    Tensor dhidden, dweight, dbias;
    if (with_gradients) {
      dhidden = ops::empty_like(hidden);
      dweight = ops::zeros_like(weight);
      if (bias) dbias = ops::zeros_like(*bias);
    }
    Tensor sum = ops::zeros({}, kDouble);
    for (std::int64_t begin = 0; begin < n; begin += block) {
      const std::int64_t rows = std::min(block, n - begin);
      const auto logarithms = [&](const VocabularyScores& s) {
        return ops::log_softmax(scores_of(s, begin, rows).to(hidden.type()) / temperature, 1);
      };
      const Tensor ours = logarithms(student), theirs = logarithms(teacher);
      sum += divergence(ours, theirs) * (temperature * temperature);
      if (!with_gradients) continue;
      const Tensor dscores = (ours.exp() - theirs.exp()) * temperature;
      matrix_product(dhidden.narrow(0, begin, rows), dscores, weight, /*add=*/false);
      matrix_product(dweight, dscores.t(), hidden.narrow(0, begin, rows), /*add=*/true);
      if (dbias.defined()) dbias += dscores.sum(0);
    }
    if (with_gradients) ctx->save_for_backward({dhidden, dweight, dbias});
    return sum.to(hidden.type());
  }

  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list gradients) {
    autograd::variable_list result(6);
    const auto saved = ctx->get_saved_variables();
    for (std::size_t i = 0; i < saved.size(); ++i)
      if (saved[i].defined()) result[i] = saved[i] * gradients[0];
    return result;
  }
};

void check_temperature(double temperature) {
  if (!(temperature > 0)) fail("temperature: expected a number above 0, found {}", temperature);
}

// [n, V]
std::array<std::int64_t, 2> shape_of(const VocabularyScores& s) {
  return s.stored.defined() ? std::array{s.stored.size(0), s.stored.size(1)}
                            : std::array{s.hidden.size(0), s.weight.size(0)};
}

}  // namespace

LossSum soft_cross_entropy(const Tensor& student, const Tensor& teacher, double temperature) {
  check_temperature(temperature);
  if (student.dim() != 2 || student.sizes() != teacher.sizes())
    fail("the teacher's scores: expected the shape [{}] of the student's, found [{}]",
         fmt::join(student.sizes(), ", "), fmt::join(teacher.sizes(), ", "));
  const auto logarithms = [&](const Tensor& scores) { return ops::log_softmax(scores / temperature, 1); };
  const Tensor theirs = logarithms(teacher.detach().to(student.type()));
  return {divergence(logarithms(student), theirs) * (temperature * temperature), student.size(0)};
}

LossSum linear_soft_cross_entropy(const VocabularyScores& student, const VocabularyScores& teacher,
                                  double temperature) {
  check_temperature(temperature);
  if (student.stored.defined()) fail("a student's scores are made, not stored");
  const auto ours = shape_of(student), theirs = shape_of(teacher);
  if (ours != theirs)
    fail("the teacher's scores: expected the shape [{}] of the student's, found [{}]", fmt::join(ours, ", "),
         fmt::join(theirs, ", "));
  const bool with_gradients =
      recording() && (student.hidden.needs_gradient() || student.weight.needs_gradient());
  return {LinearSoftCrossEntropy::apply(student.hidden.contiguous(), student.weight, if_defined(student.bias),
                                        teacher, temperature, with_gradients),
          ours[0]};
}

}  // namespace attend
