#include "base/bad_inputs.h"

#include "expect_error.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace attend {
namespace {

// Inputs 0 to 9, some of them bad; records the processed inputs in order, and the bad ones.
struct Work {
  std::vector<std::size_t> done, bad;

  explicit Work(const std::vector<std::size_t>& failing, ErrorKind kind = ErrorKind::input) {
    work_around_bad(
        0, 10,
        [&](std::size_t begin, std::size_t end) {
          for (const std::size_t i : failing)
            if (begin <= i && i < end) throw Error("bad", kind);
          for (std::size_t i = begin; i < end; ++i) done.push_back(i);
        },
        [&](std::size_t i, const Error& error) {
          EXPECT_STREQ(error.what(), "bad");
          bad.push_back(i);
        });
  }
};

TEST(BadInputs, DoNotFailOtherInputs) {
  using Numbers = std::vector<std::size_t>;
  EXPECT_EQ(Work({}).done, (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(Work({4}).done, (Numbers{0, 1, 2, 3, 5, 6, 7, 8, 9}));
  EXPECT_EQ(Work({4}).bad, (Numbers{4}));
  EXPECT_EQ(Work({0, 3, 9}).done, (Numbers{1, 2, 4, 5, 6, 7, 8}));
  EXPECT_EQ(Work({0, 3, 9}).bad, (Numbers{0, 3, 9}));
}

TEST(BadInputs, DoNotIncludeErrorsOfTheWholeBatch) {
  EXPECT_ERROR("bad", Work({4}, ErrorKind::call));
}

}  // namespace
}  // namespace attend
