// SHA-256 (FIPS 180-4), for formats that need it: a page's Content-Security-Policy identifies scripts by it.
#pragma once

#include <string>
#include <string_view>

namespace attend {

std::string sha256(std::string_view bytes);  // 32 bytes, not hexadecimal

}  // namespace attend
