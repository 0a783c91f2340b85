// GGUF's types of one to three bits, whose numbers are points of a grid: a block has 256 numbers.
#pragma once

#include <cstdint>

namespace attend {

void iq1_s(const std::uint8_t* b, float* to);
void iq1_m(const std::uint8_t* b, float* to);
void iq2_xxs(const std::uint8_t* b, float* to);
void iq2_xs(const std::uint8_t* b, float* to);
void iq2_s(const std::uint8_t* b, float* to);
void iq3_xxs(const std::uint8_t* b, float* to);
void iq3_s(const std::uint8_t* b, float* to);

}  // namespace attend
