// The number format of a model's matrices during inference.
#pragma once

#include <attend/export.h>

#include <string_view>

namespace attend {
inline namespace v1 {

enum class WeightFormat {
  float32,
  float16,   // these two are widened to float32 inside a product
  bfloat16,  //
  int8,      // one scale per output; inputs are also rounded to 8 bits, with a scale per row
  int4,      // 4.5 bits: a step and a start per 32 inputs, which expand to 8-bit integers
  blocks,    // the integers and scales of a GGUF file as they are; inputs to 8 bits, with a scale per 32
};

// The name: "float32", "float16", ...
ATTEND_API std::string_view name(WeightFormat format);
// The format with this name. Throws Error for an unknown name.
ATTEND_API WeightFormat weight_format(std::string_view name);

}  // namespace v1
}  // namespace attend
