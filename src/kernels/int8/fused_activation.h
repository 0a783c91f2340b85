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

// e^x for x <= 0 within what softmax needs: below -86 it stays e^-86. NaN stays NaN.
inline Vector fused_exp_of_negative(Vector x) {
  const Vector low = splat(-86.0f), clamped = max(low, x), magic = splat(12582912.0f);
  const Vector shifted = fused(clamped, splat(1.44269504088896341f), magic), n = shifted - magic;
  const Vector p = fused_exp_of_rest(clamped, n);
  const IntVector bits = (reinterpret_cast<IntVector>(shifted) - (0x4b400000 - 127)) << 23;  // 2^n
  return p * reinterpret_cast<Vector>(bits);
}

// x (1/2 + P(x)), P an odd polynomial in x up to `end`, where it is 1/2, and constant behind it. Fitted so
// that the product errs least: GELU to 8e-5, of which the next rounding to 8 bits leaves nothing. A division
// and an exponential would take three times as long.
struct GeluFit {
  float end, factors[8];
};
inline Vector fitted_gelu(const GeluFit& fit, Vector x) {
  const Vector c = min(max(x, splat(-fit.end)), splat(fit.end)), q = c * c;
  Vector p = fused(q, splat(fit.factors[7]), fit.factors[6]);
#pragma GCC unroll 6
  for (int i = 5; i >= 0; --i) p = fused(p, q, fit.factors[i]);
  p = min(max(p * c, splat(-0.5f)), splat(0.5f));
  return fused(x, p, x * 0.5f);
}

inline Vector fused_gelu(Vector x) {
  return fitted_gelu({4.2f,
                      {0.398465876f, -0.0655282008f, 0.00929822873f, -0.000950657382f, 6.68906817e-5f,
                       -3.03793064e-6f, 7.94133615e-8f, -9.01752745e-10f}},
                     x);
}

inline Vector fused_gelu_tanh(Vector x) {
  return fitted_gelu({4.0f,
                      {0.398478896f, -0.0658522805f, 0.00950852804f, -0.0010029311f, 7.3505725e-5f,
                       -3.4934041e-6f, 9.56751862e-8f, -1.13753438e-9f}},
                     x);
}

inline Vector fused_silu(Vector x) {
  return x / (1 + fused_exp(-x));
}

}  // namespace attend::kernels::ATTEND_ISA
