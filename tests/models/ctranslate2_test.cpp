// Models that CTranslate2's converter wrote against the originals with the same weights
// (tests/oracle/check_ctranslate2.py).
#include <attend/tokenizer.h>

#include "models/forward.h"
#include "models/tensors.h"
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
  std::map<std::string, Tensor> inputs, expected;
  for (const auto& [name, tensor] : read_tensors(path() / "golden.safetensors"))
    (name.starts_with("input.") ? inputs : expected)[name.substr(name.find('.') + 1)] = tensor;
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(path()), Purpose::inference);
  const auto found = run_forward(model, inputs, {});
  ASSERT_EQ(expected.size(), 1U);
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    ASSERT_EQ(found.at(name).sizes(), tensor.sizes());
    EXPECT_LT((found.at(name) - tensor).abs().max().item<double>(), 2e-5 * tensor.abs().max().item<double>());
  }
}

TEST_P(CTranslate2Model, CanBeTrainedAndQuantized) {
  const ModelDirectory directory(path());
  const PretrainedModel trained = PretrainedModel::load(directory, Purpose::training);
  for (const auto& item : trained.network()->named_parameters())
    EXPECT_TRUE(item.value().is_contiguous()) << item.key();
  EXPECT_EQ(PretrainedModel::load(directory, {.weights = WeightFormat::int8}).weights(), WeightFormat::int8);
}

// CTranslate2 leaves the tokenizer to whoever copies its files; the golden directories have none.
TEST_P(CTranslate2Model, SaysWhichFilesATokenizerNeeds) {
  const std::string error = error_of([&] { Tokenizer::from_file(path()); });
  EXPECT_TRUE(contains(error, "put the original model's files there"));
  EXPECT_TRUE(contains(
      error, std::string(GetParam()) == "marian" ? "source.spm, target.spm, vocab.json" : "tokenizer.json"));
}

INSTANTIATE_TEST_SUITE_P(All, CTranslate2Model,
                         testing::Values("marian", "m2m-100", "bart", "t5-gated", "gpt2", "bert"));

}  // namespace
}  // namespace attend
