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

// As exp() of simd.h.
inline Vector fused_exp(Vector x) {
  const Vector low = splat(-87.33654f);
  const IntVector underflow = x < low;
  const Vector clamped = min(max(x, low), splat(88.37626f)), magic = splat(12582912.0f);
  const Vector n = fused(clamped, splat(1.44269504088896341f), magic) - magic;
  const Vector r = fused(n, splat(2.12194440e-4f), fused(n, splat(-0.693359375f), clamped));
  Vector p = fused(r, splat(1.9875691500e-4f), 1.3981999507e-3f);
  p = fused(p, r, 8.3334519073e-3f);
  p = fused(p, r, 4.1665795894e-2f);
  p = fused(p, r, 1.6666665459e-1f);
  p = fused(p, r, 5.0000001201e-1f);
  p = fused(p * r, r, r) + 1.0f;
  const IntVector bits = (__builtin_convertvector(n, IntVector) + 127) << 23;
  Vector power;  // 2^n
  std::memcpy(&power, &bits, sizeof power);
  return x != x ? x : (underflow ? Vector{} : p * power);
}

// As erf() of activation.h.
inline Vector fused_erf(Vector x) {
  const Vector c = min(max(x, splat(-3.832506856900711f)), splat(3.832506856900711f)), q = c * c;
  Vector top = fused(q, splat(0.00022905065861350646f), 0.0034082910107109506f);
  top = fused(top, q, 0.050955695062380861f);
  top = fused(top, q, 0.18520832239976145f);
  top = fused(top, q, 1.128379143519084f);
  Vector bottom = fused(q, splat(-1.1791602954361697e-7f), 0.000023547966471313185f);
  bottom = fused(bottom, q, 0.0010179625278914885f);
  bottom = fused(bottom, q, 0.014070470171167667f);
  bottom = fused(bottom, q, 0.11098505178285362f);
  bottom = fused(bottom, q, 0.49746925110067538f);
  bottom = fused(bottom, q, 1.0f);
  return x != x ? x : c * top / bottom;
}

inline Vector fused_gelu(Vector x) {
  const Vector half = x * 0.5f;
  return fused(half, fused_erf(x * 0.70710678118654752f), half);
}

// x / 2 (1 + tanh(u)) = x / (1 + e^(-2 u)).
inline Vector fused_gelu_tanh(Vector x) {
  const Vector u = x * fused(x * x, splat(0.044715f), 1.0f);
  return x / (1 + fused_exp(u * -1.5957691216057308f));
}

inline Vector fused_silu(Vector x) {
  return x / (1 + fused_exp(-x));
}

}  // namespace attend::kernels::ATTEND_ISA
