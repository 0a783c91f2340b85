// Outlier channels after norms, as in trained GPT-2s, created here in small random models.
#include "tasks/quantization/smoothing.h"

#include "expect_error.h"
#include "formats/json/json.h"
#include "generation/models.h"
#include "models/checkpoint/quantized.h"
#include "models/padded/forward.h"
#include "nn/layers/normed_inputs.h"
#include "tasks/quantization/quantization_error.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <fstream>

#include <gtest/gtest.h>

namespace attend {
namespace {

// A network of tests/data/models whose norms make two channels 32 times larger, which the following matrices
// undo; with a tokenizer whose tokens are the letters, and texts for it.
class Smoothing : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path directory(const std::string& name) {
    const Unrecorded no_grad;
    PretrainedModel model = PretrainedModel::load(ModelDirectory(model_path(name)), Purpose::training);
    auto parameters = model.network()->named_parameters();
    for (const NormedInput& input : normed_inputs(model.network()->spec())) {
      for (const char* own : {".weight", ".bias"})
        if (Tensor* const found = parameters.find(input.norm + own)) found->narrow(0, 3, 2) *= 32;
      for (const std::string& matrix : input.matrices) parameters[matrix + ".weight"].narrow(1, 3, 2) /= 32;
    }
    const std::filesystem::path path = directory_.path() / name;
    model.save(path);
    Json letters = Json::object();
    for (char c = 'a'; c <= 'z'; ++c) letters[std::string(1, c)] = c - 'a';
    const Json tokenizer = {{"version", "1.0"},
                            {"added_tokens", Json::array()},
                            {"model", {{"type", "BPE"}, {"vocab", letters}, {"merges", Json::array()}}}};
    std::ofstream(path / "tokenizer.json") << tokenizer.dump();
    texts_ = directory_.file("texts", "thequickbrownfox\njumpsoverthelazydog\npackmyboxwithfive\n");
    return path;
  }

  std::map<std::string, Tensor> forward(const PretrainedModel& model) {
    const Unrecorded inference;
    std::map<std::string, Tensor> inputs = {{"input_ids", ops::arange(1, 15).view({2, 7})}};
    if (model.network()->is_encoder_decoder()) inputs["decoder_input_ids"] = inputs["input_ids"];
    return run_forward(model, inputs, {});
  }

  TemporaryDirectory directory_;
  std::filesystem::path texts_;
};

TEST_P(Smoothing, LeavesFloat32AsItIsAndInt8Nearer) {
  const ModelDirectory directory(this->directory(GetParam()));
  const auto factors = smoothing_factors(directory, texts_);
  EXPECT_GE(factors.size(), 4u);
  const auto exact = forward(PretrainedModel::load(directory, Purpose::inference));
  const Tensor &wanted = exact.at("logits"),
               smoothed = forward(PretrainedModel::load(directory, {.factors = factors})).at("logits");
  EXPECT_TRUE(ops::equal(smoothed, wanted));

  const auto error_of = [&](const std::map<std::string, Tensor>& given) {
    const PretrainedModel model =
        PretrainedModel::load(directory, {.weights = WeightFormat::int8, .factors = given});
    return (ops::vector_norm(forward(model).at("logits") - wanted) / ops::vector_norm(wanted)).item<double>();
  };
  EXPECT_LT(error_of(factors), error_of({}));
}

INSTANTIATE_TEST_SUITE_P(Networks, Smoothing,
                         testing::Values("gpt2", "gptj", "gpt-neo", "t5", "t5-gated", "llama", "gpt-neox"));

TEST_F(Smoothing, MakesTheErrorOfOutlierChannelsSmaller) {
  const ModelDirectory directory(this->directory("gpt2"));
  const auto factors = smoothing_factors(directory, texts_);
  const auto errors = [&](const std::map<std::string, Tensor>& given) {
    std::map<std::string, double> all;
    for (const MatrixError& each : measure_quantization(directory, WeightFormat::int8, texts_, given))
      all[each.names.front()] = each.error;
    return all;
  };
  const auto rough = errors({}), smooth = errors(factors);
  ASSERT_EQ(rough.size(), smooth.size());
  std::size_t behind_norms = 0;
  for (const auto& [name, error] : rough) {
    const bool behind_norm = name.find("c_attn") != name.npos || name.find("c_fc") != name.npos;
    behind_norms += behind_norm ? 1 : 0;
    if (behind_norm) {
      EXPECT_LT(smooth.at(name), 0.7 * error) << name;
    } else {
      EXPECT_EQ(smooth.at(name), error) << name;
    }
  }
  EXPECT_GE(behind_norms, 4u);
}

// The stored model is smoothed: it needs no texts any more.
TEST_F(Smoothing, IsStored) {
  const ModelDirectory directory(this->directory("gpt2"));
  const PretrainedModel model = PretrainedModel::load(
      directory, {.weights = WeightFormat::int8, .factors = smoothing_factors(directory, texts_)});
  save_quantized(model, directory_.path() / "stored");
  const PretrainedModel stored =
      PretrainedModel::load(ModelDirectory(directory_.path() / "stored"), Purpose::inference);
  EXPECT_TRUE(ops::equal(forward(stored).at("logits"), forward(model).at("logits")));
  EXPECT_ERROR("expected the original float weights",
               smoothing_factors(ModelDirectory(directory_.path() / "stored"), texts_));
}

TEST_F(Smoothing, NeedsNormsBeforeMatrices) {
  const ModelDirectory directory(this->directory("bert-masked-lm"));  // its norms are after the sublayers
  EXPECT_ERROR("has no norm that matrices alone read", smoothing_factors(directory, texts_));
}

}  // namespace
}  // namespace attend
