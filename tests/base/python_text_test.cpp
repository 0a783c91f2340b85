#include "base/python_text.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// Results of Python 3.11. Circled letters and Roman numerals have a case like letters; modifier letters are
// skipped.
TEST(PythonText, LowerCasesSigmaByItsPlace) {
  EXPECT_EQ(lowercase("ΤΕΛΟΣ ΣΟΣ Σ"), "τελος σος σ");
  EXPECT_EQ(lowercase("aΣ.b aΣ. aΣ'"), "aσ.b aς. aς'");
  EXPECT_EQ(lowercase("ⓐΣ ⅷΣ ªΣ ʰΣ 中Σ"), "ⓐς ⅷς ªς ʰσ 中σ");
  EXPECT_EQ(lowercase("aΣⒶ aʰΣ 𝚺Σ"), "aσⓐ aʰς 𝚺ς");
}

}  // namespace
}  // namespace attend
