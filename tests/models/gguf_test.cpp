// Models in GGUF files against the originals with the same weights (tests/oracle/check_gguf.py).
#include "models/forward.h"
#include "models/tensors.h"
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
  std::map<std::string, Tensor> inputs, expected;
  for (const auto& [name, tensor] : read_tensors(path(".safetensors")))
    (name.starts_with("input.") ? inputs : expected)[name.substr(name.find('.') + 1)] = tensor;
  const PretrainedModel model =
      PretrainedModel::load(ModelDirectory(path(".gguf").string()), Purpose::inference);
  const auto found = run_forward(model, inputs, {});
  ASSERT_EQ(expected.size(), 1U);
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    ASSERT_EQ(found.at(name).sizes(), tensor.sizes());
    EXPECT_LT((found.at(name) - tensor).abs().max().item<double>(), 2e-5 * tensor.abs().max().item<double>());
  }
}

// GPT-2's matrices lie in the file as ours do in memory: nothing is turned.
TEST_P(GgufModel, CanBeTrainedAndQuantized) {
  const ModelDirectory directory(path(".gguf").string());
  const PretrainedModel trained = PretrainedModel::load(directory, Purpose::training);
  for (const auto& item : trained.network()->named_parameters())
    EXPECT_TRUE(item.value().is_contiguous()) << item.key();
  EXPECT_EQ(PretrainedModel::load(directory, {.weights = WeightFormat::int8}).weights(), WeightFormat::int8);
}

INSTANTIATE_TEST_SUITE_P(All, GgufModel, testing::Values("gpt2", "gptj", "bert", "t5"));

}  // namespace
}  // namespace attend
