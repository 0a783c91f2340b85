// A model in memory with other adapters: the same results as after loading it again, from the same matrices.
#include <attend/model.h>

#include "models/adapters/adapter.h"
#include "models/padded/forward.h"
#include "models/weights/tensors.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using NamedTensors = std::map<std::string, Tensor>;

// The inference model that PretrainedModel::load returns for the path.
NamedTensors run_loaded(const ModelPath& path, const NamedTensors& inputs) {
  const Unrecorded inference;
  return run_forward(PretrainedModel::load(ModelDirectory(path), Purpose::inference), inputs, {});
}

void expect_equal(const NamedTensors& found, const NamedTensors& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(ops::equal(found.at(name), tensor)) << name;
}

class SharedWeightsTest : public testing::TestWithParam<const char*> {};

TEST_P(SharedWeightsTest, WithOtherAdapters) {
  const std::filesystem::path directory = test_data() / "adapters" / GetParam(), base = directory / "base";
  NamedTensors inputs = read_tensors(directory / "inputs.safetensors");
  inputs.erase("labels");
  const ModelPath with = {base, {{directory}}};

  const Model plain{ModelPath(base)};
  ModelPath added = plain;
  added.adapters = with.adapters;
  const NamedTensors without = run_loaded(base, inputs), expected = run_loaded(with, inputs);
  expect_equal(run_loaded(added, inputs), expected);
  expect_equal(run_loaded(plain, inputs), without);  // which has not changed

  const Model adapted(added);
  expect_equal(run_loaded(adapted, inputs), expected);
  ModelPath removed = adapted;
  removed.adapters.clear();
  expect_equal(run_loaded(removed, inputs), without);

  // Most matrices are in memory once.
  Transformer network = ModelPath(plain).loaded->network();
  const PretrainedModel& model = *ModelPath(adapted).loaded;
  Transformer other = model.network();
  std::size_t shared = 0, all = 0;
  for (const auto& item : network->named_parameters()) {
    if (network->packed(item.key()) == nullptr) continue;
    ++all;
    shared += network->packed(item.key()) == other->packed(item.key()) ? 1 : 0;
  }
  EXPECT_GE(shared * 2, all);
  EXPECT_GT(all, 0u);
}

INSTANTIATE_TEST_SUITE_P(Adapters, SharedWeightsTest,
                         testing::Values("gpt2-dora", "gpt2-norms", "gpt2-prefix", "gpt2-words", "bert-words",
                                         "t5-dora"));

}  // namespace
}  // namespace attend
