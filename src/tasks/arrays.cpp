#include "tasks/arrays.h"

#include "base/error.h"

namespace attend {
namespace {

template <class T>
Tensor copy_of(const std::vector<T>& numbers, const std::vector<std::int64_t>& shape, ScalarType type) {
  Tensor tensor = ops::empty(shape, type);
  std::ranges::copy(numbers, tensor.data<T>());
  return tensor;
}

template <class T>
std::vector<T> numbers_of(const Tensor& tensor, ScalarType type) {
  const Tensor flat = tensor.detach().to(type).contiguous();
  return {flat.const_data<T>(), flat.const_data<T>() + flat.numel()};
}

}  // namespace

const std::vector<float>& Array::floats() const {
  if (const auto* numbers = std::get_if<std::vector<float>>(&values)) return *numbers;
  fail("expected an array of floating-point numbers, found one of integers");
}

const std::vector<std::int64_t>& Array::integers() const {
  if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&values)) return *numbers;
  fail("expected an array of integers, found one of floating-point numbers");
}

Tensor to_tensor(const Array& array, const std::string& name) {
  const std::size_t count = std::visit([](const auto& numbers) { return numbers.size(); }, array.values);
  std::size_t expected = 1;
  for (const std::int64_t length : array.shape) {
    // Limited by the count of values, so that no product of lengths overflows.
    if (length < 0 || (length > 0 && expected > count))
      expected = count + 1;
    else
      expected *=
          static_cast<std::size_t>(std::min<std::int64_t>(length, static_cast<std::int64_t>(count) + 1));
  }
  if (expected != count)
    fail("{}: a shape of [{}] and {} numbers do not go together", name, fmt::join(array.shape, ", "), count);
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&array.values))
    return copy_of(*integers, array.shape, kLong);
  return copy_of(std::get<std::vector<float>>(array.values), array.shape, kFloat);
}

Array to_array(const Tensor& tensor) {
  if (ops::is_floating(tensor.type())) return {tensor.sizes().vec(), numbers_of<float>(tensor, kFloat)};
  return {tensor.sizes().vec(), numbers_of<std::int64_t>(tensor, kLong)};
}

std::map<std::string, Tensor> to_tensors(const Arrays& arrays) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, array] : arrays) tensors[name] = to_tensor(array, name);
  return tensors;
}

Arrays to_arrays(const std::map<std::string, Tensor>& tensors) {
  Arrays arrays;
  for (const auto& [name, tensor] : tensors) arrays[name] = to_array(tensor);
  return arrays;
}

}  // namespace attend
