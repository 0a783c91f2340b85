// Models in GGUF files against the originals with the same weights (tests/oracle/check_gguf.py).
#include "models/golden.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

class GgufModel : public testing::TestWithParam<const char*> {
 protected:
  fs::path path(const char* ending) const {
    return test_data() / "gguf" / (std::string(GetParam()) + ending);
  }
};

TEST_P(GgufModel, GivesWhatTheOriginalGives) {
  expect_golden(ModelDirectory(path(".gguf").string()), path(".safetensors"));
}

// GPT-2's matrices lie in the file as ours do in memory: nothing is turned.
TEST_P(GgufModel, CanBeTrainedAndQuantized) {
  expect_trained_and_quantized(ModelDirectory(path(".gguf").string()));
}

INSTANTIATE_TEST_SUITE_P(All, GgufModel,
                         testing::Values("gpt2", "gptj", "bert", "t5", "llama-3", "gemma3", "gptneox"));

}  // namespace
}  // namespace attend
