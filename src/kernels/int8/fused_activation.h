// The activations that models compute most, of operations that round alike in every instruction set: fused
// multiply-adds are written out, for no compiler may choose where they are. Others are those of
// kernels/activation.h, compiled without fusing.
#pragma once

#include "kernels/activation.h"

namespace attend::kernels::ATTEND_ISA {

// a * b + c, rounded once.
inline Vector fused(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
  return (Vector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (Vector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  for (int i = 0; i < W; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
#endif
}
inline Vector fused(Vector a, Vector b, float c) {
  return fused(a, b, splat(c));
}

// e^(x - n ln 2) for n = x / ln 2, rounded.
inline Vector fused_exp_of_rest(Vector x, Vector n) {
  const Vector r = fused(n, splat(2.12194440e-4f), fused(n, splat(-0.693359375f), x));
  Vector p = fused(r, splat(1.9875691500e-4f), 1.3981999507e-3f);
  p = fused(p, r, 8.3334519073e-3f);
  p = fused(p, r, 4.1665795894e-2f);
  p = fused(p, r, 1.6666665459e-1f);
  p = fused(p, r, 5.0000001201e-1f);
  return fused(p * r, r, r) + 1.0f;
}

// As exp() of simd.h.
inline Vector fused_exp(Vector x) {
  const Vector low = splat(-87.33654f);
  const IntVector underflow = x < low;
  const Vector clamped = min(max(x, low), splat(88.37626f)), magic = splat(12582912.0f);
  const Vector n = fused(clamped, splat(1.44269504088896341f), magic) - magic;
  const Vector p = fused_exp_of_rest(clamped, n);
  const IntVector bits = (__builtin_convertvector(n, IntVector) + 127) << 23;
  Vector power;  // 2^n
  std::memcpy(&power, &bits, sizeof power);
  return x != x ? x : (underflow ? Vector{} : p * power);
}

// e^x for x <= 0 within what softmax needs whose weights are rounded to 15 bits: to 5e-6 of it, 1 of 0, and
// below -86 e^-86. NaN stays NaN.
inline Vector fused_exp_of_negative(Vector x) {
  const Vector clamped = max(splat(-86.0f), x), magic = splat(12582912.0f);
  const Vector shifted = fused(clamped, splat(1.44269504088896341f), magic), n = shifted - magic;
  const Vector r = fused(n, splat(-0.693147180559945f), clamped);  // up to ln 2 / 2 either way
  Vector p = fused(r, splat(4.15136767e-2f), 0.167875926f);
  p = fused(p, r, 0.500030220f);
  p = fused(p, r, 0.999966770f);
  p = fused(p, r, 1.0f);
  const IntVector bits = (reinterpret_cast<IntVector>(shifted) - (0x4b400000 - 127)) << 23;  // 2^n
  return p * reinterpret_cast<Vector>(bits);
}

// x (1/2 + P(x)), P an odd polynomial in x up to `end`, where it is 1/2 to the last bit, and constant behind
// it. Fitted so that the product errs least: GELU to 8e-5, of which the next rounding to 8 bits leaves
// nothing. A division and an exponential would take three times as long.
struct GeluFit {
  float end, factors[8];
};
inline Vector fitted_gelu(const GeluFit& fit, Vector x) {
  const Vector c = min(max(x, splat(-fit.end)), splat(fit.end)), q = c * c;
  Vector p = fused(q, splat(fit.factors[7]), fit.factors[6]);
#pragma GCC unroll 6
  for (int i = 5; i >= 0; --i) p = fused(p, q, fit.factors[i]);
  return fused(x, p * c, x * 0.5f);
}

inline Vector fused_gelu(Vector x) {
  return fitted_gelu({4.2f,
                      {0.398465872f, -0.0655282363f, 0.00929823052f, -0.00095065753f, 6.68907014e-5f,
                       -3.03793195e-6f, 7.9413411e-8f, -9.01753394e-10f}},
                     x);
}

inline Vector fused_gelu_tanh(Vector x) {
  return fitted_gelu({4.05f,
                      {0.398529589f, -0.0659407079f, 0.00955997314f, -0.00101693359f, 7.55230139e-5f,
                       -3.65181381e-6f, 1.02079632e-7f, -1.24185007e-9f}},
                     x);
}

inline Vector fused_silu(Vector x) {
  return x / (1 + fused_exp(-x));
}

}  // namespace attend::kernels::ATTEND_ISA
