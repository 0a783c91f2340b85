#include <attend/cache_format.h>

#include "base/error.h"

namespace attend {

std::string_view v1::name(CacheFormat format) {
  return format == CacheFormat::int8 ? "int8" : "float32";
}

CacheFormat v1::cache_format(std::string_view wanted) {
  for (const CacheFormat format : {CacheFormat::float32, CacheFormat::int8})
    if (wanted == name(format)) return format;
  fail("cache {}: expected float32 or int8", wanted);
}

}  // namespace attend
