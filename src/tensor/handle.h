// A tensor: elements of one type in memory that several tensors may share, with a shape and strides. The
// members for gradients are in tape.h.
//
// A Tensor is a handle, like a std::shared_ptr: a const handle always refers to the same elements, but may
// write them. Operations whose names end in _ write in place. An operation that PyTorch has too does the same
// as there, and has PyTorch's name if that name is clear.
#pragma once

#include "tensor/types.h"

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

namespace attend::ops {

// Like torch's CPU generator, this is the standard Mersenne Twister. Copies share its state.
class Generator {
 public:
  explicit Generator(std::uint64_t seed)
      : engine_(std::make_shared<std::mt19937>(static_cast<std::uint32_t>(seed))) {}
  std::uint32_t random() { return static_cast<std::uint32_t>((*engine_)()); }

 private:
  std::shared_ptr<std::mt19937> engine_;
};

class Device;     // device.h
struct HomeCopy;  // device.cpp

// Memory that tensors share, with a count of the changes in place.
struct Memory {
  Device* device = nullptr;  // whose memory it is; null: the program's own
  std::byte* begin = nullptr;
  std::size_t size = 0;
  std::function<void(std::byte*, std::size_t)> release;
  std::atomic<std::uint32_t> version = 0;

  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (release) release(begin, size);
  }
};

struct Gradients;  // gradient state of a tensor (tape.h)
struct Node;

template <class T, std::size_t n>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const std::int64_t* sizes, const std::int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  decltype(auto) operator[](std::int64_t i) const {
    if constexpr (n == 1)
      return (data_[i * strides_[0]]);
    else
      return TensorAccessor<T, n - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }
  std::int64_t size(std::size_t d) const { return sizes_[d]; }

 private:
  T* data_;
  const std::int64_t *sizes_, *strides_;
};

class Tensor {
 public:
  struct Body {
    std::shared_ptr<std::byte> data;  // the first element; keeps its memory alive
    Memory* memory = nullptr;         // kept alive by `data`
    ScalarType type = kFloat;
    Dimensions sizes, strides;  // strides in elements
    bool needs_gradient = false;
    std::shared_ptr<Gradients> gradients = {};
    std::shared_ptr<HomeCopy> home_copy = {};  // for reading a device's elements
  };

  Tensor() = default;
  explicit Tensor(std::shared_ptr<Body> body) : body_(std::move(body)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & = default;
  // Assigns through a temporary view, as in x[3] = y: writes the elements.
  void operator=(const Tensor& from) && { copy_(from); }
  void operator=(Tensor&& from) && { copy_(from); }
  void operator=(Scalar value) && { fill_(value); }

  bool defined() const { return body_ != nullptr; }
  std::int64_t dim() const { return static_cast<std::int64_t>(sizes().size()); }
  const Dimensions& sizes() const { return body().sizes; }
  const Dimensions& strides() const { return body().strides; }
  std::int64_t size(std::int64_t d) const { return sizes()[wrapped(d)]; }
  std::int64_t stride(std::int64_t d) const { return strides()[wrapped(d)]; }
  std::int64_t numel() const;
  std::int64_t element_size() const { return bytes_of(type()); }
  std::int64_t bytes() const { return numel() * element_size(); }
  ScalarType type() const { return body().type; }
  bool is_floating_point() const { return is_floating(type()); }
  bool is_contiguous() const;
  bool is_same(const Tensor& other) const { return body_ == other.body_; }
  // Handles of the same tensor have the same identity.
  const void* identity() const { return body_.get(); }
  long handles() const { return body_.use_count(); }
  const std::shared_ptr<Body>& body_ptr() const { return body_; }
  void reset() { body_.reset(); }
  // How often this memory was changed in place. Code that writes through a pointer must call bump_version.
  std::uint32_t version() const { return body().memory->version.load(std::memory_order_relaxed); }
  void bump_version() const { body().memory->version.fetch_add(1, std::memory_order_relaxed); }

  // Gradients (tape.h).
  bool needs_gradient() const { return body().needs_gradient || (body().gradients && sees_gradients()); }
  const Tensor& set_needs_gradient(bool on = true) const;
  bool is_leaf() const { return made_by() == nullptr; }
  std::shared_ptr<Node> made_by() const;  // null for a leaf
  Tensor gradient() const;                // undefined if there is none
  Tensor& mutable_gradient() const;
  void backward(bool keep_graph = false) const;  // of a tensor with one element
  // Replaces shape, type and memory by those of `other`, for all handles of this tensor.
  void set_data(const Tensor& other) const;

  // Where the elements are: null for the program's memory, else a device, which must outlive the tensor. on()
  // copies them to another place, home() to the program's memory; gradients follow.
  Device* device() const { return body().memory->device; }
  Tensor on(Device* device) const;
  Tensor home() const { return on(nullptr); }

  // The elements in the program's memory. A tensor of a device can only be read: const_data() copies it, once
  // for each tensor unless it was changed in between.
  template <class T>
  T* data() const {
    check_type(scalar_type_of<T>());
    return reinterpret_cast<T*>(data());
  }
  template <class T>
  const T* const_data() const {
    check_type(scalar_type_of<T>());
    return reinterpret_cast<const T*>(const_data());
  }
  void* data() const {
    if (device() != nullptr) check_home();
    return body().data.get();
  }
  const void* const_data() const { return device() != nullptr ? read_at_home() : body().data.get(); }
  template <class T, std::size_t n>
  TensorAccessor<T, n> accessor() const {
    if (dim() != static_cast<std::int64_t>(n)) fail("expected {} dimensions, found {}", n, dim());
    return {data<T>(), body().sizes.begin(), body().strides.begin()};
  }
  template <class T>
  T item() const {
    return item().to<T>();
  }
  Scalar item() const;  // of a tensor with one element

  // Views of the same memory.
  Tensor view(const Dimensions& shape) const;
  Tensor view(ScalarType type) const;  // the same bytes as another type
  Tensor narrow(std::int64_t d, std::int64_t first, std::int64_t count) const;
  Tensor slice(std::int64_t d, std::optional<std::int64_t> first = {}, std::optional<std::int64_t> end = {},
               std::int64_t step = 1) const;
  Tensor select(std::int64_t d, std::int64_t place) const;
  Tensor operator[](std::int64_t place) const { return select(0, place); }
  Tensor transpose(std::int64_t a, std::int64_t b) const;
  Tensor t() const { return dim() < 2 ? *this : transpose(0, 1); }
  Tensor permute(const Dimensions& order) const;
  Tensor unsqueeze(std::int64_t d) const;
  Tensor squeeze(std::int64_t d) const;
  Tensor squeeze() const;
  Tensor expand(const Dimensions& shape) const;
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  Tensor diagonal(std::int64_t offset = 0, std::int64_t rows = 0, std::int64_t columns = 1) const;
  Tensor detach() const;
  std::vector<Tensor> chunk(std::int64_t count, std::int64_t d = 0) const;
  std::vector<Tensor> split(std::int64_t size, std::int64_t d = 0) const;  // the last may be smaller
  std::vector<Tensor> split_with_sizes(const std::vector<std::int64_t>& sizes, std::int64_t d = 0) const;
  std::vector<Tensor> unbind(std::int64_t d = 0) const;

  // Views if possible, else copies.
  Tensor reshape(const Dimensions& shape) const;
  Tensor flatten(std::int64_t first = 0, std::int64_t last = -1) const;
  Tensor unflatten(std::int64_t d, const Dimensions& shape) const;
  Tensor contiguous() const;
  Tensor to(ScalarType type) const;

  // Copies.
  Tensor clone() const;
  Tensor repeat(const Dimensions& times) const;
  Tensor repeat_interleave(std::int64_t times, std::int64_t d) const;
  Tensor repeat_interleave(const Tensor& times, std::int64_t d) const;
  Tensor roll(std::int64_t by) const;
  Tensor flip(std::int64_t d) const;
  Tensor triu(std::int64_t diagonal = 0) const;
  Tensor tril(std::int64_t diagonal = 0) const;
  Tensor index_select(std::int64_t d, const Tensor& places) const;
  Tensor index(
      const std::vector<Tensor>& places) const;  // for the first dimensions, or one mask: where it is true
  Tensor index_put(const std::vector<Tensor>& places, const Tensor& values) const;
  Tensor index_copy(std::int64_t d, const Tensor& places, const Tensor& values) const;
  Tensor index_add(std::int64_t d, const Tensor& places, const Tensor& values) const;
  Tensor index_fill(std::int64_t d, const Tensor& places, Scalar value) const;
  Tensor scatter_reduce(std::int64_t d, const Tensor& places, const Tensor& values,
                        const char* how) const;  // amax
  Tensor gather(std::int64_t d, const Tensor& places) const;
  Tensor masked_fill(const Tensor& mask, Scalar value) const;
  Tensor masked_select(const Tensor& mask) const;
  Tensor nonzero() const;

  // In place.
  const Tensor& copy_(const Tensor& from) const;
  const Tensor& fill_(Scalar value) const;
  const Tensor& zero_() const { return fill_(0); }
  const Tensor& index_copy_(std::int64_t d, const Tensor& places, const Tensor& values) const;
  const Tensor& index_add_(std::int64_t d, const Tensor& places, const Tensor& values) const;
  const Tensor& index_fill_(std::int64_t d, const Tensor& places, Scalar value) const;
  const Tensor& index_put_(const std::vector<Tensor>& places, const Tensor& values) const;
  const Tensor& scatter_(std::int64_t d, const Tensor& places, const Tensor& values) const;
  const Tensor& add_(const Tensor& other, Scalar factor = 1) const;
  const Tensor& sub_(const Tensor& other, Scalar factor = 1) const;
  const Tensor& mul_(const Tensor& other) const;
  const Tensor& mul_(Scalar other) const;
  const Tensor& div_(const Tensor& other) const;
  const Tensor& div_(Scalar other) const;
  const Tensor& clamp_min_(Scalar min) const;
  const Tensor& add_(Scalar other) const;
  const Tensor& sub_(Scalar other) const;
  const Tensor& lerp_(const Tensor& other, Scalar share) const;
  const Tensor& addcmul_(const Tensor& a, const Tensor& b, Scalar factor = 1) const;
  const Tensor& addcdiv_(const Tensor& a, const Tensor& b, Scalar factor = 1) const;
  const Tensor& rsqrt_() const;
  const Tensor& sign_() const;
  const Tensor& fill_diagonal_(Scalar value) const;
  const Tensor& operator+=(const Tensor& other) const { return add_(other); }
  const Tensor& operator+=(Scalar other) const { return add_(other); }
  const Tensor& operator-=(const Tensor& other) const { return sub_(other); }
  const Tensor& operator*=(const Tensor& other) const { return mul_(other); }
  const Tensor& operator*=(Scalar other) const { return mul_(other); }
  const Tensor& operator/=(Scalar other) const { return div_(other); }
  const Tensor& normal_(double mean, double deviation, Generator generator) const;
  const Tensor& uniform_(double from, double to, Generator generator) const;

  // Element by element.
  Tensor add(const Tensor& other, Scalar factor = 1) const;
  Tensor lerp(const Tensor& other, Scalar share) const;
  Tensor mul(const Tensor& other) const;
  Tensor mul(Scalar other) const;
  Tensor neg() const;
  Tensor operator-() const { return neg(); }
  Tensor abs() const;
  Tensor exp() const;
  Tensor log() const;
  Tensor log2() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor sigmoid() const;
  Tensor square() const;
  Tensor floor() const;
  Tensor round() const;
  Tensor sign() const;
  Tensor isfinite() const;
  Tensor logical_not() const;
  Tensor bitwise_and(Scalar mask) const;
  Tensor bitwise_right_shift(Scalar by) const;
  Tensor remainder(Scalar by) const;  // has the sign of the divisor
  Tensor clamp(std::optional<Scalar> min, std::optional<Scalar> max) const;
  Tensor clamp_min(Scalar min) const { return clamp(min, {}); }
  Tensor clamp_max(Scalar max) const { return clamp({}, max); }
  Tensor eq(const Tensor& other) const;
  Tensor ne(const Tensor& other) const;
  Tensor lt(const Tensor& other) const;
  Tensor le(const Tensor& other) const;
  Tensor gt(const Tensor& other) const;
  Tensor ge(const Tensor& other) const;
  Tensor eq(Scalar other) const;
  Tensor ne(Scalar other) const;
  Tensor lt(Scalar other) const;
  Tensor le(Scalar other) const;
  Tensor gt(Scalar other) const;
  Tensor ge(Scalar other) const;
  Tensor logical_and(const Tensor& other) const;
  Tensor logical_or(const Tensor& other) const;

  // Along dimensions, or over all elements.
  Tensor sum(std::optional<ScalarType> type = {}) const;
  Tensor sum(const Dimensions& dims, bool keep = false, std::optional<ScalarType> type = {}) const;
  Tensor sum(std::int64_t d, bool keep = false, std::optional<ScalarType> type = {}) const {
    return sum(Dimensions(d), keep, type);
  }
  Tensor nansum(std::int64_t d) const;
  Tensor mean() const;
  Tensor mean(std::int64_t d, bool keep = false) const;
  Tensor min() const;
  Tensor max() const;
  std::tuple<Tensor, Tensor> max(std::int64_t d, bool keep = false) const;  // with their indices
  Tensor amax(std::int64_t d, bool keep = false) const;
  Tensor argmax(std::int64_t d, bool keep = false) const;
  Tensor argmax() const { return flatten().argmax(0); }
  Tensor softmax(std::int64_t d) const;
  Tensor any() const;
  Tensor any(std::int64_t d) const;
  Tensor all() const;
  Tensor logsumexp(std::int64_t d, bool keep = false) const;
  Tensor norm(Scalar power, std::int64_t d, bool keep = false) const;  // only power 2
  Tensor cumsum(std::int64_t d) const;
  std::tuple<Tensor, Tensor> sort(bool stable, std::int64_t d, bool descending) const;
  Tensor argsort(bool stable, std::int64_t d, bool descending) const;
  std::tuple<Tensor, Tensor> topk(std::int64_t count, std::int64_t d = -1) const;

  Body& body() const {
    if (!body_) fail("an undefined tensor was used");
    return *body_;
  }
  std::size_t wrapped(std::int64_t d) const;  // -1 means the last dimension

 private:
  void check_type(ScalarType wanted) const;
  void check_home() const;
  const void* read_at_home() const;
  bool sees_gradients() const;
  std::shared_ptr<Body> body_;
};

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, Scalar b);
Tensor operator-(const Tensor& a, Scalar b);
Tensor operator*(const Tensor& a, Scalar b);
Tensor operator/(const Tensor& a, Scalar b);
Tensor operator+(Scalar a, const Tensor& b);
Tensor operator-(Scalar a, const Tensor& b);
Tensor operator*(Scalar a, const Tensor& b);
Tensor operator/(Scalar a, const Tensor& b);
inline Tensor operator==(const Tensor& a, const Tensor& b) {
  return a.eq(b);
}
#define ATTEND_COMPARISON(sign, name)                             \
  inline Tensor operator sign(const Tensor& a, const Scalar& b) { \
    return a.name(b);                                             \
  }
ATTEND_COMPARISON(==, eq)
ATTEND_COMPARISON(!=, ne)
ATTEND_COMPARISON(<, lt)
ATTEND_COMPARISON(<=, le)
ATTEND_COMPARISON(>, gt)
ATTEND_COMPARISON(>=, ge)
#undef ATTEND_COMPARISON
inline Tensor operator>(const Tensor& a, const Tensor& b) {
  return a.gt(b);
}
inline Tensor operator<(const Tensor& a, const Tensor& b) {
  return a.lt(b);
}

}  // namespace attend::ops
