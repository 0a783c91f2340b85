// zlib's compressed format (RFC 1950 around RFC 1951), which browsers decode with
// DecompressionStream("deflate").
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace attend {

std::string deflate(std::span<const std::byte> bytes);

}  // namespace attend
