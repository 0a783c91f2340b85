#include "tokenizers/text/byte_level.h"

#include "base/utf8.h"

#include <array>

namespace attend::tokenizers {
namespace {

struct Alphabet {
  std::array<std::string, 256> letters;
  std::array<int, 512> bytes;

  Alphabet() {
    bytes.fill(-1);
    char32_t next = 256;  // for the bytes that are not printable in Latin-1
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable =
          (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
      const char32_t letter = printable ? static_cast<char32_t>(byte) : next++;
      append_utf8(letters[static_cast<std::size_t>(byte)], letter);
      bytes[letter] = byte;
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet alphabet;
  return alphabet;
}

}  // namespace

std::string_view byte_level_letter(unsigned char byte) {
  return alphabet().letters[byte];
}

std::string to_byte_level(std::string_view bytes) {
  std::string result;
  for (char byte : bytes) result += byte_level_letter(static_cast<unsigned char>(byte));
  return result;
}

int byte_of_letter(char32_t letter) {
  return letter < 512 ? alphabet().bytes[letter] : -1;
}

}  // namespace attend::tokenizers
