// The original's result for one batch, in a safetensors file: "input.NAME" and one output, "output.NAME".
#pragma once

#include "models/padded/forward.h"
#include "models/weights/tensors.h"

#include <gtest/gtest.h>

namespace attend {

// The model of the directory must give the same.
inline void expect_golden(const ModelDirectory& directory, const std::filesystem::path& golden) {
  std::map<std::string, Tensor> inputs, expected;
  for (const auto& [name, tensor] : read_tensors(golden))
    (name.starts_with("input.") ? inputs : expected)[name.substr(name.find('.') + 1)] = tensor;
  const auto found = run_forward(PretrainedModel::load(directory, Purpose::inference), inputs, {});
  ASSERT_EQ(expected.size(), 1U);
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    ASSERT_EQ(found.at(name).sizes(), tensor.sizes());
    EXPECT_LT((found.at(name) - tensor).abs().max().item<double>(), 2e-5 * tensor.abs().max().item<double>());
  }
}

// And it can be loaded for training, with every parameter contiguous, and quantized.
inline void expect_trained_and_quantized(const ModelDirectory& directory) {
  const PretrainedModel trained = PretrainedModel::load(directory, Purpose::training);
  for (const auto& item : trained.network()->named_parameters())
    EXPECT_TRUE(item.value().is_contiguous()) << item.key();
  EXPECT_EQ(PretrainedModel::load(directory, {.weights = WeightFormat::int8}).weights(), WeightFormat::int8);
}

}  // namespace attend
