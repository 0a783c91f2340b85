// Activation functions on vectors.
#pragma once

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace attend::kernels::ATTEND_ISA {

inline Vector tanh(Vector x) {
  // (1 - e) / (1 + e) with e = exp(-2|x|); near 0 its odd series, because the difference would cancel.
  const Vector size = x < 0 ? -x : x;
  const Vector e = exp(size * -2.0f);
  const Vector far = (1 - e) / (1 + e);
  const Vector square = x * x;
  const Vector near =
      size * polynomial(square, splat(0.0218694885f), -0.0539682540f, 0.133333333f, -0.333333333f, 1.0f);
  const Vector result = size < 0.25f ? near : far;
  return x < 0 ? -result : result;
}

// erf by Abramowitz & Stegun would miss float32 by 10x; this is the rational fit used by Eigen and XLA,
// good to a few units in the last place.
inline Vector erf(Vector x) {
  const Vector c = min(max(x, splat(-3.832506856900711f)), splat(3.832506856900711f));
  const Vector q = c * c;
  const Vector top = polynomial(q, splat(0.00022905065861350646f), 0.0034082910107109506f,
                                0.050955695062380861f, 0.18520832239976145f, 1.128379143519084f);
  const Vector bottom =
      polynomial(q, splat(-1.1791602954361697e-7f), 0.000023547966471313185f, 0.0010179625278914885f,
                 0.014070470171167667f, 0.11098505178285362f, 0.49746925110067538f, 1.0f);
  return x != x ? x : c * top / bottom;
}

// 1 - erf(x) without cancellation: the fit of Press et al., "Numerical Recipes", 6.2.2, with a relative error
// of 1.2e-7.
inline Vector erfc(Vector x) {
  const Vector size = x < 0 ? -x : x, t = 1 / fused(size, splat(0.5f), splat(1));
  const Vector p = polynomial(t, splat(0.17087277f), -0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f,
                              -0.18628806f, 0.09678418f, 0.37409196f, 1.00002368f, -1.26551223f);
  const Vector tail = t * exp(fused(-size, size, p));
  return x < 0 ? 2 - tail : tail;
}

inline Vector sigmoid(Vector x) {
  return 1 / (1 + exp(-x));
}

// tanh(log(1 + e^x)) without the logarithm; it is 1 already for x well below 20.
inline Vector tanh_of_softplus(Vector x) {
  const Vector e = exp(min(x, splat(20))), n = e * (e + 2);
  return x != x ? x : n / (n + 2);
}

// 1 / sqrt(2) and 1 / sqrt(4 pi), rounded as in transformers.
constexpr float kLaplaceMean = 0.707107f, kLaplaceScale = 0.70710678118654752f / 0.282095f;

inline Vector activate(Activation activation, Vector x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x != x ? x : max(x, Vector{});
    case Activation::gelu:
      return x * 0.5f * (1 + erf(x * 0.70710678118654752f));
    case Activation::gelu_tanh:
      return x * 0.5f * (1 + tanh(fused(0.044715f * x * x, x, x) * 0.7978845608028654f));
    case Activation::silu:
      return x / (1 + exp(-x));
    case Activation::tanh:
      return tanh(x);
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::mish:
      return x * tanh_of_softplus(x);
    case Activation::quick_gelu:
      return x * sigmoid(x * 1.702f);
    case Activation::clipped_gelu: {
      const Vector y = activate(Activation::gelu, x);
      return y != y ? y : min(max(y, splat(-10)), splat(10));
    }
    case Activation::leaky_relu:
      return x < 0 ? x * 0.01f : x;
    case Activation::relu6:
      return x != x ? x : min(max(x, Vector{}), splat(6));
    case Activation::squared_relu: {
      const Vector y = activate(Activation::relu, x);
      return y * y;
    }
    case Activation::laplace:
      return 0.5f * erfc((kLaplaceMean - x) * kLaplaceScale);
  }
  return x;
}

// The derivative at x.
inline Vector slope(Activation activation, Vector x) {
  switch (activation) {
    case Activation::none:
      return splat(1);
    case Activation::relu:
      return x > 0 ? splat(1) : Vector{};
    case Activation::gelu:
      return fused(x * 0.3989422804014327f, exp(x * x * -0.5f), 0.5f * (1 + erf(x * 0.70710678118654752f)));
    case Activation::gelu_tanh: {
      const Vector t = tanh(fused(0.044715f * x * x, x, x) * 0.7978845608028654f);
      const Vector inner = 0.7978845608028654f * fused(0.134145f * x, x, splat(1));
      return fused(0.5f * x * fused(-t, t, splat(1)), inner, 0.5f * (1 + t));
    }
    case Activation::silu: {
      const Vector s = 1 / (1 + exp(-x));
      return s * fused(x, 1 - s, splat(1));
    }
    case Activation::tanh: {
      const Vector t = tanh(x);
      return fused(-t, t, splat(1));
    }
    case Activation::sigmoid: {
      const Vector s = sigmoid(x);
      return s * (1 - s);
    }
    case Activation::mish: {
      const Vector t = tanh_of_softplus(x);
      return fused(x * fused(-t, t, splat(1)), sigmoid(x), t);
    }
    case Activation::quick_gelu: {
      const Vector s = sigmoid(x * 1.702f);
      return s * fused(1.702f * x, 1 - s, splat(1));
    }
    case Activation::clipped_gelu: {
      const Vector y = activate(Activation::gelu, x), in = slope(Activation::gelu, x);
      return y > 10 ? Vector{} : in;
    }
    case Activation::leaky_relu:
      return x > 0 ? splat(1) : splat(0.01f);
    case Activation::relu6: {
      const Vector in = x < 6 ? splat(1) : Vector{};
      return x > 0 ? in : Vector{};
    }
    case Activation::squared_relu:
      return x > 0 ? 2 * x : Vector{};
    case Activation::laplace: {
      const Vector z = (x - kLaplaceMean) * kLaplaceScale;
      return exp(-z * z) * (0.5641895835477563f * kLaplaceScale);
    }
  }
  return splat(1);
}

}  // namespace attend::kernels::ATTEND_ISA
