// Metaspace: white space as the visible letter U+2581, as in SentencePiece. Both a pre-tokenizer and a
// decoder.
#pragma once

#include "formats/json/json.h"

#include <string>

namespace attend::tokenizers {

inline constexpr std::string_view space_letter = "\u2581";  // the default

struct MetaspaceFields {
  enum class Prepend { always, first, never } prepend;
  std::string letter;  // one code point
  bool split;

  static MetaspaceFields read(const Json& json, const std::string& source);
};

}  // namespace attend::tokenizers
