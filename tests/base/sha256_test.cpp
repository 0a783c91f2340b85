#include "base/sha256.h"

#include "base/base64.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// NIST's examples, and lengths for which the padding takes another block.
TEST(Sha256, EqualsTheStandard) {
  const auto hash = [](std::string_view bytes) { return encode_base64(sha256(bytes)); };
  EXPECT_EQ(hash(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
  EXPECT_EQ(hash("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
  EXPECT_EQ(hash(std::string(55, 'a')), "n0OQ+NMMLdkuyfCVtl4rmumwqSWlJY4kHJ8ekQ9zQxg=");
  EXPECT_EQ(hash(std::string(56, 'a')), "s1Q5pKxvCUi21vnjxq8PX1kM4g8b3nCQ73lwaG7Gc4o=");
  EXPECT_EQ(hash(std::string(63, 'a')), "fT50oF19sVvOStnsBljqmOPwbu7PFrTG//LaRX3cLzQ=");
  EXPECT_EQ(hash(std::string(64, 'a')), "/+BU/nrgy23GXDr5th1SCfQ5hR20PQulmXM33xVGaOs=");
  EXPECT_EQ(hash(std::string(1000, 'a')), "Qe3s5C1j6Nm/UVqbppMuHCDLyfWl0TRkWttdsblzfqM=");
}

}  // namespace
}  // namespace attend
