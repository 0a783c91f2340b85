#include "nn/losses/distillation.h"

#include "tensor/parallel.h"

#include <array>

namespace attend {
namespace {

// Sum of p (log p - log q) for the teacher's p and the student's q, given their logarithms.
Tensor divergence(const Tensor& student, const Tensor& teacher) {
  const Tensor wanted = teacher.exp();
  // A token with target 0 may have score -infinity; its term must be 0, not 0 times infinity.
  return ops::where(wanted > 0, wanted * (teacher - student), ops::zeros({}, wanted.type())).sum();
}

Tensor scores_of(const VocabularyScores& s, std::int64_t begin, std::int64_t rows) {
  if (s.stored.defined()) return s.stored.narrow(0, begin, rows);
  return linear(s.hidden.narrow(0, begin, rows), s.weight, s.bias, nullptr);
}

// The gradients are computed here, where the scores are available; the rule only scales them.
Tensor kernel_soft_cross_entropy(const VocabularyScores& student, const VocabularyScores& teacher,
                                 double temperature) {
  const Tensor &hidden = student.hidden, &weight = student.weight, &bias = student.bias;
  const bool with_gradients = ops::tracked(hidden, weight, bias);
  Tensor dhidden, dweight, dbias;
  const auto compute = [&] {
    const Unrecorded unrecorded;
    const std::int64_t n = hidden.size(0), block = vocabulary_block(hidden.size(1), weight.size(0));
    if (with_gradients) {
      dhidden = ops::empty_like(hidden);
      dweight = ops::zeros_like(weight);
      if (bias.defined()) dbias = ops::zeros_like(bias);
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
    return sum.to(hidden.type());
  };
  const auto rule = [&](const Tensor&) -> ops::Rule {
    return [parts = std::vector<Tensor>{dhidden, dweight, dbias}](const Tensor& gradient) {
      return scaled_parts(parts, gradient);
    };
  };
  return ops::with_rule(compute, rule, hidden, weight, bias);
}

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
  if (student.stored.defined()) fail("a student's scores must be computed, not stored");
  const auto ours = shape_of(student), theirs = shape_of(teacher);
  if (ours != theirs)
    fail("the teacher's scores: expected the shape [{}] of the student's, found [{}]", fmt::join(ours, ", "),
         fmt::join(theirs, ", "));
  const VocabularyScores rows{student.hidden.contiguous(), student.weight, student.bias, {}};
  return {kernel_soft_cross_entropy(rows, teacher, temperature), ours[0]};
}

}  // namespace attend
