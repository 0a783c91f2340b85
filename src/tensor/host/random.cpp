#include "tensor/host/random.h"

#include "tensor/host/operations.h"

namespace attend::host {

Tensor randperm(std::int64_t count, Generator generator, const TensorOptions& options) {
  const Tensor made = arange(count);
  auto* const numbers = made.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i + 1 < count; ++i)
    std::swap(
        numbers[i],
        numbers[i + static_cast<std::int64_t>(generator.random() % static_cast<std::uint64_t>(count - i))]);
  return made.to(options);
}

Tensor randint(std::int64_t least, std::int64_t end, IntArrayRef shape, Generator generator,
               const TensorOptions& options) {
  const Tensor made = empty(shape, kLong);
  for (std::int64_t i = 0; i < made.numel(); ++i)
    made.data_ptr<std::int64_t>()[i] =
        least + static_cast<std::int64_t>(generator.random() % static_cast<std::uint64_t>(end - least));
  return made.to(options);
}

const Tensor& Tensor::normal_(double, double, std::optional<Generator>) const {
  fail("weights are drawn by the part of attend that trains");
}
const Tensor& Tensor::uniform_(double, double, std::optional<Generator>) const {
  fail("weights are drawn by the part of attend that trains");
}

}  // namespace attend::host
