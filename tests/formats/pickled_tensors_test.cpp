#include "formats/tensors/pickled_tensors.h"

#include <attend/error.h>

#include "base/file.h"
#include "formats/tensors/safetensors.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

fs::path data(const std::string& name) {
  return test_data() / "pickles" / name;
}

std::string error_of(const fs::path& path) {
  try {
    PickledTensorFile file(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class PickledTensorsTest : public testing::TestWithParam<const char*> {};

TEST_P(PickledTensorsTest, HoldsWhatPythonWrote) {
  const SafetensorsFile expected(data("tensors.safetensors"));
  const PickledTensorFile found(data(GetParam()));
  ASSERT_EQ(found.tensors().size(), expected.tensors().size());
  for (const auto& [name, view] : expected.tensors()) {
    ASSERT_TRUE(found.tensors().contains(name)) << name;
    const TensorView& other = found.tensors().at(name);
    EXPECT_EQ(other.type, view.type) << name;
    EXPECT_EQ(other.shape, view.shape) << name;
    EXPECT_TRUE(std::ranges::equal(other.data, view.data)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, PickledTensorsTest,
                         testing::Values("archive.bin", "legacy.bin", "plain.bin"));

TEST(PickledTensorFile, RefusesWhatIsNoTensorByName) {
  const std::string message = error_of(data("program.bin"));
  EXPECT_NE(message.find("program.bin: the file uses \"__builtin__.print\""), std::string::npos) << message;
}

// Bytes are changed and files are cut: the result is an Error, or tensors inside the file.
TEST(PickledTensorFile, SurvivesDamage) {
  TemporaryDirectory directory;
  std::mt19937 random(7);
  for (const char* name : {"archive.bin", "legacy.bin", "plain.bin"}) {
    const std::string sound = read_file(data(name));
    for (int round = 0; round < 1500; ++round) {
      std::string content = sound;
      if (round % 5 == 0) content.resize(random() % content.size());
      for (unsigned change = 0; change < 1 + random() % 4 && !content.empty(); ++change)
        content[random() % content.size()] = static_cast<char>(random());
      const fs::path path = directory.file("damaged.bin", content);
      try {
        const PickledTensorFile file(path);
        std::size_t sum = 0;
        for (const auto& [tensor, view] : file.tensors())
          for (const std::byte byte : view.data) sum += static_cast<std::size_t>(byte);
        EXPECT_GE(sum, 0u);
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace attend
