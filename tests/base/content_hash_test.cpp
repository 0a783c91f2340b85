#include "base/content_hash.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

std::string hash_of(std::string_view text, std::size_t piece) {
  ContentHash hash;
  for (std::size_t at = 0; at < text.size(); at += piece)
    hash.add(std::as_bytes(std::span(text.substr(at, piece))));
  return hash.hex();
}

// Values of Python's mmh3.hash128(text, x64arch=True), its halves in our order.
TEST(ContentHash, IsMurmurHash3) {
  EXPECT_EQ(hash_of("", 1), "00000000000000000000000000000000");
  EXPECT_EQ(hash_of("The quick brown fox jumps over the lazy dog", 64), "e34bbc7bbc071b6c7a433ca9c49a9347");
}

TEST(ContentHash, DoesNotSeeHowContentIsCut) {
  const std::string text = "Content that is longer than several blocks of sixteen bytes, and not a multiple.";
  for (std::size_t piece = 1; piece <= text.size(); ++piece)
    EXPECT_EQ(hash_of(text, piece), hash_of(text, text.size())) << piece;
}

TEST(ContentHash, SeesBordersBetweenTexts) {
  ContentHash one, other;
  one.add_text("ab");
  one.add_text("c");
  other.add_text("a");
  other.add_text("bc");
  EXPECT_NE(one.hex(), other.hex());
}

}  // namespace
}  // namespace attend
