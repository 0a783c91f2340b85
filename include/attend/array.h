// A tensor as plain C++ data: the inputs and outputs of Model::forward().
#pragma once

#include <attend/export.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace attend {
inline namespace v1 {

struct ATTEND_API Array {
  std::vector<std::int64_t> shape;
  // Row-major. The size is the product of `shape`.
  std::variant<std::vector<float>, std::vector<std::int64_t>> values;

  Array() = default;
  Array(std::vector<std::int64_t> lengths, std::vector<float> numbers)
      : shape(std::move(lengths)), values(std::move(numbers)) {}
  Array(std::vector<std::int64_t> lengths, std::vector<std::int64_t> numbers)
      : shape(std::move(lengths)), values(std::move(numbers)) {}

  // The values. Throws Error if they have the other type.
  const std::vector<float>& floats() const;
  const std::vector<std::int64_t>& integers() const;
};

using Arrays = std::map<std::string, Array>;

}  // namespace v1
}  // namespace attend
