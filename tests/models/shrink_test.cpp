#include "models/derived/shrink.h"

#include "models/checkpoint/pretrained_model.h"
#include "temporary_directory.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

std::filesystem::path shrunk_golden(const std::string& name) {
  return test_data() / "models" / name;
}

// Every weight of the small model is one of the whole model: its layers are the given ones, in this order.
void expect_layers(const std::string& name, const std::vector<std::int64_t>& layers) {
  const TemporaryDirectory directory;
  shrink_model(ModelDirectory(shrunk_golden(name)), layers, directory.path() / "small");
  const PretrainedModel whole = PretrainedModel::load(ModelDirectory(shrunk_golden(name)), Purpose::training);
  const PretrainedModel small =
      PretrainedModel::load(ModelDirectory(directory.path() / "small"), Purpose::training);
  const auto theirs = whole.network()->named_parameters();
  for (const auto& [stack, prefix] : {std::pair{small.network()->encoder, "encoder.layers."},
                                      std::pair{small.network()->decoder, "decoder.layers."}})
    if (stack) {
      EXPECT_EQ(stack->spec().layers.size(), layers.size()) << name;
    }
  std::size_t of_layers = 0;
  for (const auto& item : small.network()->named_parameters()) {
    std::string from = item.key();
    const std::size_t at = from.find(".layers.");
    if (at != from.npos) {
      ++of_layers;
      const std::size_t begin = at + 8, end = from.find('.', begin);
      const auto layer = static_cast<std::size_t>(std::stoll(from.substr(begin, end - begin)));
      from.replace(begin, end - begin, std::to_string(layers.at(layer)));
    }
    ASSERT_NE(theirs.find(from), nullptr) << from;
    EXPECT_TRUE(ops::equal(*theirs.find(from), item.value())) << name << " " << item.key();
  }
  EXPECT_GT(of_layers, 0u);
}

TEST(Shrink, KeepsTheLayersThatAreNamed) {
  for (const char* name : {"bert-classifier", "gpt2", "roberta-masked-lm", "marian", "t5"})
    if (std::filesystem::exists(shrunk_golden(name))) {
      expect_layers(name, {1});
      expect_layers(name, {1, 0});
    }
}

TEST(Shrink, RefusesLayersThatAreNotThere) {
  const TemporaryDirectory directory;
  const auto shrink = [&](const std::string& name, const std::vector<std::int64_t>& layers) {
    return error_of(
        [&] { shrink_model(ModelDirectory(shrunk_golden(name)), layers, directory.path() / "small"); });
  };
  EXPECT_TRUE(contains(shrink("gpt2", {0, 9}), "`keep_layers` 9: expected layers from 0 to 1"));
  EXPECT_TRUE(contains(shrink("gpt2", {-1}), "`keep_layers` -1"));
  EXPECT_TRUE(contains(shrink("gpt2", {}), "expected at least one layer"));
  EXPECT_TRUE(contains(shrink("albert-groups", {0}), "share their weights"));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "small"));
}

}  // namespace
}  // namespace attend
