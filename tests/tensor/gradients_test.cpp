// Each gradient rule against torch's, on matrices with every memory layout.
#include "tensor/both_tensors.h"

#include <torch/csrc/autograd/autograd.h>

namespace attend {
namespace {

using Inputs = std::vector<at::Tensor>;

// A weight for each number of the result, so that no two have the same gradient.
at::Tensor weights_for(const at::Tensor& result) {
  return (at::arange(result.numel(), at::kDouble) * 0.37)
      .sin()
      .add(1.1)
      .view(result.sizes())
      .to(result.scalar_type());
}

// f(as, x) for leaves `inputs`; computes the gradients of its weighted sum.
template <class F>
testing::AssertionResult has_same_gradients(const AsOurs& as, const Inputs& inputs, double tolerance,
                                            const F& f) {
  Inputs theirs;
  std::vector<ops::Tensor> ours;
  for (const at::Tensor& input : inputs) {
    const bool learns = input.is_floating_point();
    theirs.push_back(input.detach().requires_grad_(learns));
    ours.push_back(as(input));
    ours.back().set_needs_gradient(learns);
  }
  const at::Tensor their_result = f(AsTorch(), theirs);
  const ops::Tensor our_result = f(as, ours);
  if (auto same_result = same(our_result.detach(), their_result.detach(), tolerance); !same_result)
    return same_result << " in the result";
  Inputs their_leaves;
  std::vector<ops::Tensor> our_leaves;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].is_floating_point()) their_leaves.push_back(theirs[i]), our_leaves.push_back(ours[i]);
  const at::Tensor weights = weights_for(their_result);
  const auto their_gradients = torch::autograd::grad({their_result}, their_leaves, {weights}, std::nullopt,
                                                     false, /*allow_unused=*/true);
  const auto our_gradients = ops::gradients({our_result}, our_leaves, {as(weights)}, {.may_be_unused = true});
  for (std::size_t i = 0; i < our_gradients.size(); ++i) {
    const at::Tensor wanted =
        their_gradients[i].defined() ? their_gradients[i] : at::zeros_like(their_leaves[i]);
    const ops::Tensor found = our_gradients[i].defined() ? our_gradients[i] : ops::zeros_like(our_leaves[i]);
    if (auto part = same(found, wanted, tolerance); !part) return part << " in the gradient of input " << i;
  }
  return testing::AssertionSuccess();
}

template <class F>
testing::AssertionResult has_same_gradients(const Inputs& inputs, double tolerance, const F& f) {
  if (auto result = has_same_gradients(AsOurs(), inputs, tolerance, f); !result) return result;
  return has_same_gradients(on_device(), inputs, tolerance, f) << " on a device";
}

#define EXPECT_GRADIENTS(inputs, ...)                                                                       \
  EXPECT_TRUE(has_same_gradients(                                                                           \
      inputs, 4e-6, [&]([[maybe_unused]] auto as, [[maybe_unused]] const auto& x) { return __VA_ARGS__; })) \
      << #__VA_ARGS__

class Gradients : public OfEachType {
 protected:
  std::vector<at::Tensor> matrices() const { return random_matrices(GetParam()); }
  at::Tensor numbers(Sizes shape) const { return random_numbers(std::move(shape), GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, Gradients, testing::Values(ops::kFloat, ops::kDouble), name_of_type);

TEST_P(Gradients, OfFunctionsOfOneNumber) {
  for (const at::Tensor& m : matrices()) {
    const Inputs some{m}, positive{m.abs() + 0.1};
    EXPECT_GRADIENTS(some, -x[0]);
    EXPECT_GRADIENTS(some, x[0].abs());
    EXPECT_GRADIENTS(some, x[0].exp());
    EXPECT_GRADIENTS(some, x[0].square());
    EXPECT_GRADIENTS(some, x[0].floor());
    EXPECT_GRADIENTS(some, x[0].sign());
    EXPECT_GRADIENTS(some, x[0].clamp(-1, 1.5));
    EXPECT_GRADIENTS(some, x[0].clamp_min(0.25));
    EXPECT_GRADIENTS(some, x[0].clamp_max(0.25));
    EXPECT_GRADIENTS(some, sin(x[0]));
    EXPECT_GRADIENTS(some, cos(x[0]));
    EXPECT_GRADIENTS(some, tanh(x[0]));
    EXPECT_GRADIENTS(some, sigmoid(x[0]));
    EXPECT_GRADIENTS(some, relu(x[0]));
    EXPECT_GRADIENTS(some, gelu(x[0]));
    EXPECT_GRADIENTS(some, gelu(x[0], "tanh"));
    EXPECT_GRADIENTS(some, silu(x[0]));
    EXPECT_GRADIENTS(some, mish(x[0]));
    EXPECT_GRADIENTS(some, leaky_relu(x[0]));
    EXPECT_GRADIENTS(some, erf(x[0]));
    EXPECT_GRADIENTS(some, exp2(x[0]));
    EXPECT_GRADIENTS(some, pow(10000.0, x[0]));
    EXPECT_GRADIENTS(positive, x[0].log());
    EXPECT_GRADIENTS(positive, x[0].log2());
    EXPECT_GRADIENTS(positive, x[0].sqrt());
    EXPECT_GRADIENTS(positive, rsqrt(x[0]));
    EXPECT_GRADIENTS(positive, entropy_terms(x[0]));
  }
  const Inputs zeros{numbers({5}).zero_()};  // at the borders of the pieces of their definition
  EXPECT_GRADIENTS(zeros, relu(x[0]));
  EXPECT_GRADIENTS(zeros, x[0].abs());
  EXPECT_GRADIENTS(zeros, x[0].clamp_min(0));
  EXPECT_GRADIENTS(zeros, leaky_relu(x[0]));
}

TEST_P(Gradients, OfFunctionsOfTwoNumbers) {
  for (const at::Tensor& m : matrices())
    for (const at::Tensor& other :
         {numbers({m.size(0), 6}), numbers({6}), numbers({1, 6}), numbers({m.size(0), 1}), numbers({})}) {
      const Inputs both{m, other}, divisor{m, other.abs() + 0.5};
      EXPECT_GRADIENTS(both, x[0] + x[1]);
      EXPECT_GRADIENTS(both, x[1] - x[0]);
      EXPECT_GRADIENTS(both, x[0] * x[1]);
      EXPECT_GRADIENTS(both, x[0].add(x[1], 3));
      EXPECT_GRADIENTS(divisor, x[0] / x[1]);
      EXPECT_GRADIENTS(both, maximum(x[0], x[1]));
      EXPECT_GRADIENTS(both, logaddexp(x[0], x[1]));
      EXPECT_GRADIENTS(both, where(x[0] > 0, x[0], x[1]));
    }
  for (const at::Tensor& m : matrices()) {
    const Inputs one{m};
    EXPECT_GRADIENTS(one, x[0] * x[0]);
    EXPECT_GRADIENTS(one, x[0] + 2 * x[0] - x[0] / 3);
    EXPECT_GRADIENTS(one, 1 - x[0]);
    EXPECT_GRADIENTS(one, 2 / (x[0] * x[0] + 1));
    EXPECT_GRADIENTS(one, maximum(x[0], x[0]));
    EXPECT_GRADIENTS(one, x[0].masked_fill(x[0] > 1, 0));
    EXPECT_GRADIENTS(one, where(x[0] > 0, x[0], 3.0));
  }
}

TEST_P(Gradients, OfViews) {
  for (const at::Tensor& m : matrices()) {
    const Inputs one{m};
    EXPECT_GRADIENTS(one, x[0].t() * 2);
    EXPECT_GRADIENTS(one, x[0].reshape({-1}));
    EXPECT_GRADIENTS(one, x[0].reshape({x[0].size(0), 2, 3}).permute({2, 0, 1}));
    EXPECT_GRADIENTS(one, x[0].narrow(1, 2, 3));
    EXPECT_GRADIENTS(one, x[0].narrow(1, 0, 4) + x[0].narrow(1, 2, 4));
    EXPECT_GRADIENTS(one, x[0].slice(1, 1, 6, 2));
    EXPECT_GRADIENTS(one, x[0].select(1, 3));
    EXPECT_GRADIENTS(one, x[0].unsqueeze(1).expand({x[0].size(0), 5, 6}));
    EXPECT_GRADIENTS(one, x[0].unsqueeze(0).squeeze(0) * x[0].unsqueeze(2).squeeze());
    EXPECT_GRADIENTS(one, x[0].flatten());
    EXPECT_GRADIENTS(one, x[0].unflatten(1, {3, 2}).transpose(0, 2));
    EXPECT_GRADIENTS(one, x[0].diagonal());
    EXPECT_GRADIENTS(one, x[0].chunk(4, 1)[2] * x[0].chunk(4, 1)[0].sum());
    EXPECT_GRADIENTS(one, x[0].split_with_sizes({1, 2, 3}, 1)[1]);
    EXPECT_GRADIENTS(one, x[0].unbind(1)[4] - x[0].unbind(1)[4] * x[0].unbind(1)[0]);
    EXPECT_GRADIENTS(one, alias(x[0]) * 3);
    EXPECT_GRADIENTS(one, x[0].detach() * x[0]);
  }
}

TEST_P(Gradients, OfCopies) {
  for (const at::Tensor& m : matrices()) {
    const Inputs one{m}, two{m, numbers({3, 6})};
    EXPECT_GRADIENTS(one, x[0].clone());
    EXPECT_GRADIENTS(one, x[0].contiguous() + x[0].t().contiguous().t());
    EXPECT_GRADIENTS(one, x[0].to(as(ops::kDouble)) * 2);
    EXPECT_GRADIENTS(one, x[0].to(as(ops::kFloat)).to(as(ops::kDouble)));
    EXPECT_GRADIENTS(one, x[0].repeat({2, 3}));
    EXPECT_GRADIENTS(one, x[0].repeat_interleave(3, 1));
    EXPECT_GRADIENTS(one, x[0].triu(1) + x[0].tril());
    EXPECT_GRADIENTS(one, with_margins(x[0], {1, 2, 3, 0}, 5));
    EXPECT_GRADIENTS(one, with_margins(x[0], {-1, 2}));
    EXPECT_GRADIENTS(two, cat(as(m).dim() > 0 ? std::vector{x[0], x[1], x[0]} : std::vector{x[0]}, 0));
    EXPECT_GRADIENTS(two, stack(std::vector{x[0].narrow(0, 0, 0), x[1].narrow(0, 0, 0)}, 1));
    EXPECT_GRADIENTS(one, cat(std::vector{x[0], x[0] * 2}, 1));
  }
}

TEST_P(Gradients, OfPlaces) {
  const at::Tensor some = places_of({3, 0, 3, 1}), columns = places_of({5, 2, 2, 0, 5, 1, 4});
  for (const at::Tensor& m : matrices()) {
    const Inputs one{m}, two{m, numbers({m.size(0), 7})};
    EXPECT_GRADIENTS(one, x[0].index_select(1, as(columns)));
    EXPECT_GRADIENTS(one, x[0].flip(1));
    EXPECT_GRADIENTS(one, x[0].gather(1, as(columns.expand({m.size(0), 7}))));
    EXPECT_GRADIENTS(one, x[0].index_fill(1, as(places_of({1, 4})), 7));
    EXPECT_GRADIENTS(two, x[0].index_add(1, as(columns), x[1]));
    EXPECT_GRADIENTS(two, x[0].index_copy(1, as(places_of({5, 2, 1})), x[1].narrow(1, 2, 3)));
    EXPECT_GRADIENTS(one, x[0].masked_select(x[0] > 0));
    if (m.size(0) < 4) continue;
    const Inputs rows{m, numbers({4, 6}), numbers({4})};
    EXPECT_GRADIENTS(one, x[0].index_select(0, as(some)));
    EXPECT_GRADIENTS(one, embedding(x[0], as(some)));
    EXPECT_GRADIENTS(one, embedding(x[0], as(some), 3));
    EXPECT_GRADIENTS(one, x[0].index({as(some)}));
    EXPECT_GRADIENTS(one, x[0].index({as(some), as(places_of({1, 1, 5, 1}))}));
    EXPECT_GRADIENTS(rows, x[0].index_copy(0, as(places_of({2, 0, 3, 1})), x[1]));
    EXPECT_GRADIENTS(rows, x[0].index_put({as(places_of({2, 0, 3, 1})), as(places_of({2, 0, 5, 1}))}, x[2]));
    EXPECT_GRADIENTS(one, std::get<0>(x[0].sort(true, 1, true)));
    EXPECT_GRADIENTS(one, std::get<0>(topk(x[0], 2, 1)));
  }
}

TEST_P(Gradients, OfReductions) {
  for (const at::Tensor& m : matrices()) {
    const Inputs one{m}, two{m, numbers({m.size(0), 6})};
    EXPECT_GRADIENTS(one, x[0].sum());
    EXPECT_GRADIENTS(one, x[0].sum(0));
    EXPECT_GRADIENTS(one, x[0].sum(1, true));
    EXPECT_GRADIENTS(one, x[0].sum({0, 1}));
    EXPECT_GRADIENTS(one, x[0].sum(as(ops::kDouble)));
    EXPECT_GRADIENTS(one, x[0].mean(1));
    EXPECT_GRADIENTS(one, softmax(x[0], 1));
    EXPECT_GRADIENTS(one, softmax(x[0], 0));
    EXPECT_GRADIENTS(one, log_softmax(x[0], 1));
    EXPECT_GRADIENTS(one, log_softmax(x[0], 0));
    EXPECT_GRADIENTS(one, x[0].logsumexp(1));
    EXPECT_GRADIENTS(one, x[0].cumsum(1));
    EXPECT_GRADIENTS(one, vector_norm(x[0], 2, {1}, true));
    EXPECT_GRADIENTS(one, vector_norm(x[0]));
    EXPECT_GRADIENTS(two, cosine_similarity(x[0], x[1], 1));
    if (m.size(0) == 0) continue;
    EXPECT_GRADIENTS(one, x[0].mean());
    EXPECT_GRADIENTS(one, x[0].amax(1));
    EXPECT_GRADIENTS(one, x[0].amax(0, true));
    EXPECT_GRADIENTS(one, std::get<0>(x[0].max(1)));
    EXPECT_GRADIENTS(one, x[0].max());
    EXPECT_GRADIENTS(one, x[0].min());
    EXPECT_GRADIENTS(one, x[0].logsumexp(0, true));
    if (m.stride(1) == 0) continue;  // the norm of a row of one number is only rounding
    const Inputs normed{m, numbers({6}), numbers({6})};
    EXPECT_GRADIENTS(normed, layer_norm(x[0], {6}, x[1], x[2], 1e-5));
    EXPECT_GRADIENTS(normed, rms_norm(x[0], {6}, x[1], 1e-5) + x[2]);
  }
}

TEST_P(Gradients, OfProducts) {
  for (const at::Tensor& m : matrices()) {
    const Inputs two{m, numbers({6, 5})}, turned{m, numbers({5, 6}), numbers({5})}, vector{m, numbers({6})};
    EXPECT_GRADIENTS(two, matmul(x[0], x[1]));
    EXPECT_GRADIENTS(two, matmul(x[1].t(), x[0].t()));
    EXPECT_GRADIENTS(turned, linear(x[0], x[1], x[2]));
    EXPECT_GRADIENTS(turned, addmm(x[2], x[0], x[1].t(), 2, 3));
    EXPECT_GRADIENTS(vector, matmul(x[0], x[1]));
    EXPECT_GRADIENTS(vector, matmul(x[1], x[0].t()));
    const Inputs batch{m, numbers({3, 6, 2}), numbers({3, m.size(0), 6})};
    EXPECT_GRADIENTS(batch, matmul(x[0], x[1]));
    EXPECT_GRADIENTS(batch, matmul(x[2], x[1]));
    EXPECT_GRADIENTS(batch, matmul(x[2].transpose(1, 2), x[0]));
    EXPECT_GRADIENTS(two, matmul(x[0].unsqueeze(0).expand({2, x[0].size(0), 6}), x[1]));
  }
  const Inputs texts{numbers({2, 6, 7}), numbers({4, 3, 3}), numbers({4})};
  EXPECT_GRADIENTS(texts, conv1d(x[0], x[1], x[2], 1, 1, 1, 2));
  const Inputs planes{numbers({2, 8, 3, 5})};
  EXPECT_GRADIENTS(planes, pixel_shuffle(x[0], 2));
  if (GetParam() == ops::kFloat) {
    EXPECT_GRADIENTS(planes, resize_bicubic(x[0], {7, 4}, false));
  }
}

TEST_P(Gradients, OfLosses) {
  const at::Tensor labels = places_of({2, -100, 0, 4, 4});
  const Inputs scores{numbers({5, 6}), numbers({6}).abs()};
  EXPECT_GRADIENTS(scores, cross_entropy_loss(x[0], as(labels), {}, 2, -100));
  EXPECT_GRADIENTS(scores, cross_entropy_loss(x[0], as(labels), {}, 1, -100, 0.1));
  EXPECT_GRADIENTS(scores, cross_entropy_loss(x[0], as(labels), {}, 0, -100));
  EXPECT_GRADIENTS(scores, cross_entropy_loss(x[0], as(labels), x[1].detach(), 1, -100));
  EXPECT_GRADIENTS(scores, cross_entropy_loss(x[0], as(labels), x[1].detach(), 1, -100, 0.2));
  const Inputs pairs{numbers({5, 6}), numbers({5, 6}).sigmoid(), numbers({6}).abs()};
  EXPECT_GRADIENTS(pairs, binary_cross_entropy_with_logits(x[0], x[1].detach()));
  EXPECT_GRADIENTS(pairs, binary_cross_entropy_with_logits(x[0], x[1].detach(), x[2].detach(), {}, 2));
  EXPECT_GRADIENTS(pairs, binary_cross_entropy_with_logits(x[0], x[1].detach(), {}, x[2].detach(), 0));
  EXPECT_GRADIENTS(pairs, mse_loss(x[0], x[1]));
  EXPECT_GRADIENTS(pairs, mse_loss(x[0], x[1], 2));
}

// write(x, y) changes a result and not a leaf.
template <class T, class F>
T changed(const T& x, const F& write) {
  const T y = x * 2;
  write(y);
  return y * y;
}

TEST_P(Gradients, OfWritesInPlace) {
  for (const at::Tensor& m : matrices()) {
    const Inputs two{m, numbers({m.size(0), 6})};
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y.add_(x[1], 3); }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y.sub_(x[1]); }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y.mul_(x[1]); }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y.div_(x[1] * x[1] + 1); }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y += 2; }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y.copy_(x[1]); }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y.clamp_min_(0.5); }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y.narrow(1, 1, 3).add_(x[1].narrow(1, 0, 3)); }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y.narrow(1, 1, 3).copy_(x[1].narrow(1, 0, 3)); }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y.select(1, 2).mul_(x[1].select(1, 0)); }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y.t().narrow(0, 1, 2).zero_(); }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) { y.index_fill_(1, as(places_of({1, 4})), 3); }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) {
                       y.index_copy_(1, as(places_of({5, 1})), x[1].narrow(1, 0, 2));
                     }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) {
                       y.index_add_(1, as(places_of({5, 5})), x[1].narrow(1, 0, 2));
                     }));
    EXPECT_GRADIENTS(two, changed(x[0], [&](auto y) {
                       y.scatter_(1, as(places_of({5, 1}).expand({m.size(0), 2})), x[1].narrow(1, 0, 2));
                     }));
    // A view made before sees the changed tensor.
    EXPECT_GRADIENTS(two, [&] {
      const auto y = x[0] * 2;
      const auto part = y.narrow(1, 0, 3);
      y.mul_(x[1]);
      return part * part;
    }());
    EXPECT_GRADIENTS(two, [&] {  // into a tensor that needs no gradient at first
      const auto y = (x[0] * 2).detach();
      const auto part = y.narrow(1, 2, 2);
      part.copy_(x[1].narrow(1, 3, 2));
      return y * y + part.sum();
    }());
  }
}

TEST(Tape, AddsGradientsOfALeafFromCallToCall) {
  const ops::Tensor x = ops::ones({3}).set_needs_gradient();
  (x * 2).sum().backward();
  (x * x).sum().backward();
  EXPECT_TRUE(same(x.gradient(), at::full({3}, 4.0f), 0));
  x.mutable_gradient().reset();
  EXPECT_FALSE(x.gradient().defined());
}

TEST(Tape, KeepsWhatWasSavedOnlyIfAsked) {
  const ops::Tensor x = ops::ones({3}).set_needs_gradient(), y = (x * x).sum();
  y.backward(/*keep_graph=*/true);
  y.backward();
  EXPECT_TRUE(same(x.gradient(), at::full({3}, 4.0f), 0));
  try {
    y.backward();
    FAIL() << "a third time";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a second time"), std::string::npos) << error.what();
  }
}

TEST(Tape, NoticesChangesOfSavedTensors) {
  const ops::Tensor x = ops::ones({3}).set_needs_gradient(), y = x * 2, z = (y * y).sum();
  y.add_(1);
  try {
    z.backward();
    FAIL() << "a wrong gradient";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("was changed in place"), std::string::npos) << error.what();
  }
}

TEST(Tape, RefusesToHaveALeafChanged) {
  const ops::Tensor x = ops::ones({3}).set_needs_gradient();
  for (const ops::Tensor& part : {x, x.narrow(0, 0, 2)}) try {
      part.add_(1);
      FAIL() << "changed";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("a leaf"), std::string::npos) << error.what();
    }
  const ops::Unrecorded unrecorded;
  x.narrow(0, 0, 2).add_(1);
  EXPECT_EQ(x[0].item<float>(), 2);
}

TEST(Tape, GivesGradientsOfIntermediateTensors) {
  const ops::Tensor x = ops::ones({2}).set_needs_gradient(), y = x * 3, z = (y * y).sum();
  const auto found = ops::gradients({z}, {y, x});
  EXPECT_TRUE(same(found[0], at::full({2}, 6.0f), 0));
  EXPECT_TRUE(same(found[1], at::full({2}, 18.0f), 0));
  EXPECT_FALSE(x.gradient().defined());
}

TEST(Tape, MayBeLong) {
  const ops::Tensor x = ops::ones({1}).set_needs_gradient();
  ops::Tensor y = x;
  for (int i = 0; i < 200000; ++i) y = y + 0;
  y.sum().backward();
  EXPECT_EQ(x.gradient().item<float>(), 1);
}

TEST(Tape, FreesMemoryDuringBackward) {
  // Each step saves its factors; in the backward pass, freed tensors make room for gradients.
  const ops::Tensor x = ops::ones({8}).set_needs_gradient();
  ops::Tensor y = x * 1;
  const ops::Tensor saved = y;
  const long before = saved.body().data.use_count();
  const ops::Tensor z = (y * y).sum();
  y.reset();
  EXPECT_GT(saved.body().data.use_count() + saved.handles(), before);
  z.backward();
  EXPECT_EQ(saved.body().data.use_count(), 1);
}

}  // namespace
}  // namespace attend
