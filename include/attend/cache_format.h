// How the keys and values of tokens that a decoder has read are kept while a text grows.
#pragma once

#include <attend/export.h>

#include <string_view>

namespace attend {

enum class CacheFormat {
  float32,
  int8,  // with a float32 scale for each token and head: of heads of 64 numbers 68 bytes in place of 256
};

// "float32", "int8".
ATTEND_API std::string_view name(CacheFormat format);
// Error for another name.
ATTEND_API CacheFormat cache_format(std::string_view name);

}  // namespace attend
