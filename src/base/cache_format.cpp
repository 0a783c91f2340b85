#include <attend/cache_format.h>

#include "base/error.h"

namespace attend {

std::string_view v1::name(CacheFormat format) {
  switch (format) {
    case CacheFormat::automatic:
      return "auto";
    case CacheFormat::float32:
      return "float32";
    case CacheFormat::bfloat16:
      return "bfloat16";
    case CacheFormat::int8:
      break;
  }
  return "int8";
}

CacheFormat v1::cache_format(std::string_view wanted) {
  for (const CacheFormat format :
       {CacheFormat::automatic, CacheFormat::float32, CacheFormat::bfloat16, CacheFormat::int8})
    if (wanted == name(format)) return format;
  fail("cache {}: expected auto, float32, bfloat16 or int8", wanted);
}

}  // namespace attend
