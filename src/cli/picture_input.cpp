#include "cli/picture_input.h"

#include "base/base64.h"
#include "base/error.h"

#include <algorithm>

namespace attend::cli {
namespace {

constexpr std::string_view kDataUri = "data:";

// Base64 may contain line breaks, as the program base64 writes them. For a data: URI, decodes the part after
// its header.
std::string picture_bytes(std::string_view text, const std::string& source) {
  if (text.starts_with(kDataUri)) {
    const std::size_t comma = text.find(',');
    if (!text.substr(0, comma).ends_with(";base64"))
      fail("{}: image: expected a URI such as data:image/png;base64,..., found another", source);
    text.remove_prefix(std::min(comma, text.size() - 1) + 1);
  }
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits),
                       [](char c) { return std::string_view(" \t\r\n").find(c) == std::string_view::npos; });
  if (digits.empty()) fail("{}: image: expected a picture's file in base64, found an empty text", source);
  std::optional<std::string> bytes = decode_base64(digits);
  if (!bytes) fail("{}: image: expected a picture's file in base64, found a text that is not base64", source);
  return std::move(*bytes);
}

}  // namespace

Json received_picture(const Fields& input) {
  const ErrorScope scope(ErrorKind::input);
  const std::string bytes = picture_bytes(input.text({"image", "text", "inputs"}), input.source());
  return {{"image", Json::binary({bytes.begin(), bytes.end()})}};
}

Picture read_picture(const Fields& input) {
  const ErrorScope scope(ErrorKind::input);
  const auto found = input.json().find("image");
  if (found != input.json().end() && found->is_binary()) {
    const auto& bytes = found->get_binary();
    return {input.source(), std::string(bytes.begin(), bytes.end())};
  }
  std::string text = input.text({"image", "text", "inputs"});
  if (text.starts_with(kDataUri)) return {input.source(), picture_bytes(text, input.source())};
  return {std::move(text)};
}

}  // namespace attend::cli
