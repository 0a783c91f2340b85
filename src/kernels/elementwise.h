// The element-wise kernels of one instruction set (elementwise.simd.cpp); kernels.h documents them.
#pragma once

#include "kernels/kernels.h"
#include "kernels/simd.h"

namespace attend::kernels::ATTEND_ISA {

void activation(Activation, float* out, const float* x, std::int64_t begin, std::int64_t end);
void activation_backward(Activation, float* gradient, const float* out_gradient, const float* x,
                         std::int64_t begin, std::int64_t end);
void dropout_add(float* out, const float* x, const float* residual, std::int64_t begin, std::int64_t end,
                 float p, std::uint64_t seed);
void dropout_mask(float* to, std::uint64_t first, std::int64_t count, float p, std::uint64_t seed);
void layer_norm(float* out, const float* x, const float* weight, const float* bias, std::int64_t begin,
                std::int64_t end, std::int64_t d, float epsilon, float* mean, float* inverse_deviation);
void layer_norm_backward(float* x_gradient, float* weight_gradient, float* bias_gradient,
                         const float* out_gradient, const float* x, const float* weight, const float* mean,
                         const float* inverse_deviation, std::int64_t begin, std::int64_t end,
                         std::int64_t d);
void rotate(const Rotation&, float* x, std::int64_t begin, std::int64_t end);
void cross_entropy(const CrossEntropy&, float* logits, std::int64_t row_begin, std::int64_t row_end);
void softmax(float* out, const float* row, std::int64_t length);
void log_softmax(float* out, const float* row, std::int64_t length);
float disagreement(const Disagreement&);
std::int64_t find_above(const float* x, std::int64_t begin, std::int64_t end, float offset, float threshold);
void adam(const Adam&, float* weight, const float* gradient, float* mean, float* variance, std::int64_t begin,
          std::int64_t end);

}  // namespace attend::kernels::ATTEND_ISA
