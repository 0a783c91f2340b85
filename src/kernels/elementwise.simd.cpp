// Kernels that go over rows or elements once: dropout, layer normalization, the loss, the optimizer.
#include "kernels/elementwise.h"

#include "kernels/activation.h"

#include <cfloat>
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
    const Vector rest = residual ? load_part(residual + i, lanes) : Vector{};
    store_part(out + i, fused(load_part(x + i, lanes), mask(static_cast<std::uint64_t>(i)), rest), lanes);
  }
}

void dropout_mask(float* to, std::uint64_t first, std::int64_t count, float p, std::uint64_t seed) {
  const DropoutMask mask(p, seed);
  for (std::int64_t i = 0; i < count; i += W)
    store_part(to + i, mask(first + static_cast<std::uint64_t>(i)), count - i < W ? count - i : W);
}

void layer_norm(float* out, const float* x, const float* weight, const float* bias, std::int64_t begin,
                std::int64_t end, std::int64_t d, float epsilon, float* mean, float* inverse_deviation) {
  for (std::int64_t t = begin; t < end; ++t) {
    const float* row = x + t * d;
    float* to = out + t * d;
    LaneSums numbers;
    if (bias)  // else no mean is subtracted
      for_vectors(d, [&](std::int64_t i, std::int64_t count, int p) {
        numbers.part[p] += load_part(row + i, count);
      });
    const float m = numbers.total() / static_cast<float>(d);
    // Two passes: the variance of the differences does not suffer from cancellation.
    LaneSums squares;
    for_vectors(d, [&](std::int64_t i, std::int64_t count, int p) {
      const Vector difference = first_lanes(load_part(row + i, count) - m, count, Vector{});
      squares.part[p] = fused(difference, difference, squares.part[p]);
    });
    const float variance = squares.total() / static_cast<float>(d);
    // An overflowing variance would turn the whole row into zeros, which no check finds.
    const float inverse = bias && variance > FLT_MAX ? NAN : 1 / std::sqrt(variance + epsilon);
    for_vectors(d, [&](std::int64_t i, std::int64_t count, int) {
      const Vector normal = (load_part(row + i, count) - m) * inverse;
      const Vector shift = bias ? load_part(bias + i, count) : Vector{};
      store_part(to + i, fused(normal, load_part(weight + i, count), shift), count);
    });
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
    LaneSums sum_g, sum_gn;
    for_vectors(d, [&](std::int64_t i, std::int64_t count, int p) {
      const Vector gradient = load_part(dy + i, count);
      const Vector n = (load_part(row + i, count) - m) * inverse;
      const Vector g = gradient * load_part(weight + i, count);  // zeros after the row
      sum_g.part[p] += g;
      sum_gn.part[p] = fused(g, n, sum_gn.part[p]);
      store_part(weight_gradient + i, fused(gradient, n, load_part(weight_gradient + i, count)), count);
      if (bias_gradient) store_part(bias_gradient + i, load_part(bias_gradient + i, count) + gradient, count);
    });
    // If no mean was subtracted, it has no gradient.
    const float mean_g = bias_gradient ? sum_g.total() / static_cast<float>(d) : 0,
                mean_gn = sum_gn.total() / static_cast<float>(d);
    float* to = x_gradient + t * d;
    for_vectors(d, [&](std::int64_t i, std::int64_t count, int) {
      const Vector n = (load_part(row + i, count) - m) * inverse;
      const Vector g = load_part(dy + i, count) * load_part(weight + i, count);
      store_part(to + i, fused(-n, splat(mean_gn), g - mean_g) * inverse, count);
    });
  }
}

namespace {

struct RowSums {
  float log_sum_exp, sum;
};

float highest_of(const float* row, std::int64_t length) {
  Vector top = splat(-INFINITY);
  for_vectors(length, [&](std::int64_t i, std::int64_t count, int) {
    top = max(first_lanes(load_part(row + i, count), count, splat(-INFINITY)), top);
  });
  return largest(top);
}

// The sum of e^(x - highest); each(i, count, p, e) gets the vectors of its terms, with zeros after the row.
template <class Each>
float sum_of_exponentials(const float* row, std::int64_t length, float highest, Each each) {
  LaneSums sums;
  for_vectors(length, [&](std::int64_t i, std::int64_t count, int p) {
    const Vector e = first_lanes(exp(load_part(row + i, count) - highest), count, Vector{});
    sums.part[p] += e;
    each(i, count, p, e);
  });
  return sums.total();
}

RowSums sums_of(const float* row, std::int64_t V) {
  const float highest = highest_of(row, V);
  LaneSums plain;
  const float total = sum_of_exponentials(
      row, V, highest,
      [&](std::int64_t i, std::int64_t count, int p, Vector) { plain.part[p] += load_part(row + i, count); });
  return {highest + std::log(total), plain.total()};
}

}  // namespace

void rotate(const Rotation& r, float* x, std::int64_t begin, std::int64_t end) {
  const std::int64_t step = r.halves ? 1 : 2, other = r.halves ? r.pairs : 1;
  for (std::int64_t t = begin; t < end; ++t) {
    const float *c = r.cosine + t * r.pairs, *s = r.sine + t * r.pairs;
    for (std::int64_t h = 0; h < r.heads; ++h) {
      float* head = x + t * r.row + h * r.head_size;
      for (std::int64_t i = 0; i < r.pairs; ++i) {
        float &first = head[i * step], &second = head[i * step + other];
        const float a = first, b = second;
        first = a * c[i] - b * s[i];
        second = b * c[i] + a * s[i];
      }
    }
  }
}

void cross_entropy(const CrossEntropy& c, float* logits, std::int64_t row_begin, std::int64_t row_end) {
  const std::int64_t V = c.vocabulary;
  for (std::int64_t t = row_begin; t < row_end; ++t) {
    float* row = logits + t * V;
    if (c.labels[t] < 0) {
      c.loss[t] = 0;
      std::memset(row, 0, static_cast<std::size_t>(V) * 4);
      continue;
    }
    const RowSums sums = sums_of(row, V);
    const float log_sum_exp = sums.log_sum_exp;
    const float uniform = c.smoothing / static_cast<float>(V);
    const std::int64_t label = c.labels[t];
    c.loss[t] = (1 - c.smoothing) * (log_sum_exp - row[label]) +
                c.smoothing * (log_sum_exp - sums.sum / static_cast<float>(V));
    // d loss / d logit = softmax - target, where the target is smoothed.
    const Vector offset = splat(-uniform * c.gradient_scale), scale = splat(c.gradient_scale);
    for_vectors(V, [&](std::int64_t i, std::int64_t count, int) {
      store_part(row + i, fused(exp(load_part(row + i, count) - log_sum_exp), scale, offset), count);
    });
    row[label] -= (1 - c.smoothing) * c.gradient_scale;
  }
}

float disagreement(const Disagreement& d) {
  const std::int64_t V = d.vocabulary;
  const float first_total = sums_of(d.first, V).log_sum_exp, second_total = sums_of(d.second, V).log_sum_exp;
  // With r = log p - log q: KL(p || q) = sum of p r, KL(q || p) = - sum of q r.
  LaneSums first_sums, second_sums;
  for_vectors(V, [&](std::int64_t i, std::int64_t count, int part) {
    const Vector log_p = load_part(d.first + i, count) - first_total,
                 log_q = load_part(d.second + i, count) - second_total;
    const Vector p = first_lanes(exp(log_p), count, Vector{}), q = first_lanes(exp(log_q), count, Vector{});
    store_part(d.first_gradient + i, p, count);
    store_part(d.second_gradient + i, q, count);
    first_sums.part[part] = fused(p, log_p - log_q, first_sums.part[part]);
    second_sums.part[part] = fused(q, log_q - log_p, second_sums.part[part]);
  });
  const float first_kl = first_sums.total(), second_kl = second_sums.total();
  // Gradient of the first logits: p (r - KL(p || q)) + p - q; of the second: the same with p and q exchanged.
  const float offset = second_total - first_total;
  for_vectors(V, [&](std::int64_t i, std::int64_t count, int) {
    const Vector p = load_part(d.first_gradient + i, count), q = load_part(d.second_gradient + i, count);
    const Vector r = load_part(d.first + i, count) - load_part(d.second + i, count) + offset;
    store_part(d.first_gradient + i, fused(p, r - first_kl, p - q) * d.weight, count);
    store_part(d.second_gradient + i, fused(q, -second_kl - r, q - p) * d.weight, count);
  });
  return first_kl + second_kl;
}

void softmax(float* out, const float* row, std::int64_t length) {
  const float total = sum_of_exponentials(
      row, length, highest_of(row, length),
      [&](std::int64_t i, std::int64_t count, int, Vector e) { store_part(out + i, e, count); });
  const float factor = 1 / total;
  for_vectors(length, [&](std::int64_t i, std::int64_t count, int) {
    store_part(out + i, load_part(out + i, count) * factor, count);
  });
}

void log_softmax(float* out, const float* row, std::int64_t length) {
  const float highest = highest_of(row, length);
  const float log_total =
      std::log(sum_of_exponentials(row, length, highest, [](std::int64_t, std::int64_t, int, Vector) {}));
  for_vectors(length, [&](std::int64_t i, std::int64_t count, int) {
    store_part(out + i, load_part(row + i, count) - highest - log_total, count);
  });
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
