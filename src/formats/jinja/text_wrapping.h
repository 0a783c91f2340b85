// Long lines as several, as Python's textwrap breaks them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attend::jinja {

struct Wrapping {
  bool long_words = true;  // words longer than a line are broken too
  bool hyphens = true;     // lines may also end after a hyphen and around dashes
};

// The lines of a paragraph, each of at most `width` characters, which must be positive.
std::vector<std::string> wrapped(const std::string& text, std::size_t width, const Wrapping& wrapping);

}  // namespace attend::jinja
