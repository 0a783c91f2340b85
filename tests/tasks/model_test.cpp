// A model that tasks and threads share, and what programs ask it for.
#include <attend/families.h>
#include <attend/generation_queue.h>
#include <attend/model.h>
#include <attend/tasks.h>

#include "expect_error.h"
#include "formats/json.h"
#include "generation/models.h"
#include "models/forward.h"
#include "models/pretrained_model.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <fstream>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace attend {
namespace {

// A golden model with a tokenizer whose tokens are letters, beginning with 'a'.
class LetterModel {
 public:
  explicit LetterModel(const std::string& name, char last = 'z') {
    std::filesystem::copy(test_data() / "models" / name, path());
    Json letters = Json::object();
    for (char c = 'a'; c <= last; ++c) letters[std::string(1, c)] = c - 'a';
    const Json tokenizer = {{"version", "1.0"},
                            {"added_tokens", Json::array()},
                            {"model", {{"type", "BPE"}, {"vocab", letters}, {"merges", Json::array()}}}};
    directory_.file("model/tokenizer.json", tokenizer.dump());
  }
  std::filesystem::path path() const { return directory_.path() / "model"; }

 private:
  TemporaryDirectory directory_;
};

const std::vector<std::string> kTexts = {"thequick", "brownfox", "a", "jumps"};

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
  const NoGradGuard inference;
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

TEST(Model, RefusesArraysThatMakeNoSense) {
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

TEST(Model, SaysWhoHasToChangeSomething) {
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
  options.settings = R"({"num_beams": 0})";
  EXPECT_EQ(kind_of([&] { generator.generate({"abc"}, options); }), ErrorKind::call);
  options.settings = "{";
  EXPECT_EQ(kind_of([&] { generator.generate({"abc"}, options); }), ErrorKind::call);
  options.settings = "{}";
  EXPECT_EQ(kind_of([&] { generator.generate({"a\xff"}, options); }), ErrorKind::input);
  EXPECT_EQ(kind_of([&] { generator.generate({std::string(1000, 'a')}, options); }), ErrorKind::input);
  EXPECT_EQ(kind_of([&] { TextClassifier{gpt2.path()}; }), ErrorKind::call);
}

TEST(Model, GivesGradientsWhereTorchIs) {
  const auto path = test_data() / "models" / "bert-classifier";
  if (!kHasGradients) {
    EXPECT_TRUE(contains(error_of([&] { Model(path, {.gradients = true}); }), "attend::training"));
    return;
  }
  const Model model(path, {.gradients = true});
  const Arrays inputs = {{"input_ids", Array({1, 3}, std::vector<std::int64_t>{3, 4, 5})},
                         {"labels", Array({1}, std::vector<std::int64_t>{1})}};
  EXPECT_TRUE(model.forward(inputs, {.gradients = true}).contains("grad.classifier.weight"));
  EXPECT_FALSE(model.forward(inputs).contains("grad.classifier.weight"));
}

// All tasks of one model at a time, from many threads, give what each gives alone.
TEST(Model, ServesTasksAndThreadsAtOnce) {
  const LetterModel bert_files("bert-classifier"), gpt2_files("gpt2-generation");
  const Model bert(bert_files.path()), gpt2(gpt2_files.path());
  TextClassifier classifier(bert);
  FeatureExtractor extractor(bert);
  Embedder embedder(bert);
  const TextGenerator generator(gpt2, GenerationTask::text_generation);
  TextScorer scorer(gpt2);
  GenerateTextOptions options;
  options.settings = R"({"max_new_tokens": 6, "do_sample": true, "pad_token_id": 0})";
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
  EXPECT_ERROR("there is no model.safetensors in it", TextClassifier{files.path()});
  TextClassifier shared(model);  // reads no weights
  EXPECT_EQ(shared.classify({{"abc", {}}}).front().front().score,
            alone.classify({{"abc", {}}}).front().front().score);
}

TEST(TextGenerator, ShowsTokensAsTheyCome) {
  const LetterModel files("gpt2-generation");
  const TextGenerator generator(files.path(), GenerationTask::text_generation);
  GenerateTextOptions options;
  options.settings = R"({"max_new_tokens": 6, "do_sample": false, "pad_token_id": 0, "eos_token_id": null})";
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
  // Stopped between two tokens, texts that are not complete are not there.
  int asked = 0;
  options.on_token = {};
  options.stop = [&] { return ++asked > 3; };
  for (const auto& texts : generator.generate_tokens(kTexts, options)) EXPECT_TRUE(texts.empty());
}

TEST(GenerationQueue, MakesTheSameTextsForWhoeverAsks) {
  const LetterModel files("gpt2-generation");
  const Model model(files.path());
  const TextGenerator generator(model, GenerationTask::text_generation);
  GenerateTextOptions alone;
  alone.settings = R"({"max_new_tokens": 9, "do_sample": true, "temperature": 0.9, "pad_token_id": 0})";
  alone.full_text = false;
  GenerationQueue queue(model);
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        std::promise<QueueResult> end;
        std::string written;
        queue.submit({.prompt = kTexts[t],
                      .settings = alone.settings,
                      .seed = seed,
                      .log_probabilities = true,
                      .on_token = [&](const QueueToken& token) { written += token.more; },
                      .on_end = [&](const QueueResult& result) { end.set_value(result); }});
        const QueueResult result = end.get_future().get();
        ASSERT_EQ(result.end, QueueResult::End::finished);
        GenerateTextOptions options = alone;
        options.seed = seed;
        const auto expected = generator.generate_tokens({kTexts[t]}, options).front().front();
        EXPECT_EQ(result.texts.front().ids, expected.ids);
        EXPECT_EQ(result.texts.front().text, written);
        EXPECT_EQ(result.texts.front().log_probabilities.size(), expected.ids.size());
      }
    });
  threads.clear();
  EXPECT_EQ(queue.status().running, 0u);
  EXPECT_GT(queue.status().steps, 0);
}

TEST(GenerationQueue, CancelsAndRefuses) {
  const LetterModel files("gpt2-generation");
  std::promise<QueueResult::End> cancelled, left;
  {
    GenerationQueue queue(files.path());
    EXPECT_ERROR("5000 tokens, but the model reads", queue.submit({.prompt = std::string(5000, 'a')}));
    EXPECT_ERROR("not valid JSON", queue.submit({.prompt = "abc", .settings = "nothing"}));
    const std::string settings = R"({"max_new_tokens": 20, "do_sample": false, "eos_token_id": null})";
    GenerationQueue::Ticket own = 0;
    std::promise<void> begun;
    own = queue.submit({.prompt = "abc",
                        .settings = settings,
                        .on_token =
                            [&, first = true](const QueueToken&) mutable {
                              if (first) begun.set_value();
                              first = false;
                              std::this_thread::sleep_for(std::chrono::milliseconds(2));
                            },
                        .on_end = [&](const QueueResult& result) { cancelled.set_value(result.end); }});
    begun.get_future().wait();
    queue.cancel(own);
    EXPECT_EQ(cancelled.get_future().get(), QueueResult::End::cancelled);
    std::promise<std::string> failed;
    queue.submit({.prompt = "abc",
                  .settings = settings,
                  .on_token = [](const QueueToken&) { throw Error("enough"); },
                  .on_end =
                      [&](const QueueResult& result) {
                        failed.set_value(error_of([&] { std::rethrow_exception(result.error); }));
                      }});
    EXPECT_EQ(failed.get_future().get(), "enough");
    queue.submit(
        {.prompt = "abc",
         .settings = settings,
         .on_token = [](const QueueToken&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); },
         .on_end = [&](const QueueResult& result) { left.set_value(result.end); }});
  }
  EXPECT_EQ(left.get_future().get(), QueueResult::End::cancelled);
}

QueueResult result_of(GenerationQueue& queue, QueueRequest request) {
  std::promise<QueueResult> end;
  request.on_end = [&](const QueueResult& result) { end.set_value(result); };
  queue.submit(std::move(request));
  return end.get_future().get();
}

TEST(GenerationQueue, TextsEndBeforeWhatStopsThem) {
  const LetterModel files("gpt2-generation");
  GenerationQueue queue(files.path());
  const std::string settings = R"({"max_new_tokens": 9, "do_sample": false, "eos_token_id": null})";
  const QueueResult whole = result_of(queue, {.prompt = "abc", .settings = settings});
  const std::string text = whole.texts.front().text;
  EXPECT_TRUE(whole.texts.front().cut_off);
  EXPECT_EQ(whole.prompt_tokens, 3u);
  ASSERT_GE(text.size(), 6u);
  const std::string stop = text.substr(3, 2);
  const std::string with_stop =
      R"({"max_new_tokens": 9, "do_sample": false, "eos_token_id": null, "stop_strings": [")" + stop + "\"]}";
  const std::size_t at = text.find(stop);
  for (const bool shows : {true, false}) {
    std::string written;
    const QueueResult stopped =
        result_of(queue, {.prompt = "abc",
                          .settings = with_stop,
                          .shows_stop = shows,
                          .on_token = [&](const QueueToken& token) { written += token.more; }});
    // A token can hold more than the rest of the stop string.
    const std::string ended = stopped.texts.front().text;
    EXPECT_EQ(ended.substr(0, at + stop.size()), text.substr(0, at + (shows ? stop.size() : 0)));
    EXPECT_LT(ended.size(), text.size());
    EXPECT_TRUE(stopped.texts.front().text.starts_with(written));
    EXPECT_FALSE(stopped.texts.front().cut_off);
  }
}

// Its own stop strings make a request end early where the prompt may be part of them, and rightly say so.
TEST(GenerationQueue, StopStringsThatBeginInThePrompt) {
  const LetterModel files("gpt2-generation");
  GenerationQueue queue(files.path());
  Json settings = {{"max_new_tokens", 9}, {"do_sample", false}, {"eos_token_id", nullptr}};
  const std::string text =
      result_of(queue, {.prompt = "abc", .settings = settings.dump()}).texts.front().text;
  const std::string across = "c" + text.substr(0, 2);
  ASSERT_EQ(text.find(across), text.npos);
  settings["stop_strings"] = {across};
  const GeneratedText shown = result_of(queue, {.prompt = "abc", .settings = settings.dump()}).texts.front();
  EXPECT_EQ(shown.ids.size(), 1u);
  EXPECT_FALSE(shown.cut_off);
  const GeneratedText whole =
      result_of(queue, {.prompt = "abc", .settings = settings.dump(), .shows_stop = false}).texts.front();
  EXPECT_EQ(whole.text, text);
  EXPECT_TRUE(whole.cut_off);
}

TEST(GenerationQueue, CallbacksComeOnceAndFromItsThread) {
  const LetterModel files("gpt2-generation");
  const std::string settings = R"({"max_new_tokens": 20, "do_sample": false, "eos_token_id": null})";
  std::vector<int> ends(8, 0);
  std::vector<std::string> refusals;
  bool own_thread = true;
  {
    GenerationQueue queue(files.path());
    std::vector<GenerationQueue::Ticket> tickets;
    for (std::size_t i = 0; i < ends.size(); ++i)
      tickets.push_back(queue.submit(
          {.prompt = "abc",
           .settings = settings,
           .on_token = [](const QueueToken&) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); },
           .on_end =
               [&, i, here = std::this_thread::get_id()](const QueueResult&) {
                 ++ends[i];
                 own_thread = own_thread && std::this_thread::get_id() != here;
                 try {
                   queue.submit({.prompt = "abc", .settings = settings});
                 } catch (const Error& error) {
                   refusals.push_back(error.what());
                 }
               }}));
    queue.cancel(tickets[3]);
    queue.cancel(tickets[7]);
  }
  EXPECT_EQ(ends, std::vector<int>(8, 1));
  EXPECT_TRUE(own_thread);
  ASSERT_FALSE(refusals.empty());  // while the queue ended
  EXPECT_TRUE(contains(refusals.back(), "takes no more"));
}

TEST(GenerationQueue, NoMemoryEndsARequestAndNotTheProcess) {
  const LetterModel files("gpt2-generation");
  GenerationQueue queue(files.path());
  const std::string settings = R"({"max_new_tokens": 5, "do_sample": false})";
  const QueueResult failed = result_of(
      queue,
      {.prompt = "abc", .settings = settings, .on_token = [](const QueueToken&) { throw std::bad_alloc(); }});
  EXPECT_EQ(failed.end, QueueEnd::failed);
  EXPECT_THROW(std::rethrow_exception(failed.error), std::bad_alloc);
  EXPECT_EQ(result_of(queue, {.prompt = "abc", .settings = settings}).end, QueueEnd::finished);
}

TEST(Copies, ShareTheModelAndNothingElse) {
  const LetterModel files("gpt2-generation");
  const std::string settings = R"({"max_new_tokens": 6, "do_sample": true, "eos_token_id": null})";
  const ConversationOptions options{
      .system = {}, .chat_template = "u{user}b{bot}", .settings = settings, .seed = 3};
  Conversation one(files.path(), options);
  one.answer("ab");
  Conversation other = one;
  EXPECT_EQ(other.messages().size(), 2u);
  EXPECT_EQ(other.answer("c"), one.answer("c"));  // they are equal so far
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

TEST(GenerationQueue, AnswersAsAConversationDoes) {
  const LetterModel files("gpt2-generation");
  const Model model(files.path());
  const std::string chat_template = "u{user}b{bot}",
                    settings = R"({"max_new_tokens": 12, "do_sample": false})";
  GenerationQueue queue(model, {.chat_template = chat_template});
  EXPECT_EQ(queue.no_conversations(), "");
  Conversation conversation(model, {.system = "ab", .chat_template = chat_template, .settings = settings});
  std::vector<ChatMessage> messages = {{"system", "ab"}};
  for (const char* question : {"cab", "a"}) {
    messages.push_back({"user", question});
    const QueueResult result = result_of(queue, {.messages = messages, .settings = settings});
    ASSERT_EQ(result.end, QueueEnd::finished);
    messages.push_back({"assistant", conversation.answer(question)});
    EXPECT_EQ(result.texts.front().text, messages.back().content);
  }
  EXPECT_ERROR("expected a last message of user", queue.submit({.messages = messages}));  // nothing is asked
  EXPECT_ERROR("message 2: expected one of assistant, found one of 'user'",
               queue.submit({.messages = {{"user", "a"}, {"user", "b"}}}));
  EXPECT_ERROR("expected a prompt or messages, found both",
               queue.submit({.prompt = "a", .messages = {{"user", "a"}}}));
  GenerationQueue without(model);
  EXPECT_NE(without.no_conversations(), "");
  EXPECT_ERROR("there is none; say how a turn is written", without.submit({.messages = {{"user", "a"}}}));
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

// What the process holds of the files in `folder`: mapped memory and open files.
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

// A model of which the last tensor in the table, or the tokenizer, cannot be read: all that was read before
// is let go, and the directory loads when it has been mended.
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
  unknown[at] = 'k';  // a head without its weight: found when the body has been read
  const std::pair<std::string, const char*> cases[] = {
      {unknown, "the tensor classifier.weight is missing"},
      {whole.substr(0, whole.size() - 8), "it has been cut off"},
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
