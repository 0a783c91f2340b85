// A model that tasks and threads share, and the public API.
#include <attend/embedder.h>
#include <attend/families.h>
#include <attend/generation_queue.h>
#include <attend/model.h>
#include <attend/tasks.h>

#include "expect_error.h"
#include "generation/models.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/padded/forward.h"
#include "tasks/letter_model.h"
#include "temporary_directory.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <fstream>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(Model, GivesWhatForwardGives) {
  const auto directory = test_data() / "models" / "bert-classifier";
  const Model model(directory);
  EXPECT_EQ(model.model_type(), "bert");
  EXPECT_EQ(model.architecture(), "BertForSequenceClassification");
  EXPECT_GT(model.size(), 1000);
  EXPECT_EQ(Json::parse(model.config()).at("model_type"), "bert");
  const std::vector<std::int64_t> ids = {3, 4, 5, 6, 0, 0}, mask = {1, 1, 1, 1, 0, 0};
  const Arrays outputs =
      model.forward({{"input_ids", Array({2, 3}, ids)}, {"attention_mask", Array({2, 3}, mask)}},
                    {.hidden_states = true, .attentions = true});
  const Unrecorded inference;
  const auto expected = run_forward(PretrainedModel::load(ModelDirectory(directory), Purpose::inference),
                                    {{"input_ids", ops::tensor(ids, kLong).view({2, 3})},
                                     {"attention_mask", ops::tensor(mask, kLong).view({2, 3})}},
                                    {.hidden_states = true, .attentions = true});
  ASSERT_EQ(outputs.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    EXPECT_EQ(outputs.at(name).shape, tensor.sizes().vec()) << name;
    const Tensor flat = tensor.contiguous().view({-1});
    for (std::int64_t i = 0; i < flat.numel(); ++i)
      EXPECT_EQ(outputs.at(name).floats()[static_cast<std::size_t>(i)], flat[i].item<float>()) << name;
  }
  EXPECT_ERROR("expected an array of integers", outputs.begin()->second.integers());
}

TEST(Model, RefusesInvalidArrays) {
  const Model model(test_data() / "models" / "bert-classifier");
  const auto kind_of = [&](const Arrays& inputs, const OutputOptions& options = {}) {
    try {
      model.forward(inputs, options);
    } catch (const Error& error) {
      return error.kind();
    }
    ADD_FAILURE() << "expected an Error";
    return ErrorKind::system;
  };
  const std::vector<std::int64_t> three = {1, 2, 3};
  const std::int64_t large = std::int64_t{1} << 62;
  for (const auto& shape :
       std::vector<std::vector<std::int64_t>>{{2, 2}, {3}, {-1, -3}, {large, large}, {}, {0}})
    EXPECT_EQ(kind_of({{"input_ids", Array(shape, three)}}), ErrorKind::input);
  EXPECT_EQ(kind_of({{"input_ids", Array({1, 3}, std::vector<float>{1, 2, 3})}}), ErrorKind::input);
  EXPECT_EQ(kind_of({{"input_ids", Array({1, 1}, std::vector<std::int64_t>{100000})}}), ErrorKind::input);
  EXPECT_EQ(kind_of({{"pixels", Array({1, 3}, three)}}), ErrorKind::input);
  EXPECT_EQ(kind_of({{"input_ids", Array({1, 3}, three)}}, {.gradients = true}), ErrorKind::call);
}

TEST(Model, ErrorsHaveAKind) {
  const auto kind_of = [](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      return error.kind();
    }
    ADD_FAILURE() << "expected an Error";
    return ErrorKind::system;
  };
  const LetterModel gpt2("gpt2-generation");
  EXPECT_EQ(kind_of([&] { Model(gpt2.path() / "nowhere"); }), ErrorKind::model);
  const TemporaryDirectory broken;
  broken.file("config.json", R"({"model_type": "gpt2"})");
  EXPECT_EQ(kind_of([&] { Model{broken.path()}; }), ErrorKind::model);
  broken.file("model.safetensors", "this is none");
  EXPECT_EQ(kind_of([&] { Model{broken.path()}; }), ErrorKind::model);
  const TextGenerator generator(gpt2.path(), GenerationTask::text_generation);
  GenerateTextOptions options;
  options.configure = with_fields(R"({"num_beams": 0})");
  EXPECT_EQ(kind_of([&] { generator.generate({"abc"}, options); }), ErrorKind::call);
  options.configure = [](GenerationConfig& config) { config.num_beams = 0; };
  EXPECT_EQ(kind_of([&] { generator.generate({"abc"}, options); }), ErrorKind::call);
  options.configure = with_fields("{");
  EXPECT_EQ(kind_of([&] { generator.generate({"abc"}, options); }), ErrorKind::call);
  options.configure = {};
  EXPECT_EQ(kind_of([&] { generator.generate({"a\xff"}, options); }), ErrorKind::input);
  EXPECT_EQ(kind_of([&] { generator.generate({std::string(1000, 'a')}, options); }), ErrorKind::input);
  EXPECT_EQ(kind_of([&] { TextClassifier{gpt2.path()}; }), ErrorKind::call);
}

TEST(Model, GivesGradients) {
  const auto path = test_data() / "models" / "bert-classifier";
  const Model model(path, {.gradients = true});
  const Arrays inputs = {{"input_ids", Array({1, 3}, std::vector<std::int64_t>{3, 4, 5})},
                         {"labels", Array({1}, std::vector<std::int64_t>{1})}};
  EXPECT_TRUE(model.forward(inputs, {.gradients = true}).contains("grad.classifier.weight"));
  EXPECT_FALSE(model.forward(inputs).contains("grad.classifier.weight"));
}

// All tasks of one model, used from many threads, give the same results as alone.
TEST(Model, ServesTasksAndThreadsAtOnce) {
  const LetterModel bert_files("bert-classifier"), gpt2_files("gpt2-generation");
  const Model bert(bert_files.path()), gpt2(gpt2_files.path());
  TextClassifier classifier(bert);
  FeatureExtractor extractor(bert);
  Embedder embedder(bert);
  const TextGenerator generator(gpt2, GenerationTask::text_generation);
  TextScorer scorer(gpt2);
  GenerateTextOptions options;
  options.configure = with_fields(R"({"max_new_tokens": 6, "do_sample": true, "pad_token_id": 0})");
  options.seed = 5;
  const auto labels = [&] {
    std::string all;
    ClassifyOptions every;
    every.top_k = 0;
    for (const auto& text : classifier.classify({{"abc", {}}, {"thequick", {}}}, every))
      for (const LabelScore& label : text) all += label.label + std::to_string(label.score);
    return all;
  };
  const auto ids = std::vector<std::int64_t>{3, 4, 5};
  const auto forward = [&] {
    return bert.forward({{"input_ids", Array({1, 3}, ids)}}).at("logits").floats();
  };
  const auto expected_labels = labels();
  const auto expected_vectors = embedder.embed(kTexts);
  const auto expected_features = extractor.extract(kTexts).back().values;
  const auto expected_texts = generator.generate(kTexts, options);
  const auto expected_logits = forward();
  const float expected_score = scorer.score(kTexts).front().back().log_probability;
  EXPECT_EQ(Embedder(bert_files.path()).embed(kTexts), expected_vectors);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) switch ((i + round) % 6) {
          case 0:
            EXPECT_EQ(labels(), expected_labels);
            break;
          case 1:
            EXPECT_EQ(embedder.embed(kTexts), expected_vectors);
            break;
          case 2:
            EXPECT_EQ(extractor.extract(kTexts).back().values, expected_features);
            break;
          case 3:
            EXPECT_EQ(generator.generate(kTexts, options), expected_texts);
            break;
          case 4:
            EXPECT_EQ(forward(), expected_logits);
            break;
          default:
            EXPECT_EQ(scorer.score(kTexts).front().back().log_probability, expected_score);
        }
    });
}

TEST(Model, IsReadOnce) {
  const LetterModel files("bert-classifier");
  const Model model(files.path());
  TextClassifier alone(files.path());
  std::filesystem::remove(files.path() / "model.safetensors");
  EXPECT_ERROR("the directory has no model.safetensors", TextClassifier{files.path()});
  TextClassifier shared(model);  // reads no weights
  EXPECT_EQ(shared.classify({{"abc", {}}}).front().front().score,
            alone.classify({{"abc", {}}}).front().front().score);
}

TEST(TextGenerator, ShowsTokensAsTheyCome) {
  const LetterModel files("gpt2-generation");
  const TextGenerator generator(files.path(), GenerationTask::text_generation);
  GenerateTextOptions options;
  options.configure =
      with_fields(R"({"max_new_tokens": 6, "do_sample": false, "pad_token_id": 0, "eos_token_id": null})");
  options.full_text = false;
  options.log_probabilities = true;
  std::vector<std::vector<TokenId>> seen(kTexts.size());
  std::vector<std::string> written(kTexts.size());
  options.on_token = [&](std::size_t text, std::size_t sequence, TokenId token, const std::string& more) {
    EXPECT_EQ(sequence, 0u);
    seen[text].push_back(token);
    written[text] += more;
  };
  const auto made = generator.generate_tokens(kTexts, options);
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    ASSERT_EQ(made[i].size(), 1u);
    EXPECT_EQ(made[i][0].ids, seen[i]);
    EXPECT_EQ(made[i][0].text, written[i]);
    ASSERT_EQ(made[i][0].log_probabilities.size(), seen[i].size());
    for (const float each : made[i][0].log_probabilities) EXPECT_LE(each, 0);
  }
  // After a stop between two tokens, incomplete texts are missing.
  int asked = 0;
  options.on_token = {};
  options.stop = [&] { return ++asked > 3; };
  for (const auto& texts : generator.generate_tokens(kTexts, options)) EXPECT_TRUE(texts.empty());
}

TEST(Copies, ShareTheModelAndNothingElse) {
  const LetterModel files("gpt2-generation");
  const std::string settings = R"({"max_new_tokens": 6, "do_sample": true, "eos_token_id": null})";
  const ConversationOptions options{
      .system = {}, .chat_template = "u{user}b{bot}", .configure = with_fields(settings), .seed = 3};
  Conversation one(files.path(), options);
  one.answer("ab");
  Conversation other = one;
  EXPECT_EQ(other.messages().size(), 2u);
  EXPECT_EQ(other.answer("c"), one.answer("c"));  // equal up to here
  other.answer("d");
  EXPECT_EQ(other.messages().size(), 6u);
  EXPECT_EQ(one.messages().size(), 4u);
  one.take_back();
  EXPECT_EQ(other.messages().size(), 6u);
  one = other;
  EXPECT_EQ(one.messages().size(), 6u);

  const LetterModel encoder("bert-classifier");
  Embedder embedder(encoder.path());
  Embedder copy = embedder;
  EXPECT_EQ(copy.embed({"abc"}), embedder.embed({"abc"}));
  embedder = std::move(copy);
  EXPECT_EQ(embedder.embed({"abc"}).size(), 1u);
}

TEST(Families, AreListed) {
  const std::vector<FamilyInfo> all = list_families();
  EXPECT_GT(all.size(), 20u);
  const auto gpt2 = std::ranges::find(all, "gpt2", &FamilyInfo::model_type);
  ASSERT_NE(gpt2, all.end());
  ASSERT_FALSE(gpt2->presets.empty());
  EXPECT_EQ(Json::parse(preset_config("gpt2", gpt2->presets.front())).at("model_type"), "gpt2");
  EXPECT_ERROR("gpt2 has no preset \"enormous\"", preset_config("gpt2", "enormous"));
}

// The mapped memory and open files that the process has in `folder`.
std::vector<std::string> held(const std::filesystem::path& folder) {
  std::vector<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(folder.string()) != line.npos) found.push_back(line);
  for (const auto& open : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(open.path(), gone);
    if (target.string().starts_with(folder.string())) found.push_back(target.string());
  }
  return found;
}

// A model whose last tensor in the table, or whose tokenizer, cannot be read: everything that was read before
// is released, and the directory loads after it is repaired.
TEST(Model, LoadingThatFailsLeavesNothingBehind) {
  const LetterModel letters("bert-classifier");
  const auto weights = letters.path() / "model.safetensors";
  const std::string whole = [&] {
    std::ifstream file(weights, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }();
  const auto write = [&](const std::string& bytes) {
    std::filesystem::remove(weights);
    std::ofstream(weights, std::ios::binary) << bytes;
  };
  std::string unknown = whole;
  const std::size_t at = unknown.find("classifier.weight");
  ASSERT_NE(at, unknown.npos);
  unknown[at] = 'k';  // a head without its weight: found after the body was read
  const std::pair<std::string, const char*> cases[] = {{unknown, "the tensor classifier.weight is missing"},
                                                       {whole.substr(0, whole.size() - 8), "it is cut off"},
                                                       {"", "expected at least 8 bytes, found 0"}};
  for (const auto& [broken, error] : cases) {
    write(broken);
    EXPECT_ERROR(error, Model{letters.path()});
    EXPECT_ERROR(error, TextClassifier{letters.path()});
    EXPECT_EQ(held(letters.path()), std::vector<std::string>());
  }
  write(whole);
  const Model model(letters.path());
  EXPECT_EQ(TextClassifier(model).classify({{"a", {}}}).size(), 1u);
}

}  // namespace
}  // namespace attend
