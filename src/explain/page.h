// An Explanation as one HTML page that needs nothing else: no network, no other file.
#pragma once

#include "explain/explanation.h"

#include <filesystem>
#include <functional>
#include <string_view>

namespace attend {

// Size limits of a page's content, in bytes before compression. The page names what was left out.
struct PageLimits {
  std::int64_t exact = 2 << 20;    // all in float32
  std::int64_t weights = 8 << 20;  // attention weights in float16; above that in bytes
  std::int64_t added = 16 << 20;   // terms added to scores
  std::int64_t states = 16 << 20;  // embeddings and hidden states
  // Mantissa bits of half-precision numbers, in pages with more weights than this: for numbers from which
  // scores are computed, and for numbers that are only drawn.
  int bits = 8, drawn_bits = 5;
};

// `put` gets the page, part by part.
void make_page(const Explanation& explanation, const std::function<void(std::string_view)>& put,
               const PageLimits& limits = {});
// Writes the whole file or nothing.
void write_page(const Explanation& explanation, const std::filesystem::path& path,
                const PageLimits& limits = {});

// The page without its data, as built from src/explain/page; the data replaces `page_data_mark`.
std::string_view page_template();
constexpr std::string_view page_data_mark = "<!--attend:data-->";

}  // namespace attend
