// A device's own attention against its definition in tensor operations, with gradients.
#include "tensor/both_tensors.h"
#include "tensor_checks.h"

#include <limits>

namespace attend {
namespace {

using ops::Tensor;

struct Shape {
  std::int64_t queries, keys;
  bool causal, masked;
};

// As in Vaswani et al. 2017, section 3.2.1.
Tensor definition(const std::vector<Tensor>& x, const Tensor& seen, bool causal, double scale) {
  Tensor scores = ops::matmul(x[0], x[1].transpose(2, 3)) * scale;
  const double hidden = -std::numeric_limits<double>::infinity();
  if (seen.defined()) scores = scores.masked_fill(seen.logical_not(), hidden);
  if (causal)
    scores = scores.masked_fill(ops::ones({x[0].size(2), x[1].size(2)}, ops::kBool).triu(1).to(ops::kBool),
                                hidden);
  return ops::matmul(scores.softmax(-1), x[2]);
}

void expect_definition(const Shape& shape) {
  ops::manual_seed(shape.queries * 7 + shape.keys);
  const std::int64_t texts = 3, heads = 2, size = 5;
  std::vector<Tensor> here;
  for (const std::int64_t rows : {shape.queries, shape.keys, shape.keys})
    here.push_back(ops::randn({texts, rows, heads, size}, ops::kFloat));
  Tensor seen;
  if (shape.masked) {  // text b sees all keys but the last b
    seen = ops::arange(shape.keys)
               .view({1, 1, 1, -1})
               .lt(ops::tensor({shape.keys, shape.keys - 1, shape.keys - 2}).view({3, 1, 1, 1}));
  }
  const Tensor weights = ops::randn({texts, heads, shape.queries, size}, ops::kFloat);
  const auto compute = [&](ops::Device* device) {
    std::vector<Tensor> leaves, inputs;
    for (const Tensor& t : here) {
      leaves.push_back((device == nullptr ? t.clone() : t.on(device)).set_needs_gradient());
      inputs.push_back(leaves.back().transpose(1, 2));
    }
    const Tensor result = device == nullptr
                              ? definition(inputs, seen, shape.causal, 0.4)
                              : ops::attention(inputs[0], inputs[1], inputs[2], seen, shape.causal, 0.4);
    std::vector<Tensor> all =
        ops::gradients({(result * (device == nullptr ? weights : weights.on(device))).sum()}, leaves);
    all.push_back(result.detach());
    return all;
  };
  const std::vector<Tensor> expected = compute(nullptr), found = compute(on_device().device);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Tensor difference = (found[i].home() - expected[i]).abs().max();
    EXPECT_LT(difference.item<double>(), 3e-6) << "number " << i << " of the gradients and the result";
  }
}

TEST(DeviceAttention, IsThatOfItsDefinition) {
  expect_definition({1, 1, false, false});
  expect_definition({7, 7, false, false});
  expect_definition({7, 7, true, false});
  expect_definition({33, 33, true, false});
  expect_definition({7, 7, false, true});
  expect_definition({1, 9, false, true});
  expect_definition({4, 70, false, true});
}

TEST(DeviceAttention, NeedsADevice) {
  const Tensor x = ops::zeros({1, 1, 2, 4});
  EXPECT_THROW(ops::attention(x, x, x, {}, false, 1), Error);
}

}  // namespace
}  // namespace attend
