// Our tensors against torch's: operations that compute numbers.
#include "both_tensors.h"
#include "expect_error.h"

namespace attend {
namespace {

using HostNumbers = OfEachType;
INSTANTIATE_TEST_SUITE_P(, HostNumbers, testing::ValuesIn(kSomeTypes), name_of_type);

// One tensor of each kind, for each pair of types: the result's type depends on whether a tensor has
// dimensions.
TEST_P(HostNumbers, GoTogetherWithThoseOfOtherTypesAndShapes) {
  for (const ops::ScalarType type : kSomeTypes) {
    const at::Tensor row = random_numbers({6}, type), column = random_numbers({4, 1}, type),
                     one = random_numbers({}, type), none = random_numbers({1, 0, 6}, type).narrow(1, 0, 0);
    std::vector<at::Tensor> all = random_matrices(GetParam());
    all.resize(3);
    all.push_back(random_numbers({4, 1}, GetParam()));
    all.push_back(random_numbers({}, GetParam()));
    for (const at::Tensor& x : all) {
      for (const at::Tensor& y : {random_numbers({6, 4}, type).t(), row, column, one, none}) {
        if (y.dim() == 3 && x.dim() == 2 && x.size(0) != 1) continue;
        SCOPED_TRACE(fmt::format("{} and {}", ops::name_of(GetParam()), ops::name_of(type)));
        EXPECT_SAME(as(x) + as(y));
        EXPECT_SAME(as(x) * as(y));
        EXPECT_SAME(as(x).mul(as(y)));
        EXPECT_CLOSE(as(x) / as(y));
        EXPECT_SAME(as(x).eq(as(y)));
        EXPECT_SAME(as(x).ne(as(y)));
        EXPECT_SAME(as(x).lt(as(y)));
        EXPECT_SAME(as(x).le(as(y)));
        EXPECT_SAME(as(x).gt(as(y)));
        EXPECT_SAME(as(x).ge(as(y)));
        EXPECT_SAME(as(x).logical_and(as(y)));
        EXPECT_SAME(as(x).logical_or(as(y)));
        EXPECT_SAME(maximum(as(x), as(y)));
        EXPECT_SAME(where(as(y.to(at::kBool)), as(x), as(y)));
        EXPECT_SAME(where(as(x.to(at::kBool)), as(x), as(y)));
        if (type == ops::kBool || GetParam() == ops::kBool) continue;
        EXPECT_SAME(as(x) - as(y));
        EXPECT_CLOSE(as(x).add(as(y), 3));
      }
    }
  }
}

TEST_P(HostNumbers, GoTogetherWithSingleOnes) {
  for (const at::Tensor& x : random_matrices(GetParam())) {
    const at::Tensor one = random_numbers({}, GetParam());
    const auto check = [&](auto b) {
      for (const at::Tensor& y : {x, one}) {
        EXPECT_CLOSE(as(y) + b);
        EXPECT_CLOSE(b + as(y));
        EXPECT_CLOSE(as(y) * b);
        EXPECT_CLOSE(b * as(y));
        EXPECT_CLOSE(as(y) / b);
        EXPECT_SAME(as(y) == b);
        EXPECT_SAME(as(y) != b);
        EXPECT_SAME(as(y) < b);
        EXPECT_SAME(as(y) <= b);
        EXPECT_SAME(as(y) > b);
        EXPECT_SAME(as(y) >= b);
        EXPECT_SAME(where(as(x.to(at::kBool)), as(y), b));
        if (GetParam() == ops::kBool) continue;
        EXPECT_SAME(as(y).clamp(b, 4));
        EXPECT_SAME(as(y).clamp_min(b));
        EXPECT_SAME(as(y).clamp_max(b));
        EXPECT_SAME(clamp(as(y), 0, b));
        if constexpr (!std::is_same_v<decltype(b), bool>) {
          EXPECT_CLOSE(as(y) - b);
          if (!ops::is_floating(GetParam())) continue;  // torch converts b to an integer
          EXPECT_CLOSE(b - as(y));
          EXPECT_CLOSE(b / as(y));
        }
      }
    };
    check(true);
    check(3);
    check(2.75);
  }
}

TEST_P(HostNumbers, ChangeInPlace) {
  if (GetParam() == ops::kBool) return;
  for (const at::Tensor& x : random_matrices(GetParam())) {
    const at::Tensor y = random_numbers({4, 6}, GetParam()).slice(0, 0, x.size(0)), row = y.new_ones({6}) + 1;
    EXPECT_SAME(as(x).clone().add_(as(y)));
    EXPECT_SAME(as(x).clone().add_(3));
    EXPECT_CLOSE(as(x).clone().add_(as(row), 2));
    EXPECT_SAME(as(x).clone().sub_(as(y)));
    EXPECT_SAME(as(x).clone().mul_(as(row)));
    EXPECT_SAME(as(x).clone().mul_(2));
    EXPECT_SAME(as(x).clone().clamp_min_(1));
    EXPECT_SAME(as(x).clone().fill_(7).zero_());
    EXPECT_SAME([](auto z) { return z.slice(1, 0, 6, 2).mul_(3), z; }(as(x).clone()));
    EXPECT_SAME([](auto z) { return z += z, z *= z, z -= z, z += 1, z *= 2, z; }(as(x).clone()));
    if (!x.is_floating_point()) continue;
    EXPECT_CLOSE(as(x).clone().div_(as(row)));
    EXPECT_CLOSE(as(x).clone().div_(3));
    EXPECT_SAME(as(x).clone().add_(as(at::ones({6}, at::kLong))));
  }
}

// Numbers at the limits of functions, infinities and NaN.
at::Tensor special_numbers(at::ScalarType type) {
  return at::tensor({0.0,
                     -0.0,
                     0.5,
                     -0.5,
                     1.5,
                     2.5,
                     -2.5,
                     1e-30,
                     -1e-30,
                     1e-7,
                     20.0,
                     -20.0,
                     88.0,
                     -87.0,
                     100.0,
                     -100.0,
                     1000.0,
                     -1000.0,
                     1e30,
                     -1e30,
                     double{INFINITY},
                     -double{INFINITY},
                     double{NAN}},
                    type);
}

TEST_P(HostNumbers, HaveFunctions) {
  std::vector<at::Tensor> all = random_matrices(GetParam());
  all.push_back(random_numbers({}, GetParam()));
  const bool floats = ops::is_floating(GetParam());
  if (floats) all.push_back(special_numbers(torch_type(GetParam())));
  for (const at::Tensor& x : all) {
    const bool huge = floats && x.numel() > 0 && x.abs().nan_to_num(0, 0, 0).max().item<double>() > 1e6;
    EXPECT_CLOSE(as(x).exp());
    EXPECT_CLOSE(as(x).log());
    EXPECT_CLOSE(log(as(x)));
    EXPECT_CLOSE(as(x).log2());
    EXPECT_CLOSE(as(x).sqrt());
    EXPECT_CLOSE(tanh(as(x)));
    EXPECT_CLOSE(sigmoid(as(x)));
    EXPECT_CLOSE(erf(as(x)));
    EXPECT_CLOSE(rsqrt(as(x)));
    EXPECT_CLOSE(exp2(as(x)));
    if (!huge) {
      EXPECT_CLOSE(sin(as(x)));
      EXPECT_CLOSE(cos(as(x)));
    }
    EXPECT_SAME(as(x).isfinite());
    EXPECT_SAME(as(x).logical_not());
    if (GetParam() == ops::kBool) continue;
    EXPECT_SAME(as(x).abs());
    EXPECT_SAME(as(x).sign());
    EXPECT_SAME(as(x).neg());
    EXPECT_SAME(-as(x));
    EXPECT_SAME(as(x).square());
    EXPECT_SAME(square(as(x)));
    EXPECT_SAME(as(x).floor());
    EXPECT_SAME(as(x).round());
    EXPECT_SAME(ceil(as(x)));
    EXPECT_SAME(relu(as(x)));
    if (!floats) continue;
    EXPECT_SAME(as(x).clamp(-1, 1.5));
    EXPECT_CLOSE(gelu(as(x.clamp(-1e6, 1e6))));  // torch gives NaN for infinity
    EXPECT_CLOSE(gelu(as(x), "tanh"));
    EXPECT_CLOSE(silu(as(x)));
    EXPECT_CLOSE(mish(as(x)));
    EXPECT_CLOSE(leaky_relu(as(x)));
    EXPECT_CLOSE(pow(10000.0, as(x)));
    EXPECT_CLOSE(pow(2, as(x)));
    EXPECT_CLOSE(logaddexp(as(x), as(x)));
    EXPECT_CLOSE(logaddexp(as(x), as(x.flip({0}))));
    EXPECT_SAME(maximum(as(x), as(x.flip({0}))));
  }
}

TEST_P(HostNumbers, AreReduced) {
  const at::Tensor batch = random_numbers({3, 4, 5}, GetParam());
  std::vector<at::Tensor> all = random_matrices(GetParam());
  all.push_back(batch.transpose(0, 2));
  for (const at::Tensor& x : all) {
    EXPECT_CLOSE(as(x).sum());
    EXPECT_CLOSE(as(x).sum(as(ops::kDouble)));
    EXPECT_CLOSE(as(x).sum(as(ops::kInt)));
    if (GetParam() != ops::kByte) {  // for which torch gives bytes
      EXPECT_SAME(as(x).any());
      EXPECT_SAME(as(x).all());
    }
    for (const std::int64_t d : {0, 1, -1}) {
      const bool none = x.size(d) == 0;
      if (GetParam() != ops::kByte) {
        EXPECT_SAME(as(x).any(d)) << d;
      }
      EXPECT_CLOSE(as(x).cumsum(d)) << d;
      EXPECT_SAME(as(x).argsort(true, d, false)) << d;
      EXPECT_SAME(as(x).argsort(true, d, true)) << d;
      EXPECT_SAME(as(x).sort(true, d, false)) << d;
      EXPECT_SAME(as(x).sort(true, d, true)) << d;
      for (const bool keep : {false, true}) {
        EXPECT_CLOSE(as(x).sum(d, keep)) << d;
        EXPECT_CLOSE(as(x).sum(d, keep, as(ops::kFloat))) << d;
        EXPECT_CLOSE(as(x).sum(Sizes{d, d == 0 ? 1 : 0}, keep)) << d;
        if (none) continue;
        EXPECT_SAME(as(x).max(d, keep)) << d;
        EXPECT_SAME(as(x).amax(d, keep)) << d;
        if (GetParam() != ops::kBool) {
          EXPECT_SAME(as(x).argmax(d, keep)) << d;
        }
      }
    }
    if (x.numel() == 0) continue;
    EXPECT_SAME(as(x).min());
    EXPECT_SAME(as(x).max());
    EXPECT_SAME(aminmax(as(x)));
  }
  const at::Tensor one = random_numbers({}, GetParam());
  EXPECT_CLOSE(as(one).sum());
  EXPECT_SAME(as(one).max());
  EXPECT_REFUSED(as(batch).sum(3));
  EXPECT_REFUSED(as(batch.narrow(1, 0, 0)).max());
  EXPECT_REFUSED(as(batch.narrow(1, 0, 0)).max(1));
  EXPECT_REFUSED(as(batch.narrow(1, 0, 0)).amax(1));
  EXPECT_REFUSED(as(batch.narrow(1, 0, 0)).argmax(1));
}

class HostFloats : public OfEachType {};
INSTANTIATE_TEST_SUITE_P(, HostFloats, testing::Values(ops::kFloat, ops::kDouble), name_of_type);

TEST_P(HostFloats, AreReduced) {
  std::vector<at::Tensor> all = random_matrices(GetParam());
  const at::Tensor marked = random_numbers({4, 6}, GetParam());
  marked[0].fill_(-INFINITY);
  marked[1][2] = marked[1][4] = NAN;
  marked[2][0] = INFINITY;
  marked[3][1] = -INFINITY;
  all.push_back(marked);
  for (const at::Tensor& x : all) {
    EXPECT_CLOSE(as(x).mean());
    EXPECT_CLOSE(logsumexp(as(x), Sizes{0, 1}));
    for (const std::int64_t d : {0, 1, -2}) {
      const bool none = x.size(d) == 0;
      EXPECT_CLOSE(softmax(as(x), d));
      EXPECT_CLOSE(log_softmax(as(x), d));
      EXPECT_CLOSE(log_softmax(as(x), d, as(ops::kDouble)));
      EXPECT_CLOSE(as(x).nansum(d));
      EXPECT_CLOSE(as(x).sum(d));
      EXPECT_CLOSE(as(x).cumsum(d));
      EXPECT_SAME(as(x).sort(true, d, true));
      EXPECT_SAME(as(x).sort(true, d, false));
      for (const bool keep : {false, true}) {
        EXPECT_CLOSE(as(x).mean(d, keep));
        EXPECT_CLOSE(as(x).logsumexp(d, keep));
        EXPECT_CLOSE(as(x).norm(2, d, keep));
        EXPECT_CLOSE(vector_norm(as(x), 2, Sizes{d}, keep));
        if (none) continue;
        EXPECT_SAME(as(x).max(d, keep));
        EXPECT_SAME(as(x).argmax(d, keep));
        EXPECT_SAME(as(x).amax(d, keep));
        EXPECT_SAME(as(x).topk(2, d));
      }
    }
    if (x.numel() > 0) {
      EXPECT_SAME(as(x).max());
    }
    if (x.numel() > 0) {
      EXPECT_SAME(as(x).min());
    }
  }
  const at::Tensor x = random_numbers({4, 6}, GetParam()), y = random_numbers({4, 6}, GetParam());
  EXPECT_CLOSE(cosine_similarity(as(x), as(y), 1));
  EXPECT_CLOSE(cosine_similarity(as(x), as(at::zeros_like(y)), 0));
  EXPECT_CLOSE(layer_norm(as(x), Sizes{6}, as(y[0]), as(y[1]), 1e-5));
  EXPECT_CLOSE(rms_norm(as(x), Sizes{6}, as(y[0]), 1e-5));
}

// Of equal numbers, the same ones are selected as in torch, in the same order.
TEST_P(HostNumbers, AreOrderedAlsoWhereTheyAreEqual) {
  if (GetParam() == ops::kBool) return;
  for (const std::int64_t length : {1, 7, 100, 5000}) {
    const at::Tensor x = at::randint(0, 5, {length, 3}).to(torch_type(GetParam()));
    for (const std::int64_t count : {0, 1, 2, 5, 78, 4999, 5000}) {
      if (count <= length) {
        EXPECT_SAME(as(x).topk(count, 0)) << count << " of " << length;
      }
    }
    EXPECT_SAME(topk(as(x), std::min<std::int64_t>(2, length), 0));
    EXPECT_SAME(as(x).argsort(true, 0, true));
    EXPECT_SAME(argsort(as(x), true, 0, false));
    EXPECT_SAME(as(x).argmax(0));
    EXPECT_SAME(as(x).max(0));
    EXPECT_REFUSED(as(x).topk(4));
  }
}

TEST(HostRandom, IsTorchs) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{15485863}, std::uint64_t{1} << 40}) {
    auto theirs = at::make_generator<at::CPUGeneratorImpl>(seed);
    auto ours = ops::make_generator<ops::CPUGeneratorImpl>(seed);
    for (const std::int64_t count : {0, 1, 2, 1000, 50000})
      EXPECT_TRUE(same(ops::randperm(count, ours, ops::kLong), at::randperm(count, theirs, at::kLong), 0));
    for (const std::int64_t end : {2, 3, 1000, 1 << 27})
      EXPECT_TRUE(same(ops::randint(0, end, {30, 7}, ours, ops::kLong),
                       at::randint(0, end, {30, 7}, theirs, at::kLong), 0));
    EXPECT_TRUE(
        same(ops::randint(-5, 6, {9}, ours, ops::kInt), at::randint(-5, 6, {9}, theirs, at::kInt), 0));
  }
}

TEST(HostRandom, WeightsAreTorchsExceptForTheLastBits) {
  for (const std::int64_t count : {1, 6, 16, 37, 1000}) {
    auto theirs = at::make_generator<at::CPUGeneratorImpl>(11);
    auto ours = ops::make_generator<ops::CPUGeneratorImpl>(11);
    EXPECT_TRUE(same(ops::empty({count}).uniform_(-0.5, 2, ours),
                     at::empty({count}).uniform_(-0.5, 2, theirs), 2e-6));
    EXPECT_TRUE(
        same(ops::empty({count}).normal_(0.5, 2, ours), at::empty({count}).normal_(0.5, 2, theirs), 1e-5));
  }
}

TEST(HostTensors, AreMade) {
  EXPECT_TRUE(same(ops::zeros({2, 3}), at::zeros({2, 3}), 0));
  EXPECT_TRUE(same(ops::ones({2, 0}, ops::kBool), at::ones({2, 0}, at::kBool), 0));
  EXPECT_TRUE(same(ops::full({2}, -1.5, ops::kFloat), at::full({2}, -1.5, at::kFloat), 0));
  EXPECT_TRUE(same(ops::eye(3, ops::kInt), at::eye(3, at::kInt), 0));
  EXPECT_TRUE(same(ops::scalar_tensor(3), at::scalar_tensor(3), 0));
  EXPECT_TRUE(same(ops::tensor(std::vector<float>{1, 2.5f}), at::tensor(std::vector<float>{1, 2.5f}), 0));
  EXPECT_TRUE(same(ops::tensor({1, 2}, ops::kDouble), at::tensor({1, 2}, at::kDouble), 0));
  EXPECT_TRUE(same(ops::arange(5), at::arange(5), 0));
  EXPECT_TRUE(same(ops::arange(2.5), at::arange(2.5), 0));
  EXPECT_TRUE(same(ops::arange(3, 8), at::arange(3, 8), 0));
  EXPECT_TRUE(same(ops::arange(0, 7, 2, ops::kFloat), at::arange(0, 7, 2, at::kFloat), 0));
  EXPECT_TRUE(same(ops::arange(5, -2, -3, ops::kLong), at::arange(5, -2, -3, at::kLong), 0));
  EXPECT_TRUE(same(ops::arange(0, 1, 0.1, ops::kDouble), at::arange(0, 1, 0.1, at::kDouble), 1e-6));
  const at::Tensor x = random_numbers({2, 3}, ops::kInt);
  EXPECT_SAME(zeros_like(as(x)));
  EXPECT_SAME(ones_like(as(x.t())));
  EXPECT_SAME(ones_like(as(x), as(ops::kFloat)));
  EXPECT_SAME(full_like(as(x), 5));
  EXPECT_ERROR("[-1] is not a valid shape of a tensor", ops::empty({-1}));
  EXPECT_ERROR("[1099511627776, 1099511627776] is not a valid shape of a tensor",
               ops::empty({std::int64_t{1} << 40, std::int64_t{1} << 40}));
  EXPECT_ERROR("expected a step, found 0", ops::arange(0, 3, 0, ops::kLong));
  EXPECT_ERROR("an undefined tensor was used", ops::Tensor().sizes());
  EXPECT_REFUSED(as(x) + as(at::ones({2})));
  EXPECT_REFUSED(as(x).eq(as(at::ones({3, 2}))));
  EXPECT_REFUSED(where(as(x.gt(0)), as(x), as(at::ones({2, 2}))));
  EXPECT_REFUSED(as(x).clone().add_(as(at::ones({2, 2, 3}, at::kInt))));
}

}  // namespace
}  // namespace attend
