// An Explanation as one HTML page that needs nothing else: no network, no other file.
#pragma once

#include "explain/explanation.h"

#include <filesystem>
#include <string_view>

namespace attend {

// How large what a page holds may become, in bytes before they are compressed. What does not fit is left out,
// and the page says so.
struct PageLimits {
  std::int64_t exact = 2 << 20;    // all in float32
  std::int64_t weights = 8 << 20;  // attention weights in float16; above that in bytes
  std::int64_t added = 16 << 20;   // what is added to scores
  std::int64_t states = 16 << 20;  // embeddings and hidden states
  // In pages of so many weights: the bits behind the point that half-precision numbers keep, those of what
  // scores are made of and those of what is only drawn.
  int bits = 8, drawn_bits = 5;
};

// Complete or not at all.
void write_page(const Explanation& explanation, const std::filesystem::path& path,
                const PageLimits& limits = {});

// The page without its data, as src/explain/page makes it; the data stand where `page_data_mark` is.
std::string_view page_template();
constexpr std::string_view page_data_mark = "<!--attend:data-->";

}  // namespace attend
