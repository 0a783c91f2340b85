// How the numbers of a model's matrices are kept while it computes.
#pragma once

#include <attend/export.h>

#include <string_view>

namespace attend {

enum class WeightFormat {
  float32,
  float16,   // these two are widened to float32 on their way into a product
  bfloat16,  //
  int8,      // a scale per output; inputs are rounded to 8 bits as well, each row by itself
  int4,      // 4.5 bits: a step and a start per 32 inputs, standing for integers as those of int8
};

// "float32", "float16", ...
ATTEND_API std::string_view name(WeightFormat format);
// Error for another name.
ATTEND_API WeightFormat weight_format(std::string_view name);

}  // namespace attend
