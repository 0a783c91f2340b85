// The number format of a decoder's KV cache.
#pragma once

#include <attend/export.h>

#include <string_view>

namespace attend {
inline namespace v1 {

enum class CacheFormat {
  automatic,  // bfloat16 with weights in bfloat16, int8, int4 or blocks, else float32
  float32,
  bfloat16,  // half the memory; attention also rounds queries and weights to bfloat16, which is faster
  int8,      // with a float32 scale per token and head: 68 instead of 256 bytes for a head of 64 numbers
};

// The name: "auto", "float32", "bfloat16", "int8".
ATTEND_API std::string_view name(CacheFormat format);
// The format with this name. Throws Error for an unknown name.
ATTEND_API CacheFormat cache_format(std::string_view name);

}  // namespace v1
}  // namespace attend
