#include "formats/tensors/deflate.h"

#include "base/error.h"

#include <zlib.h>

namespace attend {

std::string deflate(std::span<const std::byte> bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  const int status =
      compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                bytes.size(), Z_DEFAULT_COMPRESSION);
  if (status != Z_OK) fail("cannot compress {} bytes: zlib says {}", bytes.size(), status);
  packed.resize(size);
  return packed;
}

}  // namespace attend
