// Approximations of common activations after integer products, as exact as the following rounding to 8 or 15
// bits needs. Other activations are in kernels/activation.h.
#pragma once

#include "kernels/activation.h"

namespace attend::kernels::ATTEND_ISA {

// e^x for x <= 0, exact enough for a softmax whose weights are rounded to 15 bits: the relative error is at
// most 5e-6. Exactly 1 at 0, and e^-86 below -86. NaN stays NaN.
inline Vector fitted_exp(Vector x) {
  const Vector clamped = max(splat(-86.0f), x), magic = splat(12582912.0f);
  const Vector shifted = fused(clamped, splat(1.44269504088896341f), magic), n = shifted - magic;
  const Vector r = fused(n, splat(-0.693147180559945f), clamped);  // up to ln 2 / 2 either way
  const Vector p = polynomial(r, splat(4.15136767e-2f), 0.167875926f, 0.500030220f, 0.999966770f, 1.0f);
  const IntVector bits = (reinterpret_cast<IntVector>(shifted) - (0x4b400000 - 127)) << 23;  // 2^n
  return p * reinterpret_cast<Vector>(bits);
}

// x (1/2 + P(x)), where P is an odd polynomial in x up to `end`; there it is 1/2 to the last bit, and
// constant beyond. Fitted for the least error of the product: 8e-5 for GELU, which disappears in the
// following rounding to 8 bits. A division and an exponential would take three times as long.
template <class... Lower>
inline Vector gelu_by(Vector x, float end, float highest, Lower... lower) {
  const Vector c = min(max(x, splat(-end)), splat(end));
  return fused(x, polynomial(c * c, splat(highest), lower...) * c, x * 0.5f);
}
inline Vector fitted_gelu(Vector x) {
  return gelu_by(x, 4.2f, -9.01753394e-10f, 7.9413411e-8f, -3.03793195e-6f, 6.68907014e-5f, -0.00095065753f,
                 0.00929823052f, -0.0655282363f, 0.398465872f);
}
inline Vector fitted_gelu_tanh(Vector x) {
  return gelu_by(x, 4.05f, -1.24185007e-9f, 1.02079632e-7f, -3.65181381e-6f, 7.55230139e-5f, -0.00101693359f,
                 0.00955997314f, -0.0659407079f, 0.398529589f);
}

}  // namespace attend::kernels::ATTEND_ISA
