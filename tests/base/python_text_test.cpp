#include "base/python_text.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// What Python 3.11 says. What is in a circle, or a Roman number, has a case as letters do; a modifier letter
// is looked through.
TEST(PythonText, LowerCasesSigmaByItsPlace) {
  EXPECT_EQ(lowercase("ΤΕΛΟΣ ΣΟΣ Σ"), "τελος σος σ");
  EXPECT_EQ(lowercase("aΣ.b aΣ. aΣ'"), "aσ.b aς. aς'");
  EXPECT_EQ(lowercase("ⓐΣ ⅷΣ ªΣ ʰΣ 中Σ"), "ⓐς ⅷς ªς ʰσ 中σ");
  EXPECT_EQ(lowercase("aΣⒶ aʰΣ 𝚺Σ"), "aσⓐ aʰς 𝚺ς");
}

}  // namespace
}  // namespace attend
