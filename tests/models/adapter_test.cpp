// Adapters against peft: outputs, states, attentions, loss and gradients of tiny models with adapters of
// every kind, made by tests/oracle/check_adapters.py --goldens; and other guarantees.
#include "models/adapters/adapter.h"

#include "base/file.h"
#include "generation/tensors.h"
#include "models/derived/merge.h"
#include "models/padded/forward.h"
#include "models/weights/tensors.h"
#include "temporary_directory.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

const fs::path kGoldens = test_data() / "adapters";

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kGoldens))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

double difference(const Tensor& found, const Tensor& expected) {
  const double largest = expected.abs().max().item<double>();
  return (found - expected).abs().max().item<double>() / std::max(largest, 1e-30);
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class AdapterTest : public testing::TestWithParam<std::string> {
 protected:
  fs::path directory() const { return kGoldens / GetParam(); }  // it names its base
  std::map<std::string, Tensor> inputs() const { return read_tensors(directory() / "inputs.safetensors"); }
};

TEST_P(AdapterTest, GivesWhatPeftGives) {
  const auto expected = read_tensors(directory() / "expected.safetensors");
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(directory()), Purpose::training);
  const auto found =
      run_forward(model, inputs(), {.hidden_states = true, .attentions = true, .gradients = true});
  for (const auto& [name, tensor] : found) EXPECT_EQ(expected.count(name), 1) << name << " is not expected";
  for (const auto& [name, tensor] : expected) {
    ASSERT_EQ(found.count(name), 1) << name << " is missing";
    if (name.starts_with("grad.") && tensor.abs().max().item<double>() < 1e-6)
      EXPECT_LT(found.at(name).abs().max().item<double>(), 1e-5) << name;
    else
      EXPECT_LT(difference(found.at(name), tensor), name.starts_with("grad.") ? 1e-4 : 2e-5) << name;
  }
}

TEST_P(AdapterTest, IsSavedByteForByte) {
  const TemporaryDirectory copy;
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(directory()), Purpose::inference);
  model.adapters().front()->save(model, copy.path());
  const SafetensorsFile before(directory() / "adapter_model.safetensors"),
      after(copy.path() / "adapter_model.safetensors");
  EXPECT_EQ(before.tensors().size(), after.tensors().size());
  for (const auto& [name, view] : before.tensors()) {
    ASSERT_EQ(after.tensors().count(name), 1) << name;
    EXPECT_TRUE(std::ranges::equal(view.data, after.tensors().at(name).data)) << name;
  }
  EXPECT_EQ(read_json(directory() / "adapter_config.json"), read_json(copy.path() / "adapter_config.json"));
}

TEST_P(AdapterTest, IsTheSameMergedIntoTheWeights) {
  const auto beside =
      run_forward(PretrainedModel::load(ModelDirectory(directory()), Purpose::inference), inputs(), {});
  PretrainedModel model = PretrainedModel::load(ModelDirectory(directory()), Purpose::training);
  const std::shared_ptr<Adapter> adapter = model.adapters().front();
  const std::string error = error_of([&] { merge_adapters(model); });
  if (adapter->has_virtual_tokens()) {
    EXPECT_NE(error.find("weights cannot hold its virtual tokens"), error.npos) << error;
    return;
  }
  if (error != "no error") {  // a table that the head shares
    EXPECT_NE(error.find("other parts of the model read this table"), error.npos) << error;
    return;
  }
  EXPECT_TRUE(model.adapters().empty());
  for (const auto& [name, tensor] : run_forward(model, inputs(), {}))
    EXPECT_LT(difference(tensor, beside.at(name)), 2e-5) << name;
}

TEST_P(AdapterTest, DoesNotChangeTextsWithoutAnAdapter) {
  const ModelDirectory adapted(directory());
  const PretrainedModel model = PretrainedModel::load(adapted, Purpose::inference);
  auto given = inputs();
  for (const char* label : {"labels", "start_positions", "end_positions"}) given.erase(label);
  if (model.network()->is_encoder_decoder()) given["decoder_input_ids"] = given.at("input_ids");
  given.erase("decoder_attention_mask");
  const std::int64_t B = given.at("input_ids").size(0);
  const auto with = run_forward(model, given, {}),
             without = run_forward(PretrainedModel::load(ModelDirectory(adapted.path()), Purpose::inference),
                                   given, {});
  given["adapters"] = -ops::arange(B).remainder(2);
  // it includes rows of virtual tokens
  if (with.begin()->second.sizes() != without.begin()->second.sizes()) {
    const std::string error = error_of([&] { run_forward(model, given, {}); });
    EXPECT_NE(error.find("prompts of different lengths"), error.npos) << error;
    return;
  }
  for (const auto& [name, tensor] : run_forward(model, given, {}))
    for (std::int64_t b = 0; b < B; ++b)
      EXPECT_TRUE(ops::equal(tensor[b], (b % 2 == 0 ? with : without).at(name)[b])) << name << ", text " << b;
}

// In batches with other texts, whose prompts belong to another adapter or to none; some have a common prefix.
TEST_P(AdapterTest, GeneratesWhatPeftGenerates) {
  if (!fs::exists(directory() / "generated.safetensors")) return;  // a model that does not
  const auto expected = read_tensors(directory() / "generated.safetensors");
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(directory()), Purpose::inference);
  const Tensor ids = expected.at("input_ids");  // [1, L]
  const std::map<std::string, Tensor> one = {{"input_ids", ids}, {"attention_mask", ops::ones_like(ids)}},
                                      many = {{"input_ids", ids.repeat({4, 1})},
                                              {"attention_mask", ops::ones_like(ids).repeat({4, 1})},
                                              {"adapters", ops::tensor({0, -1, 0, -1}, kLong)}};
  GenerationConfig config = generation_config_of(model);
  config.max_new_tokens = 8;
  config.do_sample = false;
  config.num_beams = 1;
  config.pad_token_id = 0;
  const Tensor alone = run_generate(model, one, config).at("sequences");
  EXPECT_TRUE(ops::equal(alone, expected.at("sequences"))) << alone;
  const Tensor together = run_generate(model, many, config).at("sequences");
  for (const std::int64_t b : {0, 2})
    EXPECT_TRUE(ops::equal(together[b].narrow(0, 0, alone.size(1)), alone[0])) << together;
  EXPECT_TRUE(ops::equal(together[1], together[3])) << together;
}

INSTANTIATE_TEST_SUITE_P(Cases, AdapterTest, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// The matrix that is tied to a saved module stays unchanged, also in the merged model.
TEST(MergeTest, UntiesWhatAnAdapterHasWhole) {
  const auto inputs = read_tensors(kGoldens / "t5-words-head" / "inputs.safetensors");
  const ModelDirectory directory(kGoldens / "t5-words-head");
  const Tensor beside =
      run_forward(PretrainedModel::load(directory, Purpose::inference), inputs, {}).at("logits");
  PretrainedModel model = PretrainedModel::load(directory, Purpose::training);
  merge_adapters(model);
  const TemporaryDirectory merged;
  model.save(merged.path());
  EXPECT_EQ(read_json(merged.path() / "config.json").at("tie_word_embeddings"), false);
  const PretrainedModel again = PretrainedModel::load(ModelDirectory(merged.path()), Purpose::inference);
  EXPECT_LT(difference(run_forward(again, inputs, {}).at("logits"), beside), 2e-5);

  PretrainedModel tables = PretrainedModel::load(ModelDirectory(kGoldens / "bart-tables"), Purpose::training);
  merge_adapters(tables);
  const std::string error = error_of([&] { tables.save(merged.path()); });
  EXPECT_NE(error.find("config.json cannot give"), error.npos) << error;
}

// A new adapter that trains a tied table trains only that table.
TEST(FreshAdapterTest, UntiesWhatItSaves) {
  const auto inputs = read_tensors(kGoldens / "gpt2-dora" / "inputs.safetensors");
  PretrainedModel model = PretrainedModel::load(ModelDirectory(kGoldens / "gpt2-dora" / "base"),
                                                {.purpose = Purpose::training, .modules_to_save = {"wte"}});
  const auto adapter = std::make_shared<Adapter>(
      Adapter::fresh(model, {.rank = 2, .modules_to_save = {"wte"}}, "CAUSAL_LM", 7));
  model.add_adapter(adapter);
  adapter->train(model);
  {
    Unrecorded no_grad;
    Tensor(model.network()->named_parameters()["decoder.embeddings.tokens"]).mul_(1.5);
  }
  const Tensor expected = run_forward(model, inputs, {}).at("logits");
  const TemporaryDirectory saved;
  adapter->save(model, saved.path());
  EXPECT_FALSE(
      read_tensors(saved.path() / "adapter_model.safetensors").contains("base_model.model.lm_head.weight"));
  const PretrainedModel again = PretrainedModel::load(
      ModelDirectory(ModelPath(kGoldens / "gpt2-dora" / "base", {{saved.path()}})), Purpose::inference);
  EXPECT_LT(difference(run_forward(again, inputs, {}).at("logits"), expected), 1e-5);
}

PretrainedModel base() {
  return PretrainedModel::load(ModelDirectory(kGoldens / "gpt2-dora" / "base"), Purpose::training);
}

TEST(FreshAdapterTest, ChangesNothingAtFirst) {
  const auto inputs = read_tensors(kGoldens / "gpt2-dora" / "inputs.safetensors");
  const auto plain = run_forward(base(), inputs, {});
  const auto expect_same = [&](AdapterOptions options) {
    PretrainedModel model = base();
    model.add_adapter(std::make_shared<Adapter>(Adapter::fresh(model, options, "CAUSAL_LM", 7)));
    for (const auto& [name, tensor] : run_forward(model, inputs, {}))
      EXPECT_LT(difference(tensor, plain.at(name)), 1e-5) << name;
  };
  expect_same({.rank = 2});
  expect_same({.rank = 2, .by_root = true, .initialization = "gaussian"});
  expect_same({.rank = 3, .directions = true, .targets = {"all-linear"}});
  expect_same({.rank = 3, .targets = {"c_attn", "c_proj"}, .initialization = "pissa"});
  expect_same({.rank = 2, .targets = {"wte", "wpe"}});
  expect_same({.kind = AdapterOptions::Kind::ia3});
}

// A new adapter is drawn from its seed, can be trained, and is unchanged after saving.
TEST(FreshAdapterTest, PutsVirtualTokensBeforeTexts) {
  const auto inputs = read_tensors(kGoldens / "gpt2-dora" / "inputs.safetensors");
  for (const AdapterOptions::Kind kind : {AdapterOptions::Kind::prefix, AdapterOptions::Kind::prompt}) {
    PretrainedModel model = base();
    const auto adapter =
        std::make_shared<Adapter>(Adapter::fresh(model, {.kind = kind, .virtual_tokens = 3}, "CAUSAL_LM", 7));
    model.add_adapter(adapter);
    adapter->train(model);
    const auto found = run_forward(model, inputs, {.gradients = true});
    EXPECT_GT(found.at("grad.prompt_embeddings").abs().max().item<double>(), 0);
    const bool prompt = kind == AdapterOptions::Kind::prompt;
    EXPECT_EQ(found.at("logits").size(1), inputs.at("input_ids").size(1) + (prompt ? 3 : 0));
    const TemporaryDirectory saved;
    adapter->save(model, saved.path());
    const PretrainedModel again = PretrainedModel::load(
        ModelDirectory(ModelPath(kGoldens / "gpt2-dora" / "base", {{saved.path()}})), Purpose::inference);
    EXPECT_TRUE(ops::equal(run_forward(again, inputs, {}).at("logits"), found.at("logits")));
    // Without the rows of virtual tokens, results are at the positions of the text.
    const Tensor own = run_forward(again, inputs, {.virtual_rows = false}).at("logits");
    EXPECT_EQ(own.sizes().slice(0, 2), inputs.at("input_ids").sizes());
  }
}

// PiSSA's result is saved as an adapter of the original base.
TEST(FreshAdapterTest, PissaIsSavedForTheModelAsItWas) {
  const auto inputs = read_tensors(kGoldens / "gpt2-dora" / "inputs.safetensors");
  PretrainedModel model = base();
  auto adapter = std::make_shared<Adapter>(Adapter::fresh(
      model, {.rank = 2, .targets = {"c_attn", "c_fc"}, .initialization = "pissa"}, "CAUSAL_LM", 7));
  model.add_adapter(adapter);
  {
    Unrecorded no_grad;
    for (const auto& [name, tensor] : adapter->parameters())
      Tensor(tensor).mul_(1.1);  // as if it had been trained
  }
  const TemporaryDirectory saved;
  adapter->save(model, saved.path());
  const auto expected = run_forward(model, inputs, {});
  const PretrainedModel again = PretrainedModel::load(
      ModelDirectory(ModelPath(kGoldens / "gpt2-dora" / "base", {{saved.path()}})), Purpose::inference);
  for (const auto& [name, tensor] : run_forward(again, inputs, {}))
    EXPECT_LT(difference(tensor, expected.at(name)), 1e-5) << name;
}

TEST(FreshAdapterTest, RefusesOptionsThatDoNotFitTheModel) {
  const PretrainedModel model = base();
  const auto error = [&](const AdapterOptions& options) {
    return error_of([&] { Adapter::fresh(model, options, "", 1); });
  };
  EXPECT_NE(error({.targets = {"query"}}).find("transformer.h.0.attn.c_attn"), std::string::npos);
  EXPECT_NE(error({.rank = 1000, .initialization = "pissa"})
                .find("the rank 1000 is larger than that of the matrix"),
            std::string::npos);
  EXPECT_NE(error({.directions = true, .initialization = "pissa"}).find("PiSSA and DoRA"), std::string::npos);
}

TEST(MergeTest, UnmergingGivesTheBaseBack) {
  PretrainedModel model = base();
  const auto before =
      model.by_checkpoint_name([](auto&, const Tensor& w) { return w.detach().clone(); }, true);
  const auto adapt = [&] {
    auto adapter = std::make_shared<Adapter>(
        Adapter::fresh(model, {.rank = 2, .targets = {"all-linear"}}, "CAUSAL_LM", 7));
    Unrecorded no_grad;
    for (const auto& [name, tensor] : adapter->parameters())
      if (name.ends_with("lora_B.weight")) Tensor(tensor).fill_(0.25);
    model.add_adapter(adapter);
  };
  adapt();
  EXPECT_GT(merge_adapters(model, kHalf).error, 0);
  EXPECT_FALSE(ops::allclose(before.at("transformer.h.0.attn.c_attn.weight"),
                             model.by_checkpoint_name([](auto&, const Tensor& w) { return w; }, true)
                                 .at("transformer.h.0.attn.c_attn.weight")));
  adapt();
  unmerge_adapters(model);
  for (const auto& [name, tensor] : model.by_checkpoint_name([](auto&, const Tensor& w) { return w; }, true))
    EXPECT_TRUE(ops::allclose(tensor, before.at(name), 0, 1e-6)) << name;
}

// Files that do not belong to the model, or are damaged.
TEST(AdapterFileTest, IsRefusedWithTheTensorsName) {
  const fs::path golden = kGoldens / "gpt2-dora";
  const TemporaryDirectory broken;
  fs::copy_file(golden / "adapter_config.json", broken.path() / "adapter_config.json");
  const auto error = [&](const std::function<void(std::map<std::string, Tensor>&)>& spoil) {
    auto tensors = read_tensors(golden / "adapter_model.safetensors");
    spoil(tensors);
    write_tensors(broken.path() / "adapter_model.safetensors", tensors);
    return error_of([&] {
      PretrainedModel::load(ModelDirectory(ModelPath(golden / "base", {{broken.path()}})),
                            Purpose::inference);
    });
  };
  const std::string module = "base_model.model.transformer.h.0.attn.c_attn";
  EXPECT_NE(error([&](auto& t) {
              t[module + ".lora_A.weight"] = ops::zeros({2, 3});
            }).find("c_attn.lora_A.weight"),
            std::string::npos);
  EXPECT_NE(error([&](auto& t) { t.erase(module + ".lora_B.weight"); }).find("expected two factors"),
            std::string::npos);
  EXPECT_NE(error([&](auto& t) {
              t["base_model.model.transformer.h.9.attn.c_attn.lora_A.weight"] = ops::zeros({2, 12});
            }).find("has no place in GPT2LMHeadModel"),
            std::string::npos);
  EXPECT_NE(
      error([&](auto& t) { t["base_model.model.nothing.weight"] = ops::zeros({2}); }).find("has no place"),
      std::string::npos);
  EXPECT_NE(error([&](auto& t) {
              t["other"] = ops::zeros({2});
            }).find("expected tensors with names that begin with base_model.model."),
            std::string::npos);
  EXPECT_NE(error([&](auto& t) { t[module + ".lora_C.weight"] = ops::zeros({2}); }).find("variant"),
            std::string::npos);
}

}  // namespace
}  // namespace attend
