// The tasks against transformers' pipelines: tests/data/tasks has tiny models and the pipelines' answers.
#include <attend/tasks.h>

#include "formats/json/json.h"
#include "temporary_directory.h"
#include "tensor_checks.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

std::filesystem::path task_data() {
  return test_data() / "tasks";
}

// Differences beyond rounding; empty if there are none.
std::string difference(const Json& got, const Json& wanted, const std::string& place = "") {
  const auto differ = [&] { return place + ": " + got.dump() + " for " + wanted.dump(); };
  if (wanted.is_number_float())
    return got.is_number() && std::abs(got.get<double>() - wanted.get<double>()) < 1e-4 ? "" : differ();
  if (got.type() != wanted.type() && !(got.is_number() && wanted.is_number())) return differ();
  if (!wanted.is_structured()) return got == wanted ? "" : differ();
  if (got.size() != wanted.size()) return differ();
  for (auto each = wanted.items().begin(); each != wanted.items().end(); ++each) {
    if (wanted.is_object() && !got.contains(each.key())) return differ();
    const Json& part = wanted.is_object() ? got.at(each.key()) : got.at(std::stoul(each.key()));
    if (std::string found = difference(part, each.value(), place + "/" + each.key()); !found.empty())
      return found;
  }
  return "";
}

Json to_json(const std::vector<LabelScore>& labels) {
  Json list = Json::array();
  for (const auto& [label, score] : labels) list.push_back({{"label", label}, {"score", score}});
  return list;
}

ScoreFunction function_of(const Fields& options) {
  return options.text({"function_to_apply"}, "") == "sigmoid" ? ScoreFunction::sigmoid
                                                              : ScoreFunction::by_model;
}

// The number of labels: all if the pipeline gets None.
std::size_t top_k_of(const Fields& options, std::size_t usual) {
  if (options.json().contains("top_k") && options.json()["top_k"].is_null()) return 0;
  return static_cast<std::size_t>(options.integer({"top_k"}, static_cast<std::int64_t>(usual)));
}

Json classify_texts(const std::filesystem::path& model, const Fields& options, const Json& inputs) {
  std::vector<TextAndPair> texts;
  for (const Json& input : inputs)
    if (input.is_string())
      texts.push_back({input.get<std::string>(), {}});
    else
      texts.push_back({input.at("text").get<std::string>(), input.at("text_pair").get<std::string>()});
  ClassifyOptions wanted;
  wanted.top_k = top_k_of(options, 1);
  wanted.function = function_of(options);
  wanted.truncate = options.flag({"truncation"}, false);
  Json answers = Json::array();
  for (const auto& labels : TextClassifier(model).classify(texts, wanted)) answers.push_back(to_json(labels));
  return answers;
}

Json classify_tokens(const std::filesystem::path& model, const Fields& options, const Json& inputs) {
  static const std::map<std::string, Aggregation> aggregations = {{"none", Aggregation::none},
                                                                  {"simple", Aggregation::simple},
                                                                  {"first", Aggregation::first},
                                                                  {"average", Aggregation::average},
                                                                  {"max", Aggregation::max}};
  TokenOptions wanted;
  wanted.aggregation = aggregations.at(options.text({"aggregation_strategy"}, "none"));
  if (options.has({"ignore_labels"})) wanted.ignored_labels = options.texts({"ignore_labels"});
  if (options.has({"stride"})) wanted.stride = static_cast<std::size_t>(options.integer({"stride"}));
  const bool alone = wanted.aggregation == Aggregation::none;
  Json answers = Json::array();
  for (const auto& entities : TokenClassifier(model).classify(inputs, wanted)) {
    Json list = Json::array();
    for (const Entity& entity : entities) {
      list.push_back({{alone ? "entity" : "entity_group", entity.label},
                      {"score", entity.score},
                      {"word", entity.word},
                      {"start", entity.start},
                      {"end", entity.end}});
      if (alone) list.back()["index"] = entity.index;
    }
    answers.push_back(list);
  }
  return answers;
}

Json fill_masks(const std::filesystem::path& model, const Fields& options, const Json& inputs) {
  FillOptions wanted;
  wanted.top_k = top_k_of(options, 5);
  wanted.targets = options.texts({"targets"});
  Json answers = Json::array();
  for (const auto& masks : MaskFiller(model).fill(inputs, wanted)) {
    Json all = Json::array();
    for (const auto& fillings : masks) {
      Json list = Json::array();
      for (const auto& [score, token, text, sequence] : fillings)
        list.push_back({{"score", score}, {"token", token}, {"token_str", text}, {"sequence", sequence}});
      all.push_back(list);
    }
    answers.push_back(all.size() == 1 ? all.front() : all);
  }
  return answers;
}

Json answer_questions(const std::filesystem::path& model, const Fields& options, const Json& inputs) {
  std::vector<Question> questions;
  for (const Json& input : inputs)
    questions.push_back({input.at("question").get<std::string>(), input.at("context").get<std::string>()});
  AnswerOptions wanted;
  wanted.top_k = top_k_of(options, 1);
  if (options.has({"max_seq_len"}))
    wanted.max_length = static_cast<std::size_t>(options.integer({"max_seq_len"}));
  if (options.has({"doc_stride"})) wanted.stride = static_cast<std::size_t>(options.integer({"doc_stride"}));
  wanted.may_be_impossible = options.flag({"handle_impossible_answer"}, false);
  Json answers = Json::array();
  for (const auto& found : QuestionAnswerer(model).answer(questions, wanted)) {
    Json list = Json::array();
    for (const auto& [score, start, end, text] : found)
      list.push_back({{"score", score}, {"start", start}, {"end", end}, {"answer", text}});
    answers.push_back(list.size() == 1 ? list.front() : list);
  }
  return answers;
}

Json classify_freely(const std::filesystem::path& model, const Fields& options, const Json& inputs) {
  ZeroShotOptions wanted;
  wanted.several = options.flag({"multi_label"}, false);
  wanted.hypothesis = options.text({"hypothesis_template"}, wanted.hypothesis);
  const std::vector<std::string> texts = inputs;
  const auto results = ZeroShotClassifier(model).classify(texts, options.texts({"candidate_labels"}), wanted);
  Json answers = Json::array();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Json labels = Json::array(), scores = Json::array();
    for (const auto& [label, score] : results[i]) {
      labels.push_back(label);
      scores.push_back(score);
    }
    answers.push_back({{"sequence", texts[i]}, {"labels", labels}, {"scores", scores}});
  }
  return answers;
}

Json classify_pictures(const std::filesystem::path& model, const Fields& options, const Json& inputs) {
  std::vector<std::filesystem::path> images;
  for (const Json& input : inputs) images.push_back(test_data() / "images" / input.get<std::string>());
  ImageOptions wanted;
  wanted.top_k = top_k_of(options, 5);
  Json answers = Json::array();
  for (const auto& labels : ImageClassifier(model).classify(images, wanted))
    answers.push_back(to_json(labels));
  return answers;
}

TEST(Pipelines, AnswerAsTransformers) {
  using Answer = Json (*)(const std::filesystem::path& model, const Fields& options, const Json& inputs);
  const std::map<std::string, Answer> tasks = {{"text-classification", classify_texts},
                                               {"token-classification", classify_tokens},
                                               {"fill-mask", fill_masks},
                                               {"question-answering", answer_questions},
                                               {"zero-shot-classification", classify_freely},
                                               {"image-classification", classify_pictures}};
  std::set<std::string> seen;
  for (const Json& golden : read_json(task_data() / "goldens.json")) {
    const std::string task = golden.at("task");
    const Json got = tasks.at(task)(task_data() / golden.at("model").get<std::string>(),
                                    Fields(golden.at("options"), "options"), golden.at("inputs"));
    EXPECT_EQ(difference(got, golden.at("answers")), "") << task << " " << golden.at("options");
    seen.insert(task);
  }
  EXPECT_EQ(seen.size(), tasks.size());
}

// A copy of one of the models that may be changed.
class ChangedModel {
 public:
  explicit ChangedModel(const std::string& name) { std::filesystem::copy(task_data() / name, path()); }
  std::filesystem::path path() const { return directory_.path() / "model"; }
  void change(const std::function<void(Json& config)>& work) const {
    Json config = read_json(path() / "config.json");
    work(config);
    directory_.file("model/config.json", config.dump());
  }
  void spoil(const std::string& file) const { directory_.file("model/" + file, "{"); }

 private:
  TemporaryDirectory directory_;
};

template <class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Settings are read once: later changes of the files have no effect.
TEST(Pipelines, ReadTheirSettingsOnce) {
  const std::vector<std::string> texts = {"Ada has moved.", "a good film", "x"};
  const ChangedModel tags("tags"), masks("masks"), answers("answers"), classes("classifier"),
      nli("entailment");
  TokenClassifier tagger(tags.path());
  MaskFiller filler(masks.path());
  QuestionAnswerer answerer(answers.path());
  TextClassifier classifier(classes.path());
  FeatureExtractor extractor(classes.path());
  ZeroShotClassifier zero_shot(nli.path());
  for (const ChangedModel* model : {&tags, &masks, &answers, &classes, &nli})
    for (const char* file :
         {"config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"})
      model->spoil(file);
  EXPECT_EQ(tagger.classify(texts).size(), 3u);
  EXPECT_EQ(filler.fill({"The [MASK]."}).size(), 1u);
  EXPECT_EQ(answerer.answer({{"Who?", "Ada"}}).size(), 1u);
  EXPECT_EQ(classifier.classify({{"x"}}).size(), 1u);
  EXPECT_EQ(extractor.extract(texts).size(), 3u);
  EXPECT_EQ(zero_shot.classify(texts, {"cat", "dog"}).size(), 3u);
}

// config.json may omit values that the tensors show.
TEST(Pipelines, FindTheArchitectureByItsTensors) {
  const std::vector<std::function<void(Json&)>> changes = {
      [](Json& config) { config.erase("architectures"); },
      [](Json& config) { config["architectures"] = nullptr; },
      [](Json& config) { config["architectures"] = Json::array(); }};
  const auto same = [&](const char* name, const auto& answer) {
    const auto wanted = answer(task_data() / name);
    for (const auto& change : changes) {
      ChangedModel model(name);
      model.change(change);
      EXPECT_EQ(answer(model.path()), wanted) << name;
    }
  };
  same("classifier", [](const ModelPath& path) {
    return TextClassifier(path).classify({{"a good film"}}).front().front().score;
  });
  same("tags", [](const ModelPath& path) {
    return TokenClassifier(path).classify({"Ada has moved."}).front().front().score;
  });
  same("masks", [](const ModelPath& path) { return MaskFiller(path).fill({"[MASK]"})[0][0][0].score; });
  same("answers", [](const ModelPath& path) {
    return QuestionAnswerer(path).answer({{"Who?", "Ada has moved."}}).front().front().score;
  });
  same("entailment", [](const ModelPath& path) {
    return ZeroShotClassifier(path).classify({"a film"}, {"cat", "dog"}).front().front().score;
  });
  same("no-length", [](const ModelPath& path) { return TextClassifier(path).classify({{"a"}})[0][0].score; });
  same("pictures", [](const ModelPath& path) {
    return ImageClassifier(path).classify({test_data() / "images" / "grey.png"})[0][0].score;
  });
  ChangedModel masks("masks");
  masks.change(changes.front());
  EXPECT_NE(
      error_of([&] { TextClassifier classifier(masks.path()); })
          .find(
              "expected a model that classifies texts (...ForSequenceClassification), found BertForMaskedLM "
              "(config.json names no architecture, so its tensors decide)"),
      std::string::npos);
}

TEST(Pipelines, SayHowLongTextsCanBeCut) {
  const std::string text = "a " + std::string(100, 'a');
  TextClassifier classifier(task_data() / "no-length");
  EXPECT_EQ(error_of([&] { classifier.classify({{text}}); }),
            "the text has 104 tokens, but the model reads 30: shorten it, or cut it off with `truncate`");
  EXPECT_EQ(error_of([&] { classifier.classify({{"a"}, {text}}); }).substr(0, 6), "text 2");
  for (const char* name : {"classifier", "no-length"}) {
    RunOptions cut;
    EXPECT_NE(error_of([&] { FeatureExtractor(task_data() / name).extract({text}, cut); }), "no error");
    cut.truncate = true;
    EXPECT_EQ(error_of([&] { FeatureExtractor(task_data() / name).extract({text}, cut); }), "no error");
  }
  MaskFiller filler(task_data() / "masks");
  FillOptions fill;
  fill.truncate = true;
  EXPECT_EQ(filler.fill({"[MASK] " + text}, fill).size(), 1u);
  EXPECT_NE(error_of([&] { filler.fill({text + " [MASK]"}, fill); }).find("as it was cut off"),
            std::string::npos);
  EXPECT_NE(error_of([&] { filler.fill({"no mask"}); }).find("expected [MASK] somewhere in \"no mask\""),
            std::string::npos);
}

TEST(Pipelines, TakeAQuestionThatIsTooLong) {
  QuestionAnswerer answerer(task_data() / "answers");
  const std::vector<Question> questions = {
      {"who " + std::string(60, 'a'), "Ada has moved to Rome. " + std::string(90, 'b')}};
  EXPECT_NE(error_of([&] { answerer.answer(questions); }).find("the question has 61 tokens"),
            std::string::npos);
  AnswerOptions options;
  options.truncate = true;
  EXPECT_EQ(answerer.answer(questions, options).front().size(), 1u);
}

// The vocabulary may have fewer tokens than were requested.
TEST(Pipelines, FillAtMostTheWholeVocabulary) {
  FillOptions options;
  options.top_k = 100000;
  const auto filled = MaskFiller(task_data() / "masks").fill({"[MASK]"}, options);
  EXPECT_EQ(filled[0][0].size(),
            read_json(task_data() / "masks" / "config.json").at("vocab_size").get<std::size_t>());
}

}  // namespace
}  // namespace attend
