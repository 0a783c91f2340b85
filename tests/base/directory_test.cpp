// Directories that are written to.
#include "base/directory.h"

#include "temporary_directory.h"

namespace attend {
namespace {

TEST(Directories, AreMadeUnlessAFileIsInTheWay) {
  const TemporaryDirectory root;
  make_directories(root.path() / "a" / "b");
  make_directories(root.path() / "a" / "b");
  EXPECT_TRUE(std::filesystem::is_directory(root.path() / "a" / "b"));
  const auto file = root.file("words", "x");
  EXPECT_TRUE(contains(error_of([&] { make_directories(file); }),
                       "words: expected a directory to write to, found a file"));
  EXPECT_TRUE(contains(error_of([&] { make_directories(file / "below"); }), "cannot make this directory"));
}

TEST(Directories, OfANewModelHaveNone) {
  const TemporaryDirectory root;
  expect_no_model(root.path() / "new");
  expect_no_model(root.path());
  EXPECT_TRUE(contains(error_of([&] { expect_no_model(root.file("words", "x")); }), "found a file"));
  root.file("config.json", "{}");
  EXPECT_TRUE(contains(error_of([&] { expect_no_model(root.path()); }),
                       "there already is a model in it (config.json)"));
}

}  // namespace
}  // namespace attend
