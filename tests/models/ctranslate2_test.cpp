// Models written by CTranslate2's converter against the originals with the same weights
// (tests/oracle/check_ctranslate2.py).
#include <attend/tokenizer.h>

#include "models/golden.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

class CTranslate2Model : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path path() const { return test_data() / "ctranslate2" / GetParam(); }
};

TEST_P(CTranslate2Model, GivesWhatTheOriginalGives) {
  expect_golden(ModelDirectory(path()), path() / "golden.safetensors");
}

TEST_P(CTranslate2Model, CanBeTrainedAndQuantized) {
  expect_trained_and_quantized(ModelDirectory(path()));
}

// CTranslate2's converter does not copy tokenizer files; the golden directories have none.
TEST_P(CTranslate2Model, SaysWhichFilesATokenizerNeeds) {
  const std::string error = error_of([&] { Tokenizer::from_file(path()); });
  EXPECT_TRUE(contains(error, "copy the original model's files there"));
  EXPECT_TRUE(contains(
      error, std::string(GetParam()) == "marian" ? "source.spm, target.spm, vocab.json" : "tokenizer.json"));
}

INSTANTIATE_TEST_SUITE_P(All, CTranslate2Model,
                         testing::Values("marian", "m2m-100", "bart", "t5-gated", "gpt2", "bert"));

}  // namespace
}  // namespace attend
