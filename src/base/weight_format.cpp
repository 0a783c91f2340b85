#include <attend/weight_format.h>

#include "base/error.h"

#include <utility>

namespace attend {
namespace {

constexpr std::pair<WeightFormat, std::string_view> kFormats[] = {
    {WeightFormat::float32, "float32"},   {WeightFormat::float16, "float16"},
    {WeightFormat::bfloat16, "bfloat16"}, {WeightFormat::int8, "int8"},
    {WeightFormat::int4, "int4"},         {WeightFormat::blocks, "blocks"}};

}  // namespace

std::string_view v1::name(WeightFormat format) {
  for (const auto& [each, its_name] : kFormats)
    if (each == format) return its_name;
  fail("unknown format of weights {}", static_cast<int>(format));
}

WeightFormat v1::weight_format(std::string_view wanted) {
  for (const auto& [format, its_name] : kFormats)
    if (wanted == its_name) return format;
  fail("weights {}: expected float32, float16, bfloat16, int8, int4 or blocks", wanted);
}

}  // namespace attend
