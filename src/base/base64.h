// Base64 (RFC 4648), the standard alphabet with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attend {

std::optional<std::string> decode_base64(std::string_view text);  // nothing: it is not base64
std::string encode_base64(std::string_view bytes);

}  // namespace attend
