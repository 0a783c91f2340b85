// What a tensor's numbers are, how it is shaped, and other small values.
#pragma once

#include "base/error.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace attend::ops {

// No memory, or sizes that no memory has.
struct Error : attend::Error {
  using attend::Error::Error;
};

enum class ScalarType : std::int8_t { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16 };

inline constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short,
                            kInt = ScalarType::Int, kLong = ScalarType::Long, kHalf = ScalarType::Half,
                            kFloat = ScalarType::Float, kDouble = ScalarType::Double,
                            kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;

const char* toString(ScalarType type);
std::int64_t elementSize(ScalarType type);  // bytes
bool isFloatingType(ScalarType type);
bool isIntegralType(ScalarType type, bool with_bool);

// Sixteen bits that stand for a float.
struct Half {
  std::uint16_t bits = 0;
};
struct BFloat16 {
  std::uint16_t bits = 0;
};

template <class T>
constexpr ScalarType scalar_type_of() {
  if constexpr (std::is_same_v<T, bool>) return kBool;
  if constexpr (std::is_same_v<T, Half>) return kHalf;
  if constexpr (std::is_same_v<T, BFloat16>) return kBFloat16;
  if constexpr (std::is_same_v<T, float>) return kFloat;
  if constexpr (std::is_same_v<T, double>) return kDouble;
  if constexpr (std::is_same_v<T, std::uint8_t>) return kByte;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 1) return kChar;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 2) return kShort;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 4) return kInt;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) return kLong;
}

// Values that lie behind each other and belong to somebody else.
template <class T>
class ArrayRef {
 public:
  ArrayRef() = default;
  ArrayRef(const T* data, std::size_t size) : data_(data), size_(size) {}
  ArrayRef(const T& one) : data_(&one), size_(1) {}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"  // it is for arguments of calls, which outlive them
  ArrayRef(std::initializer_list<T> list) : data_(list.begin()), size_(list.size()) {}
#pragma GCC diagnostic pop
  ArrayRef(const std::vector<T>& vector) : data_(vector.data()), size_(vector.size()) {}
  template <std::size_t n>
  ArrayRef(const std::array<T, n>& array) : data_(array.data()), size_(n) {}

  const T* begin() const {
    return data_;
  }
  const T* end() const {
    return data_ + size_;
  }
  const T* data() const {
    return data_;
  }
  std::size_t size() const {
    return size_;
  }
  bool empty() const {
    return size_ == 0;
  }
  const T& operator[](std::size_t i) const {
    return data_[i];
  }
  const T& front() const {
    return data_[0];
  }
  const T& back() const {
    return data_[size_ - 1];
  }
  std::vector<T> vec() const {
    return {begin(), end()};
  }
  ArrayRef slice(std::size_t first) const {
    return {data_ + first, size_ - first};
  }
  ArrayRef slice(std::size_t first, std::size_t count) const {
    return {data_ + first, count};
  }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};
using IntArrayRef = ArrayRef<std::int64_t>;

inline bool operator==(IntArrayRef a, IntArrayRef b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
inline bool operator==(IntArrayRef a, const std::vector<std::int64_t>& b) {
  return a == IntArrayRef(b);
}

// A few numbers, one for each dimension.
class Dimensions {
 public:
  static constexpr std::size_t kMost = 8;
  Dimensions() = default;
  Dimensions(IntArrayRef values) {
    for (const std::int64_t value : values) push_back(value);
  }
  void push_back(std::int64_t value) {
    if (size_ == kMost) fail("tensors have at most {} dimensions", kMost);
    values_[size_++] = value;
  }
  void insert(std::size_t place, std::int64_t value) {
    push_back(value);
    std::rotate(begin() + place, end() - 1, end());
  }
  void erase(std::size_t place) {
    std::copy(begin() + place + 1, end(), begin() + place);
    --size_;
  }
  std::int64_t* begin() { return values_.data(); }
  std::int64_t* end() { return values_.data() + size_; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + size_; }
  std::size_t size() const { return size_; }
  std::int64_t& operator[](std::size_t i) { return values_[i]; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  operator IntArrayRef() const { return {values_.data(), size_}; }

 private:
  std::array<std::int64_t, kMost> values_{};
  std::size_t size_ = 0;
};

// One number of any type.
class Scalar {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Scalar(T value) : double_(static_cast<double>(value)), integer_(0) {
    if constexpr (std::is_same_v<T, bool>)
      type_ = kBool, integer_ = value;
    else if constexpr (std::is_integral_v<T>)
      type_ = kLong, integer_ = static_cast<std::int64_t>(value);
    else
      type_ = kDouble;
  }
  ScalarType type() const { return type_; }
  template <class T>
  T to() const {
    return type_ == kDouble ? static_cast<T>(double_) : static_cast<T>(integer_);
  }

 private:
  ScalarType type_;
  double double_;
  std::int64_t integer_;
};

enum class DeviceType : std::int8_t { CPU };
inline constexpr DeviceType kCPU = DeviceType::CPU;

// There is one: the processor.
struct Device {
  Device(DeviceType = kCPU) {}
  bool is_cpu() const { return true; }
  bool is_cuda() const { return false; }
  std::string str() const { return "cpu"; }
  bool operator==(const Device&) const = default;
};

// A type as a value that knows its size.
struct TypeMeta {
  ScalarType type;
  operator ScalarType() const { return type; }
  std::size_t itemsize() const { return static_cast<std::size_t>(elementSize(type)); }
};

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : type_(type) {}
  TensorOptions(Device) {}
  TypeMeta dtype() const { return {type_}; }
  TensorOptions dtype(ScalarType type) const { return TensorOptions(type); }
  TensorOptions device(Device) const { return *this; }
  TensorOptions requires_grad(bool) const { return *this; }
  ScalarType type() const { return type_; }

 private:
  ScalarType type_ = kFloat;
};

}  // namespace attend::ops
