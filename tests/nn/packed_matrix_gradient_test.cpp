#include "nn/linear/linear.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// An adapter may be trained with a quantized matrix, so the input has the gradient of the dequantized matrix.
TEST(PackedMatrix, LetsGradientsThrough) {
  ops::manual_seed(3);
  const Tensor weight = ops::randn({77, 130}), residual = ops::randn({9, 77}), dy = ops::randn({9, 77});
  for (const WeightFormat format : {WeightFormat::float32, WeightFormat::float16, WeightFormat::bfloat16,
                                    WeightFormat::int8, WeightFormat::int4}) {
    PackedWeight packed;
    packed.replace(PackedMatrix::make(weight, format));
    const Tensor dequantized = packed.replacement()->dequantized();
    Tensor nothing = ops::empty({77, 130});
    release(nothing);
    const auto leaf = [](const Tensor& t) { return t.clone().set_needs_gradient(true); };
    const Tensor start = ops::randn({9, 130}).to(kBFloat16).to(kFloat), zero = ops::zeros({77});
    const Tensor x = leaf(start), bias = leaf(zero), expected_x = leaf(start), expected_bias = leaf(zero);
    ops::backward(linear(x, nothing, bias, &packed, Activation::none, residual), dy);
    ops::backward((ops::linear(expected_x, dequantized, expected_bias) + residual), dy);
    EXPECT_LT((x.gradient() - expected_x.gradient()).abs().max().item<double>(), 1e-4) << name(format);
    EXPECT_LT((bias.gradient() - expected_bias.gradient()).abs().max().item<double>(), 1e-5) << name(format);
    // Through an activation too, where inputs are not rounded: `start` consists of bfloat16 numbers.
    if (format == WeightFormat::int8 || format == WeightFormat::int4) continue;
    const Tensor again = leaf(start), expected_again = leaf(start);
    ops::backward(linear(again, nothing, {}, &packed, Activation::gelu), dy);
    ops::backward(ops::gelu(ops::linear(expected_again, dequantized)), dy);
    EXPECT_LT((again.gradient() - expected_again.gradient()).abs().max().item<double>(), 1e-4)
        << name(format);
  }
}

}  // namespace
}  // namespace attend
