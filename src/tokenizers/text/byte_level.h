// The byte-level alphabet of GPT-2 (Radford et al. 2019, encoder.py): a printable letter for every byte, so
// that BPE over letters is BPE over bytes.
#pragma once

#include <string>
#include <string_view>

namespace attend::tokenizers {

std::string_view byte_level_letter(unsigned char byte);  // in UTF-8, one or two bytes
std::string to_byte_level(std::string_view bytes);
// The byte for a letter; -1: none.
int byte_of_letter(char32_t letter);

}  // namespace attend::tokenizers
