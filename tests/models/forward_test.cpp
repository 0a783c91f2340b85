// Every family against the original: outputs, hidden states, attentions, loss and gradients of tiny random
// models, made by tests/oracle/make_goldens.py.
#include "models/padded/forward.h"

#include "expect_error.h"
#include "models/padded/score_outputs.h"
#include "models/weights/tensors.h"
#include "temporary_directory.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> forward_cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(test_data() / "models"))
    if (fs::exists(entry.path() / "expected.safetensors")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The largest difference relative to the largest value of `expected`.
double share_of_largest(const Tensor& found, const Tensor& expected) {
  const double largest = expected.abs().max().item<double>();
  return (found - expected).abs().max().item<double>() / std::max(largest, 1e-30);
}

class ForwardTest : public testing::TestWithParam<std::string> {
 protected:
  fs::path directory() const { return test_data() / "models" / GetParam(); }
  std::map<std::string, Tensor> run(const fs::path& model, bool gradients) const {
    const ForwardOptions options{.hidden_states = true, .attentions = true, .gradients = gradients};
    return run_forward(
        PretrainedModel::load(ModelDirectory(model), gradients ? Purpose::training : Purpose::inference),
        read_tensors(directory() / "inputs.safetensors"), options);
  }
};

TEST_P(ForwardTest, GivesWhatTheOriginalGives) {
  const auto expected = read_tensors(directory() / "expected.safetensors");
  const auto found = run(directory(), expected.count("loss") > 0);
  for (const auto& [name, tensor] : found) EXPECT_EQ(expected.count(name), 1) << name << " is not expected";
  for (const auto& [name, tensor] : expected) {
    ASSERT_EQ(found.count(name), 1) << name << " is missing";
    ASSERT_EQ(found.at(name).sizes(), tensor.sizes()) << name;
    // The gradient of a key's bias is zero in exact arithmetic (softmax does not depend on it): all of it is
    // noise.
    if (name.starts_with("grad.") && tensor.abs().max().item<double>() < 1e-6)
      EXPECT_LT(found.at(name).abs().max().item<double>(), 1e-5) << name;
    else
      EXPECT_LT(share_of_largest(found.at(name), tensor), name.starts_with("grad.") ? 1e-4 : 2e-5) << name;
  }
}

TEST_P(ForwardTest, GivesTheSameWithoutGradients) {
  const auto expected = read_tensors(directory() / "expected.safetensors");
  for (const auto& [name, tensor] : run(directory(), false))
    EXPECT_LT(share_of_largest(tensor, expected.at(name)), 2e-5) << name;
}

TEST_P(ForwardTest, IsTheSameAfterSavingAndLoading) {
  const TemporaryDirectory directory_of_copy;
  const fs::path copy = directory_of_copy.path() / "saved";
  PretrainedModel::load(ModelDirectory(directory()), Purpose::training).save(copy);
  const auto before = SafetensorsFile(directory() / "model.safetensors"),
             after = SafetensorsFile(copy / "model.safetensors");
  for (const auto& [name, view] : after.tensors()) {
    ASSERT_EQ(before.tensors().count(name), 1) << name << " is no name of the original's";
    EXPECT_TRUE(std::ranges::equal(view.data, before.tensors().at(name).data)) << name;
  }
  // A pooler that no decoder reads is not stored, nor are sine tables, which transformers computes again.
  const bool computes_sines = GetParam().starts_with("pegasus") || GetParam().starts_with("roformer");
  const auto kept = std::ranges::count_if(before.tensors(), [&](const auto& entry) {
    if (computes_sines && entry.first.ends_with("embed_positions.weight")) return false;
    return !entry.first.starts_with("encoder.pooler.");
  });
  EXPECT_EQ(static_cast<std::size_t>(kept), after.tensors().size());
  const auto one = run(directory(), false), two = run(copy, false);
  for (const auto& [name, tensor] : one) EXPECT_TRUE(ops::equal(tensor, two.at(name))) << name;
}

// The hidden states of images together and alone.
void expect_images_apart(Transformer& network) {
  Unrecorded inference;
  Pass pass = Pass::inference();
  const PatchSpec& patches = network->encoder->patches->spec();
  const Tensor pixels = ops::randn({5, patches.channels, patches.height, patches.width});
  const Tensor together = network->encode(ImageBatch{pixels, {}}, pass);
  const std::int64_t rows = together.size(0) / 5;
  for (std::int64_t b : {0, 2, 4})
    EXPECT_TRUE(ops::equal(together.narrow(0, b * rows, rows),
                           network->encode(ImageBatch{pixels.narrow(0, b, 1), {}}, pass)))
        << "image " << b;
}

// A sentence among 63 others of other lengths, and alone.
TEST_P(ForwardTest, ASentenceDoesNotDependOnItsBatch) {
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(directory()), Purpose::inference);
  Transformer network = model.network();
  if (network->reads_images()) return expect_images_apart(network);
  const StackSpec& spec = network->encoder ? *network->spec().encoder : *network->spec().decoder;
  const auto longest = std::min<std::int64_t>(
      37, (network->encoder ? network->encoder : network->decoder)->embeddings->max_positions());
  std::vector<std::vector<std::int64_t>> sentences;
  for (std::int64_t b = 0; b < 64; ++b) {
    sentences.emplace_back();
    for (std::int64_t i = 0; i <= b * 7 % longest; ++i)
      sentences.back().push_back((b * 31 + i * 17) % spec.embeddings.vocabulary);
  }
  Unrecorded inference;
  const auto hidden = [&](const std::vector<std::vector<std::int64_t>>& batch) {
    Pass pass = Pass::inference();
    const TokenBatch tokens = TokenBatch::from(batch);
    return network->encoder ? network->encode(tokens, pass) : network->decode(tokens, pass);
  };
  const Tensor together = hidden(sentences);
  const TokenBatch layout = TokenBatch::from(sentences);
  for (std::int64_t b : {0, 1, 17, 36, 63})
    EXPECT_TRUE(ops::equal(layout.offsets.part(together, b), hidden({sentences[b]}))) << "sentence " << b;
}

INSTANTIATE_TEST_SUITE_P(Goldens, ForwardTest, testing::ValuesIn(forward_cases()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Bodies for text or image vectors have none (DINO's ViT); the file decides.
TEST(Forward, ABodyWithoutAPoolerInItsFileHasNone) {
  const TemporaryDirectory bare;
  const fs::path whole = test_data() / "models" / "bert-model";
  const SafetensorsFile file(whole / "model.safetensors");
  std::map<std::string, TensorView> kept = file.tensors();
  EXPECT_EQ(
      std::erase_if(kept, [](const auto& entry) { return entry.first.find("pooler.") != std::string::npos; }),
      2u);
  fs::copy_file(whole / "config.json", bare.path() / "config.json");
  write_safetensors(bare.path() / "model.safetensors", kept);
  const auto inputs = read_tensors(whole / "inputs.safetensors"),
             expected = read_tensors(whole / "expected.safetensors");
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(bare.path()), Purpose::inference);
  const auto found = run_forward(model, inputs, {});
  EXPECT_EQ(found.count("pooler_output"), 0u);
  EXPECT_LT(share_of_largest(found.at("last_hidden_state"), expected.at("last_hidden_state")), 2e-5);
}

TEST(Forward, InputsThatDoNotFitAreErrors) {
  const fs::path directory = test_data() / "models" / "bert-masked-lm";
  const PretrainedModel model = PretrainedModel::load(ModelDirectory(directory), Purpose::inference);
  const auto inputs = read_tensors(directory / "inputs.safetensors");
  const auto with = [&](const std::string& name, const Tensor& tensor) {
    auto changed = inputs;
    changed[name] = tensor;
    return changed;
  };
  const Tensor ids = inputs.at("input_ids");
  EXPECT_ERROR("expected an input named input_ids", run_forward(model, {}, {}));
  EXPECT_ERROR("input_ids: 100033 is outside the model's token ids",
               run_forward(model, with("input_ids", ids + 100000), {}));
  EXPECT_ERROR("input_ids: -99967 is outside the model's token ids",
               run_forward(model, with("input_ids", ids - 100000), {}));
  EXPECT_ERROR("input_ids: expected integers of shape [batch, length], found Float",
               run_forward(model, with("input_ids", ids.to(kFloat)), {}));
  EXPECT_ERROR("input_ids: expected integers of shape [batch, length], found Long of shape [8]",
               run_forward(model, with("input_ids", ids[0]), {}));
  EXPECT_ERROR("the mask hides a whole sequence",
               run_forward(model, with("attention_mask", ops::zeros_like(ids)), {}));
  EXPECT_ERROR("attention_mask: expected the shape [3, 8] of input_ids, found [1, 2]",
               run_forward(model, with("attention_mask", ops::ones({1, 2}, kLong)), {}));
  EXPECT_ERROR("labels: 100033 is outside the vocabulary",
               run_forward(model, with("labels", ids + 100000), {}));
  EXPECT_ERROR("position_ids: position 100033 is outside",
               run_forward(model, with("position_ids", ids + 100000), {}));
  EXPECT_ERROR("no_such_input is not an input of this model",
               run_forward(model, with("no_such_input", ids), {}));
}

// The message of the Error from running `inputs` through a golden model; "" if there is none.
std::string complaint(const std::string& golden, const std::map<std::string, Tensor>& changes,
                      const std::vector<std::string>& without = {}, bool gradients = true) {
  const fs::path directory = test_data() / "models" / golden;
  auto inputs = read_tensors(directory / "inputs.safetensors");
  for (const auto& [name, tensor] : changes) inputs[name] = tensor;
  for (const std::string& name : without) inputs.erase(name);
  try {
    run_forward(PretrainedModel::load(ModelDirectory(directory), Purpose::training), inputs,
                {.hidden_states = false, .attentions = false, .gradients = gradients});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Forward, LabelsThatDoNotFitAreErrorsThatNameThem) {
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos)
        << '"' << message << "\" does not hold \"" << part << '"';
  };
  const Tensor few = ops::zeros({1, 2}, kLong);
  expect(complaint("bert-question-answering", {{"labels", few}}), "labels is not an input of this model");
  expect(complaint("bert-question-answering", {}, {"start_positions", "end_positions"}),
         "expected the inputs end_positions and start_positions");
  expect(complaint("bert-masked-lm", {}, {"labels"}), "expected the input labels");
  expect(complaint("bert-model", {{"labels", few}}), "labels is not an input of this model");
  expect(complaint("bert-model", {}), "has no head with a loss");
  expect(complaint("albert-token-classification", {{"labels", few}}), "labels: expected");
  expect(complaint("electra-pre-training", {{"labels", few}}), "labels: expected");
}

// Rows of a ragged batch are tokens, so distances between columns are unknown where padding is between
// tokens.
TEST(Forward, PaddingBetweenTokensIsAnErrorWhereDistancesCount) {
  const auto with_hole = [](const std::string& golden) {
    Tensor mask = ops::ones(
        read_tensors(test_data() / "models" / golden / "inputs.safetensors").at("input_ids").sizes(), kLong);
    mask.select(1, 1).fill_(0);
    return complaint(golden, {{"attention_mask", mask}}, {"labels"}, false);
  };
  for (const char* golden :
       {"mistral", "qwen2-windows", "modernbert-masked-lm", "gpt-neo", "bloom", "mpnet-model"})
    EXPECT_NE(with_hole(golden).find("attention_mask: expected padding at one end"), std::string::npos)
        << golden;
  for (const char* golden : {"llama", "falcon", "bert-masked-lm"}) EXPECT_EQ(with_hole(golden), "") << golden;
}

TEST(Forward, ClassificationLabelsAreOneToAScore) {
  const Tensor scores = ops::rand({3, 1}), many = ops::rand({3, 4});
  EXPECT_NO_THROW(classification_loss(scores, ops::rand({3}), {}));
  EXPECT_NO_THROW(classification_loss(many, ops::rand({3, 4}), {}));
  for (const Tensor& labels : {ops::rand({1}), ops::rand({2}), ops::rand({3, 3})}) {
    EXPECT_ERROR("labels: expected 3 x 1 numbers", classification_loss(scores, labels, {}));
    EXPECT_ERROR("labels: expected 3 x 4 numbers",
                 classification_loss(many, labels, ProblemType::multi_label));
    EXPECT_ERROR("labels: expected 3 numbers, found",
                 classification_loss(many, labels.to(kLong), ProblemType::single_label));
  }
}

}  // namespace
}  // namespace attend
