// Compares with the texts of transformers 4.57.6: tests/data/models/*-generation/generation.json, made by
// tests/oracle/make_goldens.py.
#include "generation/models.h"
#include "generation/tensors.h"
#include "tensor_checks.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

Tensor matrix(const Json& rows) {
  std::vector<Tensor> tensors;
  for (const Json& row : rows) tensors.push_back(ops::tensor(row.get<std::vector<std::int64_t>>(), kLong));
  return ops::stack(tensors);
}

class GenerationGoldens : public testing::TestWithParam<const char*> {};

TEST_P(GenerationGoldens, EveryCase) {
  const PretrainedModel model = load_model(GetParam());
  const Json cases = read_json(model_path(GetParam()) / "generation.json");
  ASSERT_GE(cases.size(), 20u);
  for (const Json& golden : cases) {
    SCOPED_TRACE(golden["settings"].dump());
    std::map<std::string, Tensor> inputs;
    for (const auto& [name, value] : golden["inputs"].items()) inputs[name] = matrix(value);
    GenerationConfig config = generation_config_of(model);
    apply_fields(config, Fields(golden["settings"], "settings"), FieldsFrom::caller);
    const auto outputs = run_generate(model, inputs, config);

    const Tensor wanted = matrix(golden["sequences"]);
    EXPECT_TRUE(ops::equal(outputs.at("sequences"), wanted)) << outputs.at("sequences") << "\nfor\n"
                                                             << wanted;
    ASSERT_EQ(outputs.contains("sequences_scores"), golden.contains("sequences_scores"));
    if (!golden.contains("sequences_scores")) continue;
    const Tensor scores = ops::tensor(golden["sequences_scores"].get<std::vector<double>>()).to(kFloat);
    EXPECT_TRUE(ops::allclose(outputs.at("sequences_scores"), scores, 1e-4, 1e-5))
        << outputs.at("sequences_scores") << "\nfor\n"
        << scores;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GenerationGoldens,
                         testing::Values("gpt2-generation", "marian-generation", "xlnet-generation",
                                         "xlm-generation", "transfo-xl-generation"));

}  // namespace
}  // namespace attend
