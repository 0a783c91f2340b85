// Adapters with their own modules and biases (peft's modules_to_save and bias), together and with the base:
// each text is computed only with those of its adapter. adapter_test compares the numbers and the training
// with peft.
#include "base/file.h"
#include "models/adapters/adapter.h"
#include "models/padded/forward.h"
#include "models/weights/tensors.h"
#include "temporary_directory.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

const fs::path kAdapters = test_data() / "adapters";

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.sizes() == y.sizes() &&
         std::equal(x.const_data<float>(), x.const_data<float>() + x.numel(), y.const_data<float>());
}

bool takes_decoder_inputs(const ModelDirectory& directory) {
  return directory.config().flag({"is_encoder_decoder"}, false);
}

class OwnModulesTest : public testing::TestWithParam<const char*> {
 protected:
  fs::path directory() const { return kAdapters / GetParam(); }  // it names its base
};

// Two adapters with the same modules: rows of both and of the base in one batch, bit for bit as alone.
TEST_P(OwnModulesTest, StandBesideAnotherAdapters) {
  const ModelDirectory adapted(directory());
  const TemporaryDirectory other;
  fs::copy_file(directory() / "adapter_config.json", other.path() / "adapter_config.json");
  auto tensors = read_tensors(directory() / "adapter_model.safetensors");
  for (auto& [name, tensor] : tensors) tensor = (tensor * 0.5).contiguous();
  write_tensors(other.path() / "adapter_model.safetensors", tensors);
  const std::vector<AdapterPath> paths = {{directory()}, {other.path()}};
  auto given = read_tensors(directory() / "inputs.safetensors");
  for (const char* label : {"labels", "start_positions", "end_positions"}) given.erase(label);
  given.erase("decoder_attention_mask");
  if (takes_decoder_inputs(adapted)) given["decoder_input_ids"] = given.at("input_ids");
  const std::int64_t B = given.at("input_ids").size(0);

  for (const WeightFormat format : {WeightFormat::float32, WeightFormat::int8}) {
    const auto load = [&](std::vector<AdapterPath> some) {
      ModelPath path(adapted.path(), std::move(some));
      path.weights = format;
      return PretrainedModel::load(ModelDirectory(path), Purpose::inference);
    };
    const auto first = run_forward(load({paths[0]}), given, {}),
               second = run_forward(load({paths[1]}), given, {}), none = run_forward(load({}), given, {});
    const PretrainedModel both = load(paths);
    auto mixed = given;
    std::vector<std::int64_t> numbers;
    for (std::int64_t b = 0; b < B; ++b) numbers.push_back(b % 3 - 1);  // -1, 0, 1, -1, ...
    mixed["adapters"] = ops::tensor(numbers, kLong);
    if (first.begin()->second.sizes() != none.begin()->second.sizes()) continue;  // rows of virtual tokens
    for (const auto& [name, tensor] : run_forward(both, mixed, {}))
      for (std::int64_t b = 0; b < B; ++b) {
        const auto& alone = b % 3 == 0 ? none : b % 3 == 1 ? first : second;
        EXPECT_TRUE(same_bits(tensor[b], alone.at(name)[b])) << name << ", text " << b;
      }
    if (!both.adapters().front()->replaces()) continue;
    const std::string error = message_of([&] { run_forward(both, given, {}); });
    EXPECT_NE(error.find("say which adapter a text is for"), error.npos) << error;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OwnModulesTest,
                         testing::Values("bart-tables", "bert-all-linear", "bert-task", "bert-words",
                                         "deberta-dora", "gpt2-dora", "gpt2-head", "gpt2-new-words",
                                         "gpt2-norms", "gpt2-words", "t5-dora", "t5-words-head"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// As written by attend train: heads over other labels, each with a config.json, on a base without a head.
TEST(OwnHeadTest, HasItsOwnLabels) {
  const fs::path golden = kAdapters / "bert-task";
  const TemporaryDirectory places;
  const fs::path base = places.path() / "base", two = places.path() / "two", three = places.path() / "three";
  fs::copy(golden / "base", base);
  Json config = read_json(base / "config.json");
  config["architectures"] = {"BertModel"};
  write_file_atomically(base / "config.json", config.dump());
  const auto make = [&](const fs::path& directory, const std::vector<std::string>& labels) {
    fs::create_directories(directory);
    fs::copy_file(golden / "adapter_config.json", directory / "adapter_config.json");
    auto tensors = read_tensors(golden / "adapter_model.safetensors");
    for (auto& [name, tensor] : tensors)
      if (name.find(".classifier.") != name.npos)
        tensor = tensor.narrow(0, 0, 1).repeat_interleave(static_cast<std::int64_t>(labels.size()), 0) *
                 static_cast<double>(labels.size());
    write_tensors(directory / "adapter_model.safetensors", tensors);
    Json own = config;
    own["architectures"] = {"BertForSequenceClassification"};
    set_labels(own, {labels, {}});
    write_file_atomically(directory / "config.json", own.dump());
  };
  make(two, {"bad", "good"});
  make(three, {"cat", "dog", "owl"});
  auto given = read_tensors(golden / "inputs.safetensors");
  given.erase("labels");
  const PretrainedModel model =
      PretrainedModel::load(ModelDirectory(ModelPath(base, {{two}, {three}})), Purpose::inference);
  const auto expect = [&](std::int64_t number, const fs::path& directory, const std::string& last) {
    const PretrainedModel alone =
        PretrainedModel::load(ModelDirectory(ModelPath(base, {{directory}})), Purpose::inference);
    EXPECT_EQ(read_labels(model.with_adapter(number).config()).back(), last);
    EXPECT_TRUE(same_bits(run_forward(model, given, {.adapter = number}).at("logits"),
                          run_forward(alone, given, {}).at("logits")));
  };
  expect(0, two, "good");
  expect(1, three, "owl");
  EXPECT_EQ(model.with_adapter(-1).architecture(), "BertModel");
  EXPECT_TRUE(run_forward(model, given, {.adapter = -1}).contains("pooler_output"));
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(given.at("input_ids").size(0)), 0);
  numbers.back() = 1;
  given["adapters"] = ops::tensor(numbers, kLong);
  const std::string error = message_of([&] { run_forward(model, given, {}); });
  EXPECT_NE(error.find("different numbers of labels"), error.npos) << error;
  EXPECT_NE(message_of([&] { model.with_adapter({}); }).find("`adapter_of`"), std::string::npos);
  EXPECT_NE(message_of([&] { model.with_adapter(2); }).find("expected 0 to 1"), std::string::npos);
}

// Only an adapter's own modules are in memory twice.
TEST(OwnWeightsTest, ShareAllElseWithTheBase) {
  const PretrainedModel model =
      PretrainedModel::load(ModelDirectory(kAdapters / "gpt2-norms"), Purpose::inference);
  const auto own = model.network()->named_parameters(),
             plain = model.with_adapter(-1).network()->named_parameters();
  std::int64_t shared = 0, apart = 0;
  for (const auto& item : own) {
    const std::string name = item.key();
    if (name.ends_with(".bias") || name.find("norm") != name.npos) {
      apart += !model.network()->packed(name) && plain[name].const_data() != item.value().const_data();
    } else {
      const PackedMatrix* const packed = model.network()->packed(name);
      EXPECT_EQ(packed, model.with_adapter(-1).network()->packed(name)) << name;
      EXPECT_TRUE(packed || plain[name].const_data() == item.value().const_data()) << name;
      ++shared;
    }
  }
  EXPECT_GT(shared, 0);
  EXPECT_GT(apart, 0);
}

}  // namespace
}  // namespace attend
