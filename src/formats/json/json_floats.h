// float32 numbers in JSON, with as many digits as needed.
#pragma once

#include "formats/json/json.h"

#include <charconv>
#include <span>

namespace attend {

// JSON's numbers are doubles: this returns the double with the shortest decimal that represents `value` (0.1,
// not 0.10000000149011612). A reader gets the same float32 back.
inline double shortest_double(float value) {
  char text[32];
  const char* const end = std::to_chars(text, text + sizeof(text), value).ptr;
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

// `json` on one line, with the shortest decimal for each number; invalid UTF-8 becomes U+FFFD. (The library's
// own writer, Grisu2, writes one double in a thousand with 17 digits.)
std::string shortest_line(const Json& json);

inline Json float_list(std::span<const float> values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(shortest_double(value));
  return list;
}

}  // namespace attend
