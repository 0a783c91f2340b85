// Kernels that go over rows or elements once: dropout, layer normalization, the loss, the optimizer.
#include "kernels/elementwise.h"

#include "kernels/activation.h"

#include <cmath>

namespace attend::kernels::ATTEND_ISA {

void activation(Activation kind, float* out, const float* x, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += W) {
    const std::int64_t lanes = end - i < W ? end - i : W;
    store_part(out + i, activate(kind, load_part(x + i, lanes)), lanes);
  }
}

void activation_backward(Activation kind, float* gradient, const float* out_gradient, const float* x,
                         std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += W) {
    const std::int64_t lanes = end - i < W ? end - i : W;
    store_part(gradient + i, load_part(out_gradient + i, lanes) * slope(kind, load_part(x + i, lanes)),
               lanes);
  }
}

void dropout_add(float* out, const float* x, const float* residual, std::int64_t begin, std::int64_t end,
                 float p, std::uint64_t seed) {
  const DropoutMask mask(p, seed);
  for (std::int64_t i = begin; i < end; i += W) {
    const std::int64_t lanes = end - i < W ? end - i : W;
    Vector y = load_part(x + i, lanes) * mask(static_cast<std::uint64_t>(i));
    if (residual) y += load_part(residual + i, lanes);
    store_part(out + i, y, lanes);
  }
}

void layer_norm(float* out, const float* x, const float* weight, const float* bias, std::int64_t begin,
                std::int64_t end, std::int64_t d, float epsilon, float* mean, float* inverse_deviation) {
  const std::int64_t whole = d / W * W;
  for (std::int64_t t = begin; t < end; ++t) {
    const float* row = x + t * d;
    float* to = out + t * d;
    Vector total{};
    if (bias) {  // else nothing is subtracted
      for (std::int64_t i = 0; i < whole; i += W) total += load(row + i);
      if (whole < d) total += load_part(row + whole, d - whole);
    }
    const float m = sum(total) / static_cast<float>(d);
    // Two passes: the variance of the differences does not cancel.
    Vector squares{};
    for (std::int64_t i = 0; i < whole; i += W) {
      const Vector difference = load(row + i) - m;
      squares += difference * difference;
    }
    float variance = sum(squares);
    for (std::int64_t i = whole; i < d; ++i) variance += (row[i] - m) * (row[i] - m);
    const float inverse = 1 / std::sqrt(variance / static_cast<float>(d) + epsilon);
    for (std::int64_t i = 0; i < whole; i += W)
      store(to + i, (load(row + i) - m) * inverse * load(weight + i) + (bias ? load(bias + i) : Vector{}));
    for (std::int64_t i = whole; i < d; ++i)
      to[i] = (row[i] - m) * inverse * weight[i] + (bias ? bias[i] : 0);
    if (mean) mean[t] = m;
    if (inverse_deviation) inverse_deviation[t] = inverse;
  }
}

void layer_norm_backward(float* x_gradient, float* weight_gradient, float* bias_gradient,
                         const float* out_gradient, const float* x, const float* weight, const float* mean,
                         const float* inverse_deviation, std::int64_t begin, std::int64_t end,
                         std::int64_t d) {
  for (std::int64_t t = begin; t < end; ++t) {
    const float* row = x + t * d;
    const float* dy = out_gradient + t * d;
    const float m = mean[t], inverse = inverse_deviation[t];
    // With n = (x - mean) / deviation and g = dy * weight: dx = (g - mean(g) - n * mean(g n)) / deviation.
    Vector sum_g{}, sum_gn{};
    for (std::int64_t i = 0; i < d; i += W) {
      const std::int64_t lanes = d - i < W ? d - i : W;
      const Vector gradient = load_part(dy + i, lanes);
      const Vector n = (load_part(row + i, lanes) - m) * inverse;
      const Vector g = gradient * load_part(weight + i, lanes);
      sum_g += g;
      sum_gn += g * n;
      store_part(weight_gradient + i, load_part(weight_gradient + i, lanes) + gradient * n, lanes);
      if (bias_gradient) store_part(bias_gradient + i, load_part(bias_gradient + i, lanes) + gradient, lanes);
    }
    // Where no mean was subtracted, none comes back.
    const float mean_g = bias_gradient ? sum(sum_g) / static_cast<float>(d) : 0,
                mean_gn = sum(sum_gn) / static_cast<float>(d);
    float* to = x_gradient + t * d;
    for (std::int64_t i = 0; i < d; i += W) {
      const std::int64_t lanes = d - i < W ? d - i : W;
      const Vector n = (load_part(row + i, lanes) - m) * inverse;
      const Vector g = load_part(dy + i, lanes) * load_part(weight + i, lanes);
      store_part(to + i, (g - mean_g - n * mean_gn) * inverse, lanes);
    }
  }
}

namespace {

struct RowSums {
  float log_sum_exp, sum;
};

float highest_of(const float* row, std::int64_t length) {
  const std::int64_t whole = length / W * W;
  Vector top = splat(-INFINITY);
  for (std::int64_t i = 0; i < whole; i += W) top = max(load(row + i), top);
  float highest = largest(top);
  for (std::int64_t i = whole; i < length; ++i) highest = row[i] > highest ? row[i] : highest;
  return highest;
}

RowSums sums_of(const float* row, std::int64_t V) {
  const std::int64_t whole = V / W * W;
  const float highest = highest_of(row, V);
  Vector exponentials{}, plain{};
  for (std::int64_t i = 0; i < whole; i += W) {
    const Vector x = load(row + i);
    exponentials += exp(x - highest);
    plain += x;
  }
  float total = sum(exponentials), logits_sum = sum(plain);
  for (std::int64_t i = whole; i < V; ++i) {
    total += std::exp(row[i] - highest);
    logits_sum += row[i];
  }
  return {highest + std::log(total), logits_sum};
}

}  // namespace

void cross_entropy(const CrossEntropy& c, float* logits, std::int64_t row_begin, std::int64_t row_end) {
  const std::int64_t V = c.vocabulary, whole = V / W * W;
  for (std::int64_t t = row_begin; t < row_end; ++t) {
    float* row = logits + t * V;
    if (c.labels[t] < 0) {
      c.loss[t] = 0;
      std::memset(row, 0, static_cast<std::size_t>(V) * 4);
      continue;
    }
    const auto [log_sum_exp, logits_sum] = sums_of(row, V);
    const float uniform = c.smoothing / static_cast<float>(V);
    const std::int64_t label = c.labels[t];
    c.loss[t] = (1 - c.smoothing) * (log_sum_exp - row[label]) +
                c.smoothing * (log_sum_exp - logits_sum / static_cast<float>(V));
    // d loss / d logit = softmax - target, the target being smoothed.
    const Vector offset = splat(-uniform * c.gradient_scale);
    for (std::int64_t i = 0; i < whole; i += W)
      store(row + i, exp(load(row + i) - log_sum_exp) * c.gradient_scale + offset);
    for (std::int64_t i = whole; i < V; ++i)
      row[i] = (std::exp(row[i] - log_sum_exp) - uniform) * c.gradient_scale;
    row[label] -= (1 - c.smoothing) * c.gradient_scale;
  }
}

float disagreement(const Disagreement& d) {
  const std::int64_t V = d.vocabulary, whole = V / W * W;
  const float first_total = sums_of(d.first, V).log_sum_exp, second_total = sums_of(d.second, V).log_sum_exp;
  // With r = log p - log q: KL(p || q) = sum of p r, KL(q || p) = - sum of q r.
  Vector first_sum{}, second_sum{};
  for (std::int64_t i = 0; i < whole; i += W) {
    const Vector log_p = load(d.first + i) - first_total, log_q = load(d.second + i) - second_total;
    const Vector p = exp(log_p), q = exp(log_q);
    store(d.first_gradient + i, p);
    store(d.second_gradient + i, q);
    first_sum += p * (log_p - log_q);
    second_sum -= q * (log_p - log_q);
  }
  float first_kl = sum(first_sum), second_kl = sum(second_sum);
  for (std::int64_t i = whole; i < V; ++i) {
    const float log_p = d.first[i] - first_total, log_q = d.second[i] - second_total;
    d.first_gradient[i] = std::exp(log_p);
    d.second_gradient[i] = std::exp(log_q);
    first_kl += d.first_gradient[i] * (log_p - log_q);
    second_kl -= d.second_gradient[i] * (log_p - log_q);
  }
  // By the first logits: p (r - KL(p || q)) + p - q; by the second: the same with p and q exchanged.
  const float offset = second_total - first_total;
  for (std::int64_t i = 0; i < whole; i += W) {
    const Vector p = load(d.first_gradient + i), q = load(d.second_gradient + i);
    const Vector r = load(d.first + i) - load(d.second + i) + offset;
    store(d.first_gradient + i, (p * (r - first_kl) + p - q) * d.weight);
    store(d.second_gradient + i, (q * (-second_kl - r) + q - p) * d.weight);
  }
  for (std::int64_t i = whole; i < V; ++i) {
    const float p = d.first_gradient[i], q = d.second_gradient[i];
    const float r = d.first[i] - d.second[i] + offset;
    d.first_gradient[i] = (p * (r - first_kl) + p - q) * d.weight;
    d.second_gradient[i] = (q * (-second_kl - r) + q - p) * d.weight;
  }
  return first_kl + second_kl;
}

void softmax(float* out, const float* row, std::int64_t length) {
  const std::int64_t whole = length / W * W;
  const float highest = highest_of(row, length);
  Vector totals{};
  for (std::int64_t i = 0; i < whole; i += W) {
    const Vector x = exp(load(row + i) - highest);
    store(out + i, x);
    totals += x;
  }
  float total = sum(totals);
  for (std::int64_t i = whole; i < length; ++i) total += out[i] = std::exp(row[i] - highest);
  const float factor = 1 / total;
  for (std::int64_t i = 0; i < whole; i += W) store(out + i, load(out + i) * factor);
  for (std::int64_t i = whole; i < length; ++i) out[i] *= factor;
}

void log_softmax(float* out, const float* row, std::int64_t length) {
  const std::int64_t whole = length / W * W;
  const float highest = highest_of(row, length);
  Vector totals{};
  for (std::int64_t i = 0; i < whole; i += W) totals += exp(load(row + i) - highest);
  float total = sum(totals);
  for (std::int64_t i = whole; i < length; ++i) total += std::exp(row[i] - highest);
  const float log_total = std::log(total);
  for (std::int64_t i = 0; i < whole; i += W) store(out + i, load(row + i) - highest - log_total);
  for (std::int64_t i = whole; i < length; ++i) out[i] = row[i] - highest - log_total;
}

std::int64_t find_above(const float* x, std::int64_t begin, std::int64_t end, float offset, float threshold) {
  constexpr std::int64_t kStep = 4 * W;
  std::int64_t i = begin;
  for (; i + kStep <= end; i += kStep) {
    IntVector below = load(x + i) + offset <= threshold;
    for (std::int64_t v = W; v < kStep; v += W) below &= load(x + i + v) + offset <= threshold;
    std::uint64_t lanes[W / 2], all = ~std::uint64_t{0};
    std::memcpy(lanes, &below, sizeof below);
    for (const std::uint64_t pair : lanes) all &= pair;
    if (~all != 0) break;
  }
  while (i < end && x[i] + offset <= threshold) ++i;
  return i;
}

void adam(const Adam& a, float* weight, const float* gradient, float* mean, float* variance,
          std::int64_t begin, std::int64_t end) {
  const float decay = 1 - a.rate * a.weight_decay;
  const float step = a.rate / a.correction1, root = 1 / std::sqrt(a.correction2);
  for (std::int64_t i = begin; i < end; ++i) {  // the compiler vectorises this
    const float g = gradient[i] * a.gradient_scale;
    mean[i] = a.beta1 * mean[i] + (1 - a.beta1) * g;
    variance[i] = a.beta2 * variance[i] + (1 - a.beta2) * g * g;
    weight[i] = weight[i] * decay - step * mean[i] / (std::sqrt(variance[i]) * root + a.epsilon);
  }
}

}  // namespace attend::kernels::ATTEND_ISA
