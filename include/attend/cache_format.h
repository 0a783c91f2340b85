// The number format of a decoder's KV cache.
#pragma once

#include <attend/export.h>

#include <string_view>

namespace attend {
inline namespace v1 {

enum class CacheFormat {
  float32,
  int8,  // with a float32 scale per token and head: 68 instead of 256 bytes for a head of 64 numbers
};

// The name: "float32", "int8".
ATTEND_API std::string_view name(CacheFormat format);
// The format with this name. Throws Error for an unknown name.
ATTEND_API CacheFormat cache_format(std::string_view name);

}  // namespace v1
}  // namespace attend
