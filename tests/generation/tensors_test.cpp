// generate() with tensors in and tensors out.
#include "generation/tensors.h"

#include "generation/models.h"
#include "models/padded/forward.h"
#include "temporary_directory.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Tensors = std::map<std::string, Tensor>;

TEST(GenerateTensors, RefusesWhatItCannotRead) {
  const PretrainedModel model = load_model("gpt2-generation");
  const GenerationConfig config = generation_config_of(model);
  const Tensor ids = ops::full({2, 3}, 5, kLong);
  const auto error = [&](std::map<std::string, Tensor> inputs) {
    return error_of([&] { run_generate(model, inputs, config); });
  };
  EXPECT_TRUE(contains(error({}), "input_ids"));
  EXPECT_TRUE(contains(error({{"input_ids", ids}, {"labels", ids}}), "labels"));
  EXPECT_TRUE(contains(error({{"input_ids", ids.to(kFloat)}}), "integers"));
  EXPECT_TRUE(contains(
      error({{"input_ids", ids}, {"attention_mask", ops::tensor({1, 1, 0, 1, 1, 1}, kLong).view({2, 3})}}),
      "left padding"));
  EXPECT_TRUE(contains(error({{"input_ids", ids}, {"attention_mask", ops::zeros({2, 3}, kLong)}}), "mask"));
}

// A text continues its own output as if the output were the prompt.
TEST(GenerateTensors, ContinuesGivenTokens) {
  const PretrainedModel model = load_model("marian-generation");
  const Tensor ids = ops::tensor({5, 9, 3, 0, 7, 2, 11, 0}, kLong).view({2, 4});
  for (const Json& settings : {Json{{"num_beams", 1}}, Json{{"num_beams", 1}, {"repetition_penalty", 1.3}}}) {
    GenerationConfig config = config_of(model, settings);
    config.eos_token_id = {};
    config.max_length = 12;
    const Tensor whole = run_generate(model, {{"input_ids", ids}}, config)["sequences"];  // [2, 12]
    for (const std::int64_t written : {1, 2, 5}) {
      const Tensor from_start = whole.narrow(1, 0, written), behind_start = whole.narrow(1, 1, written);
      for (const Tensor& begin : {from_start, behind_start})
        EXPECT_TRUE(ops::equal(
            run_generate(model, {{"input_ids", ids}, {"decoder_input_ids", begin}}, config)["sequences"],
            whole));
    }
  }
  const Tensors one_row = {{"input_ids", ids}, {"decoder_input_ids", ops::full({1, 2}, 5, kLong)}};
  EXPECT_TRUE(contains(error_of([&] { run_generate(model, one_row, generation_config_of(model)); }),
                       "decoder_input_ids: expected 2 rows"));
  const Tensors unknown = {{"input_ids", ids}, {"decoder_input_ids", ops::full({2, 2}, 4100, kLong)}};
  EXPECT_TRUE(contains(error_of([&] { run_generate(model, unknown, generation_config_of(model)); }), "4100"));
  const PretrainedModel gpt2 = load_model("gpt2-generation");
  EXPECT_TRUE(contains(error_of([&] { run_generate(gpt2, one_row, generation_config_of(gpt2)); }),
                       "decoder_input_ids: not an input"));
}

// The next token's scores come from the state at its position, so the states belong to the texts.
TEST(GenerateTensors, StatesAreThoseOfTheSteps) {
  const PretrainedModel model = load_model("gpt2-generation");
  const Tensor ids = ops::tensor({0, 0, 3, 7, 2, 11}, kLong).view({2, 3}),
               mask = ops::tensor({0, 0, 1, 1, 1, 1}, kLong).view({2, 3});
  const GenerationConfig config =
      config_of(model, {{"output_attentions", true}, {"output_hidden_states", true}, {"max_new_tokens", 6}});
  const Tensors made = run_generate(model, {{"input_ids", ids}, {"attention_mask", mask}}, config);
  const Tensor read = made.at("sequences").slice(1, 0, -1);
  for (std::int64_t b = 0; b < 2; ++b) {
    const std::int64_t padding = b == 0 ? 2 : 0, length = read.size(1) - padding;
    const Tensors alone = run_forward(model, {{"input_ids", read[b].narrow(0, padding, length).unsqueeze(0)}},
                                      {.hidden_states = true, .attentions = true});
    for (const auto& [name, tensor] : alone) {
      if (name == "logits") continue;
      Tensor ours = made.at(name)[b].slice(-2, padding);
      if (name.starts_with("attentions")) ours = ours.slice(-1, padding);
      EXPECT_TRUE(ops::allclose(ours, tensor[0], 1e-5, 1e-6)) << name;
    }
  }
  EXPECT_EQ(made.at("attentions.0").sizes(), (std::vector<std::int64_t>{2, 3, 8, 8}));
}

}  // namespace
}  // namespace attend
