// Element types, shapes and other small values of tensors.
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

// Thrown if memory is exhausted, or if sizes are too large for any memory.
struct Error : attend::Error {
  using attend::Error::Error;
};

enum class ScalarType : std::int8_t { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16 };

inline constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short,
                            kInt = ScalarType::Int, kLong = ScalarType::Long, kHalf = ScalarType::Half,
                            kFloat = ScalarType::Float, kDouble = ScalarType::Double,
                            kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;

const char* name_of(ScalarType type);
std::int64_t bytes_of(ScalarType type);  // bytes
bool is_floating(ScalarType type);
bool is_integer(ScalarType type, bool with_bool);

// The 16 bits of a half-precision float.
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

// A few integers, one for each dimension: a shape, strides, dimensions to sum over.
class Dimensions {
 public:
  static constexpr std::size_t kMax = 8;
  Dimensions() = default;
  Dimensions(std::int64_t one) { push_back(one); }
  Dimensions(std::initializer_list<std::int64_t> values) : Dimensions(values.begin(), values.size()) {}
  Dimensions(const std::vector<std::int64_t>& values) : Dimensions(values.data(), values.size()) {}
  Dimensions(const std::int64_t* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) push_back(values[i]);
  }
  void push_back(std::int64_t value) {
    if (size_ == kMax) fail("tensors have at most {} dimensions", kMax);
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
  bool empty() const { return size_ == 0; }
  std::int64_t& operator[](std::size_t i) { return values_[i]; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  std::int64_t front() const { return values_[0]; }
  std::int64_t back() const { return values_[size_ - 1]; }
  std::vector<std::int64_t> vec() const { return {begin(), end()}; }
  // The dimensions from `first` on, or `count` of them.
  Dimensions slice(std::size_t first) const { return slice(first, size_ - first); }
  Dimensions slice(std::size_t first, std::size_t count) const { return {begin() + first, count}; }
  bool operator==(const Dimensions& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  std::array<std::int64_t, kMax> values_{};
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

}  // namespace attend::ops
