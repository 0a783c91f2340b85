// Numbers with a shape: what programs give a model and get from it.
#pragma once

#include <attend/export.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace attend {

struct ATTEND_API Array {
  std::vector<std::int64_t> shape;
  // Row by row: as many as the lengths in `shape` multiplied.
  std::variant<std::vector<float>, std::vector<std::int64_t>> values;

  Array() = default;
  Array(std::vector<std::int64_t> lengths, std::vector<float> numbers)
      : shape(std::move(lengths)), values(std::move(numbers)) {}
  Array(std::vector<std::int64_t> lengths, std::vector<std::int64_t> numbers)
      : shape(std::move(lengths)), values(std::move(numbers)) {}

  // Error where it holds the others.
  const std::vector<float>& floats() const;
  const std::vector<std::int64_t>& integers() const;
};

using Arrays = std::map<std::string, Array>;

}  // namespace attend
