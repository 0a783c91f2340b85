#include "base/large_memory.h"
#include "tensor/device.h"
#include "tensor/tape.h"
#include "tensor/walk.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/ranges.h>

namespace attend::ops {
namespace {

// The address sanitizer checks the bounds of what malloc returns, but not of parts of a larger block.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kWatched = true;
#else
constexpr bool kWatched = false;
#endif

std::shared_ptr<Memory> allocate(std::int64_t bytes) try {
  constexpr std::size_t kLine = 64;
  const auto memory = std::make_shared<Memory>();
  memory->size = std::max(static_cast<std::size_t>(bytes), kLine);
  if (memory->size < LargeMemory::kMinSize || kWatched) {
    void* const begin = std::aligned_alloc(kLine, (memory->size + kLine - 1) / kLine * kLine);
    if (begin == nullptr) throw std::bad_alloc();
    memory->begin = static_cast<std::byte*>(begin);
    memory->release = [](std::byte* piece, std::size_t) { std::free(piece); };
  } else {
    memory->begin = LargeMemory::shared().take(memory->size);
    memory->release = [](std::byte* begin, std::size_t size) {
      LargeMemory::shared().give_back(begin, size);
    };
  }
  return memory;
} catch (const std::bad_alloc&) {
  throw Error(fmt::format("not enough memory for {} bytes", bytes), ErrorKind::system);
}

std::shared_ptr<Memory> allocate_on(Device& device, std::int64_t bytes) {
  const auto memory = std::make_shared<Memory>();
  memory->device = &device;
  memory->size = static_cast<std::size_t>(bytes);
  const std::shared_ptr<std::byte> block = device.allocate(memory->size);
  memory->begin = block.get();
  memory->release = [block](std::byte*, std::size_t) {};
  return memory;
}

std::int64_t product(const Dimensions& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes)
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      throw Error(fmt::format("[{}] is not a valid shape of a tensor", fmt::join(sizes.vec(), ", ")));
  return count;
}

Tensor made(const std::shared_ptr<Memory>& memory, ScalarType type, const Dimensions& sizes) {
  auto body = std::make_shared<Tensor::Body>();
  body->data = std::shared_ptr<std::byte>(memory, memory->begin);
  body->memory = memory.get();
  body->type = type;
  body->sizes = sizes;
  body->strides = contiguous_strides(sizes);
  return Tensor(std::move(body));
}

}  // namespace

const char* name_of(ScalarType type) {
  static constexpr const char* kNames[] = {"Byte", "Char",  "Short",  "Int",  "Long",
                                           "Half", "Float", "Double", "Bool", "BFloat16"};
  return kNames[static_cast<std::size_t>(type)];
}

std::int64_t bytes_of(ScalarType type) {
  static constexpr std::int64_t kSizes[] = {1, 1, 2, 4, 8, 2, 4, 8, 1, 2};
  return kSizes[static_cast<std::size_t>(type)];
}

bool is_floating(ScalarType type) {
  return type == kFloat || type == kDouble || is_reduced(type);
}

bool is_integer(ScalarType type, bool with_bool) {
  return type == kBool ? with_bool : !is_floating(type);
}

Dimensions contiguous_strides(const Dimensions& sizes) {
  Dimensions strides = sizes;
  std::int64_t step = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<std::int64_t>(1, sizes[d]);
  }
  return strides;
}

std::int64_t Tensor::numel() const {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes()) count *= size;
  return count;
}

bool Tensor::is_contiguous() const {
  std::int64_t step = 1;
  for (std::size_t d = body().sizes.size(); d-- > 0;) {
    if (body().sizes[d] == 1) continue;
    if (body().strides[d] != step) return numel() == 0;
    step *= body().sizes[d];
  }
  return true;
}

std::size_t Tensor::wrapped(std::int64_t d) const {
  const std::int64_t wrapped = d < 0 ? d + dim() : d;
  if (wrapped < 0 || wrapped >= dim()) fail("a tensor of {} dimensions has no dimension {}", dim(), d);
  return static_cast<std::size_t>(wrapped);
}

void Tensor::check_type(ScalarType wanted) const {
  if (type() != wanted) fail("expected a tensor of type {}, found {}", name_of(wanted), name_of(type()));
}

void Tensor::set_data(const Tensor& other) const {
  Body& own = body();
  own.data = other.body().data;
  own.memory = other.body().memory;
  own.type = other.type();
  own.sizes = other.body().sizes;
  own.strides = other.body().strides;
  own.home_copy = nullptr;
  if (own.gradients) own.gradients->leaf.reset();  // the leaf holds a shape
}

Scalar Tensor::item() const {
  if (numel() != 1) fail("expected a tensor of one number, found {}", numel());
  if (is_reduced(type())) return to(kFloat).item();
  return with_type(type(), [&](auto zero) { return Scalar(*const_data<decltype(zero)>()); });
}

Tensor empty(const Dimensions& shape, ScalarType type, Device* device) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(product(shape), bytes_of(type), &bytes))
    throw Error(fmt::format("[{}] is too large for a tensor", fmt::join(shape.vec(), ", ")));
  return made(device != nullptr ? allocate_on(*device, bytes) : allocate(bytes), type, shape);
}

Tensor full(const Dimensions& shape, Scalar value, ScalarType type, Device* device) {
  const Tensor made = empty(shape, type, device);
  made.fill_(value);
  return made;
}

Tensor zeros(const Dimensions& shape, ScalarType type, Device* device) {
  if (device != nullptr) return full(shape, 0, type, device);
  const Tensor made = empty(shape, type);
  if (made.numel() > 0) std::memset(made.data(), 0, static_cast<std::size_t>(made.bytes()));
  return made;
}

Tensor ones(const Dimensions& shape, ScalarType type) {
  return full(shape, 1, type);
}

Tensor empty_like(const Tensor& like) {
  return empty(like.sizes(), like.type(), like.device());
}
Tensor zeros_like(const Tensor& like) {
  return zeros(like.sizes(), like.type(), like.device());
}
Tensor zeros_like(const Tensor& like, ScalarType type) {
  return zeros(like.sizes(), type, like.device());
}
Tensor ones_like(const Tensor& like) {
  return full_like(like, 1);
}
Tensor ones_like(const Tensor& like, ScalarType type) {
  return full(like.sizes(), 1, type, like.device());
}
Tensor full_like(const Tensor& like, Scalar value) {
  return full(like.sizes(), value, like.type(), like.device());
}

Tensor arange(Scalar first, Scalar end, Scalar step, ScalarType type) {
  if (step.to<double>() == 0) fail("expected a step, found 0");
  const double count = std::ceil((end.to<double>() - first.to<double>()) / step.to<double>());
  const Tensor made = empty({std::max<std::int64_t>(0, static_cast<std::int64_t>(count))}, type);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    T* const to = made.data<T>();
    for (std::int64_t i = 0; i < made.numel(); ++i) {
      if constexpr (std::is_floating_point_v<T>)
        to[i] = static_cast<T>(first.to<double>() + static_cast<double>(i) * step.to<double>());
      else
        to[i] = static_cast<T>(first.to<std::int64_t>() + i * step.to<std::int64_t>());
    }
  });
  return made;
}

Tensor arange(Scalar first, Scalar end, ScalarType type) {
  return arange(first, end, 1, type);
}
Tensor arange(Scalar first, Scalar end) {
  return arange(first, end, 1, end.type() == kDouble ? kFloat : kLong);
}
Tensor arange(Scalar end, ScalarType type) {
  return arange(0, end, 1, type);
}
Tensor arange(Scalar end) {
  return arange(0, end);
}

Tensor eye(std::int64_t size, ScalarType type) {
  const Tensor made = zeros({size, size}, type);
  made.diagonal().fill_(1);
  return made;
}

Tensor scalar_tensor(Scalar value, ScalarType type) {
  return full({}, value, type);
}

Tensor tensor(std::initializer_list<std::int64_t> values, std::optional<ScalarType> type) {
  return tensor(std::vector<std::int64_t>(values), type);
}

Tensor from_memory(void* data, const Dimensions& shape, ScalarType type) {
  return from_memory(data, shape, nullptr, type);
}

Tensor from_memory(void* data, const Dimensions& shape, const std::function<void(void*)>& deleter,
                   ScalarType type) {
  product(shape);
  const auto memory = std::make_shared<Memory>();
  memory->begin = static_cast<std::byte*>(data);
  if (deleter) memory->release = [deleter](std::byte* begin, std::size_t) { deleter(begin); };
  return made(memory, type, shape);
}

}  // namespace attend::ops
