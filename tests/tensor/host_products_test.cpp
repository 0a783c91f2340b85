// Our tensors against torch's: products, operations made of them, and losses.
#include "both_tensors.h"

namespace attend {
namespace {

class HostProducts : public OfEachType {};
INSTANTIATE_TEST_SUITE_P(, HostProducts, testing::Values(ops::kFloat, ops::kDouble), name_of_type);

TEST_P(HostProducts, OfMatrices) {
  const auto type = GetParam();
  for (const Sizes& shape :
       std::vector<Sizes>{{1, 1, 1}, {3, 5, 4}, {17, 33, 70}, {2, 0, 3}, {0, 3, 2}, {5, 2, 0}}) {
    const std::int64_t m = shape[0], k = shape[1], n = shape[2];
    const at::Tensor row = random_numbers({k}, type), c = random_numbers({n}, type);
    for (const at::Tensor& a : {random_numbers({m, k}, type), random_numbers({k, m}, type).t(),
                                random_numbers({m, 2 * k}, type).slice(1, 0, 2 * k, 2), row.expand({m, k}),
                                random_numbers({m, 1}, type).expand({m, k})}) {
      for (const at::Tensor& b : {random_numbers({k, n}, type), random_numbers({n, k}, type).t(),
                                  random_numbers({2 * k, n}, type).slice(0, 0, 2 * k, 2), c.expand({k, n}),
                                  random_numbers({k, 1}, type).expand({k, n})}) {
        EXPECT_CLOSE_SUMS(matmul(as(a), as(b)));
        EXPECT_CLOSE_SUMS(mm(as(a), as(b)));
        EXPECT_CLOSE_SUMS(linear(as(a), as(b.t()), as(c)));
        EXPECT_CLOSE_SUMS(linear(as(a), as(b.t())));
        EXPECT_CLOSE_SUMS(addmm(as(c), as(a), as(b)));
        EXPECT_CLOSE_SUMS(addmm(as(at::full_like(c, NAN)), as(a), as(b), 0, 2));
        EXPECT_CLOSE_SUMS(addmm(as(c), as(a), as(b), 0.5, -1.5));
        EXPECT_CLOSE_SUMS(matmul(as(row), as(b)));
        EXPECT_CLOSE_SUMS(matmul(as(a), as(row)));
      }
    }
    EXPECT_CLOSE_SUMS(matmul(as(row), as(row)));
    const at::Tensor a = random_numbers({2, 3, m, k}, type), b = random_numbers({3, k, n}, type);
    EXPECT_CLOSE_SUMS(matmul(as(a), as(b)));
    EXPECT_CLOSE_SUMS(matmul(as(a), as(b[0])));
    EXPECT_CLOSE_SUMS(matmul(as(a[0][0]), as(b)));
    EXPECT_CLOSE_SUMS(matmul(as(a.select(1, 0).unsqueeze(1)), as(b)));
    EXPECT_CLOSE_SUMS(matmul(as(b.transpose(1, 2)), as(a.transpose(2, 3))));
    EXPECT_CLOSE_SUMS(matmul(as(a), as(row)));
    EXPECT_CLOSE_SUMS(matmul(as(row), as(b)));
    EXPECT_CLOSE_SUMS([&](auto out) {
      addmm_out(out, as(c), as(a[0][0]), as(b[0]), 2);
      return out;
    }(as(at::zeros({m, n}, c.options()))));
  }
  const at::Tensor x = random_numbers({3, 4}, type);
  EXPECT_REFUSED(matmul(as(x), as(x)));
  EXPECT_REFUSED(matmul(as(x), as(x[0][0])));
  EXPECT_REFUSED(matmul(as(x[0][0]), as(x)));
  EXPECT_REFUSED(matmul(as(x.expand({2, 3, 4})), as(x.t().expand({3, 4, 3}))));
  EXPECT_REFUSED(matmul(as(x), as(x[0].narrow(0, 0, 3))));
  EXPECT_REFUSED(linear(as(x), as(x.t())));
  EXPECT_REFUSED(addmm(as(x), as(x), as(x.t())));
}

TEST(HostNeighbours, AreMultiplied) {
  at::manual_seed(5);
  const auto type = ops::kFloat;
  const at::Tensor x = random_numbers({2, 6, 11}, type), bias = random_numbers({4}, type);
  for (const std::int64_t groups : {1, 2}) {
    for (const std::int64_t kernel : {1, 3, 4}) {
      for (const std::int64_t padding : {0, 1, 3}) {
        const at::Tensor weight = random_numbers({4, 6 / groups, kernel}, type);
        const std::int64_t one = 1;
        EXPECT_CLOSE_SUMS(conv1d(as(x), as(weight), as(bias), one, padding, one, groups));
        EXPECT_CLOSE_SUMS(conv1d(as(x.flip({0}).transpose(0, 1).contiguous().transpose(0, 1)), as(weight),
                                 as(bias), one, padding, one, groups));
      }
    }
  }
  const at::Tensor image = random_numbers({2, 8, 3, 5}, type);
  EXPECT_SAME(pixel_shuffle(as(image), 2));
  EXPECT_SAME(pixel_shuffle(as(image.transpose(2, 3)), 1));
  EXPECT_REFUSED(pixel_shuffle(as(image), 3));
  for (const Sizes& size : std::vector<Sizes>{{3, 5}, {7, 9}, {2, 2}, {1, 30}})
    EXPECT_CLOSE_SUMS(resize_bicubic(as(image), size, false));
  const at::Tensor numbers = places_of({3, 1, 3, 0, 7});
  EXPECT_SAME(bincount(as(numbers), {}, 0));
  EXPECT_SAME(bincount(as(numbers.to(at::kInt)), {}, 12));
  EXPECT_SAME(bincount(as(numbers.narrow(0, 0, 0)), {}, 2));
  EXPECT_REFUSED(bincount(as(numbers - 1), {}, 0));
}

TEST_P(HostProducts, AndLosses) {
  const at::Tensor scores = random_numbers({6, 5}, GetParam()), other = random_numbers({6, 5}, GetParam()),
                   labels = places_of({4, 0, -100, 2, -100, 1}), ignored = at::full({6}, -100, at::kLong);
  const at::Tensor hidden = scores.masked_fill(truths({0, 0, 0, 1, 0}), -INFINITY),
                   batch = random_numbers({2, 5, 3}, GetParam());
  for (const std::int64_t reduction : {0, 1, 2}) {
    for (const double smoothing : {0.0, 0.1}) {
      EXPECT_CLOSE(cross_entropy_loss(as(scores), as(labels), {}, reduction, -100, smoothing));
      EXPECT_CLOSE(
          cross_entropy_loss(as(scores), as(labels.abs().remainder(5)), {}, reduction, 1, smoothing));
      EXPECT_CLOSE(cross_entropy_loss(as(scores), as(ignored), {}, reduction, -100, smoothing));
      EXPECT_CLOSE(cross_entropy_loss(as(hidden), as(labels), {}, reduction, -100, smoothing));
      EXPECT_CLOSE(cross_entropy_loss(as(batch), as(labels.view({2, 3})), {}, reduction, -100, smoothing));
    }
    EXPECT_CLOSE(binary_cross_entropy_with_logits(as(scores * 20), as(other.gt(0).to(other.scalar_type())),
                                                  {}, {}, reduction));
    EXPECT_CLOSE(mse_loss(as(scores), as(other), reduction));
    EXPECT_CLOSE(mse_loss(as(scores[0][0]), as(other[0][0]), reduction));
  }
  EXPECT_REFUSED(cross_entropy_loss(as(scores), as(labels + 1), {}, 1, -99, 0.0));
  EXPECT_REFUSED(cross_entropy_loss(as(scores), as(labels.narrow(0, 0, 4)), {}, 1, -100, 0.0));
  EXPECT_REFUSED(binary_cross_entropy_with_logits(as(scores), as(other[0].narrow(0, 0, 3)), {}, {}, 1));
}

}  // namespace
}  // namespace attend
