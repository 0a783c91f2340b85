// Dropout masks on a device are those of the kernels.
#include "tensor/both_tensors.h"
#include "tensor/random.h"
#include "tensor_checks.h"

namespace attend {
namespace {

TEST(DropoutMask, IsTheSameOnADevice) {
  // Rows as attention has them, (query * heads + head) << 24, also beyond 32 bits.
  std::vector<std::int64_t> first = {0, 1, 12345, 0xffffff00};
  for (const std::int64_t row : {1, 127, 128, 255, 256, 4321}) first.push_back(row << 24);
  const Tensor rows = ops::tensor(first).view({2, 5, 1});
  for (const std::int64_t n : {1, 17, 256})
    for (const double rate : {0.1, 0.5, 0.999})
      for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
        const Tensor expected = ops::dropout_mask(rows, n, rate, seed, nullptr),
                     found = ops::dropout_mask(rows, n, rate, seed, on_device().device);
        EXPECT_TRUE(ops::equal(found.home(), expected))
            << n << " numbers, rate " << rate << ", seed " << seed;
      }
}

TEST(DropoutMask, KeepsTheShareThatIsWanted) {
  const Tensor mask = ops::dropout_mask(ops::zeros({1}, ops::kLong), 100000, 0.3, 5, nullptr);
  EXPECT_NEAR(mask.gt(0).to(ops::kFloat).mean().item<double>(), 0.7, 0.01);
  EXPECT_NEAR(mask.mean().item<double>(), 1, 0.02);
  EXPECT_FALSE(ops::equal(mask, ops::dropout_mask(ops::zeros({1}, ops::kLong), 100000, 0.3, 6, nullptr)));
}

}  // namespace
}  // namespace attend
