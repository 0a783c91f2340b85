#include "nn/losses/label_loss.h"

#include <limits>

namespace attend {
namespace {

// The targets with the scores' type and shape.
Tensor targets_like(const Tensor& scores, const Tensor& targets) {
  if (targets.numel() != scores.numel())
    fail("targets: expected {} numbers of the shape [{}], found the shape [{}]", scores.numel(),
         fmt::join(scores.sizes(), ", "), fmt::join(targets.sizes(), ", "));
  return targets.to(scores.type()).reshape(scores.sizes());
}

// Labels on the CPU, one for each text.
std::vector<std::int64_t> one_each(const Tensor& labels, const Offsets& texts, const char* name) {
  if (labels.numel() != texts.count() || !ops::is_integer(labels.type(), false))
    fail("{}: expected an integer for each of {} texts, found {} of the shape [{}]", name, texts.count(),
         name_of(labels.type()), fmt::join(labels.sizes(), ", "));
  const Tensor host = labels.to(kLong).contiguous();
  const auto* const begin = host.const_data<std::int64_t>();
  return {begin, begin + host.numel()};
}

// Cross-entropy of the softmax over each text's rows of scores [T] against a position in it, for texts that
// contain their position.
LossSum ragged_cross_entropy(const Tensor& scores, const Offsets& texts,
                             const std::vector<std::int64_t>& places) {
  std::vector<std::int64_t> counted, rows;
  for (std::int64_t b = 0; b < texts.count(); ++b) {
    const std::int64_t place = places[static_cast<std::size_t>(b)];
    if (place < 0 || place >= texts.length(b)) continue;
    counted.push_back(b);
    rows.push_back(texts.begin(b) + place);
  }
  const auto index = [&](const std::vector<std::int64_t>& values) { return ops::tensor(values, kLong); };
  const Tensor text = ops::repeat_interleave(index(texts.lengths()));  // [T]: which text a row is of
  // Subtracts the maximum of each text: it cancels, so no gradient flows through it.
  const Tensor largest = ops::full({texts.count()}, -std::numeric_limits<double>::infinity(), scores.type())
                             .scatter_reduce(0, text, scores.detach(), "amax");
  const Tensor shifted = scores - largest.index_select(0, text);
  const Tensor totals = ops::zeros({texts.count()}, scores.type()).index_add(0, text, shifted.exp());
  const Tensor losses = totals.index_select(0, index(counted)).log() - shifted.index_select(0, index(rows));
  return {losses.sum(), static_cast<std::int64_t>(counted.size())};
}

void check_rows(const Tensor& scores, const Offsets& texts, Dimensions shape) {
  if (scores.sizes() != shape)
    fail("scores: expected the shape [{}] for {} texts of {} rows, found [{}]", fmt::join(shape, ", "),
         texts.count(), texts.total(), fmt::join(scores.sizes(), ", "));
}

void check_pairs(const Tensor& a, const Tensor& b, const char* expected, bool fits) {
  if (a.dim() != 2 || b.dim() != 2 || a.size(1) != b.size(1) || !fits)
    fail("expected {}, found the shapes [{}] and [{}]", expected, fmt::join(a.sizes(), ", "),
         fmt::join(b.sizes(), ", "));
}

// Normalizes rows to length 1; rows of zeros stay zero.
Tensor unit_rows(const Tensor& rows) {
  return rows / rows.norm(2, 1, /*keepdim=*/true).clamp_min(1e-12);
}

}  // namespace

LossSum squared_error(const Tensor& scores, const Tensor& targets) {
  return {ops::mse_loss(scores, targets_like(scores, targets), ops::Reduction::Sum), scores.numel()};
}

LossSum sigmoid_cross_entropy(const Tensor& scores, const Tensor& targets) {
  const Tensor wanted = targets_like(scores, targets);
  if (!wanted.ge(0).logical_and(wanted.le(1)).all().item<bool>())
    fail("targets: expected numbers from 0 to 1, found others");
  return {ops::binary_cross_entropy_with_logits(scores, wanted, {}, {}, ops::Reduction::Sum), scores.numel()};
}

LossSum choice_cross_entropy(const Tensor& scores, const Offsets& questions, const Tensor& labels) {
  check_rows(scores, questions, {questions.total()});
  const std::vector<std::int64_t> places = one_each(labels, questions, "labels");
  for (std::int64_t b = 0; b < questions.count(); ++b) {
    const std::int64_t place = places[static_cast<std::size_t>(b)];
    if (place != kIgnoredLabel && (place < 0 || place >= questions.length(b)))
      fail("label {} is outside question {} with its {} choices", place, b, questions.length(b));
  }
  return ragged_cross_entropy(scores, questions, places);
}

SpanLoss span_cross_entropy(const Tensor& scores, const Offsets& texts, const Tensor& starts,
                            const Tensor& ends) {
  check_rows(scores, texts, {texts.total(), 2});
  return {ragged_cross_entropy(scores.select(1, 0), texts, one_each(starts, texts, "starts")),
          ragged_cross_entropy(scores.select(1, 1), texts, one_each(ends, texts, "ends"))};
}

LossSum cosine_distance(const Tensor& a, const Tensor& b) {
  check_pairs(a, b, "as many rows of the same width", a.sizes() == b.sizes());
  return {(1 - ops::cosine_similarity(a, b, 1)).sum(), a.size(0)};
}

LossSum contrastive_cross_entropy(const Tensor& a, const Tensor& b, double scale, bool symmetric,
                                  const Tensor& left_out) {
  const std::int64_t B = a.size(0);
  check_pairs(a, b, "at least as many second rows as first ones, and of the same width", B <= b.size(0));
  Tensor scores = ops::mm(unit_rows(a), unit_rows(b).t()) * scale;  // [B, N]
  if (left_out.defined()) {
    if (left_out.sizes() != scores.sizes() || left_out.diagonal().any().item<bool>())
      fail("left_out: expected the shape [{}] and nothing on the diagonal, found the shape [{}]",
           fmt::join(scores.sizes(), ", "), fmt::join(left_out.sizes(), ", "));
    scores = scores.masked_fill(left_out, -std::numeric_limits<double>::infinity());
  }
  const Tensor labels = ops::arange(B, kLong);
  const auto sum = [&](const Tensor& rows) {
    return ops::cross_entropy_loss(rows, labels, {}, ops::Reduction::Sum);
  };
  if (!symmetric) return {sum(scores), B};
  return {(sum(scores) + sum(scores.narrow(1, 0, B).t())) / 2, B};
}

}  // namespace attend
