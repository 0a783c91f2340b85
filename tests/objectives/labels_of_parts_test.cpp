// Tagged words, answers in contexts, and choices: how they are prepared for a model.
#include "data/tagged_words.h"
#include "expect_error.h"
#include "formats/json/json.h"
#include "models/families/head.h"
#include "nn/transformer/head_rows.h"
#include "objectives/base/kinds.h"
#include "objectives/multiple_choice.h"
#include "objectives/question_answering.h"
#include "objectives/shared/answer_meter.h"
#include "objectives/token_classification.h"
#include "temporary_directory.h"
#include "tensor_checks.h"
#include "training/evaluate.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

constexpr std::int64_t kClsId = 2;

// Words of a few letters, split into pieces: "rains" is rain ##s. Types 0 and 1.
Json tokenizer_json() {
  const std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain", "##s",  "the",
                                           "cat",   "sees",  "a",     "dog",   "who",  "?",    "in",
                                           "park",  "old",   "##est", "it",    ".",    "when", "now"};
  Json vocabulary = Json::object(), added = Json::array();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    vocabulary[tokens[i]] = i;
    if (tokens[i].starts_with('['))
      added.push_back({{"id", i},
                       {"content", tokens[i]},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", true}});
  }
  const auto token = [](const char* id) { return Json{{"SpecialToken", {{"id", id}, {"type_id", 0}}}}; };
  const auto text = [](const char* id, int type) {
    return Json{{"Sequence", {{"id", id}, {"type_id", type}}}};
  };
  Json last = token("[SEP]");
  last["SpecialToken"]["type_id"] = 1;
  const auto special = [&](const char* name, int id) {
    return Json{{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  };
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single", {token("[CLS]"), text("A", 0), token("[SEP]")}},
            {"pair", {token("[CLS]"), text("A", 0), token("[SEP]"), text("B", 1), last}},
            {"special_tokens", {{"[CLS]", special("[CLS]", 2)}, {"[SEP]", special("[SEP]", 3)}}}}},
          {"model",
           {{"type", "WordPiece"},
            {"vocab", vocabulary},
            {"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100}}}};
}

// A tiny BERT with that tokenizer, and its files.
class LabelsOfParts : public testing::Test {
 protected:
  void SetUp() override {
    const Json config = {
        {"model_type", "bert"},          {"vocab_size", 21},         {"hidden_size", 8},
        {"num_hidden_layers", 1},        {"num_attention_heads", 2}, {"intermediate_size", 12},
        {"max_position_embeddings", 40}, {"type_vocab_size", 2}};
    PretrainedModel::fresh(Fields(config, "config.json"), 5).save(root_.path());
    root_.file("tokenizer.json", tokenizer_json().dump());
    root_.file("tokenizer_config.json",
               R"({"tokenizer_class": "BertTokenizer", "cls_token": "[CLS]", "model_input_names":
                   ["input_ids", "token_type_ids", "attention_mask"]})");
  }

  // `then` gets the objective and a model with its head and labels.
  template <class Then>
  void with(const ObjectiveKind& kind, const std::string& file, const std::string& content, const Then& then,
            std::int64_t max_length = 0) {
    Recipe recipe;
    recipe.data.max_length = max_length;
    const ModelDirectory directory(root_.path());
    const Family& family = find_family(directory.config());
    const std::string architecture = architecture_for(family, kind.head);
    const ModelSpec spec = family.spec(directory.config(), architecture);
    const TokenizerPair tokenizers = TokenizerPair::from_file(root_.path());
    const std::vector<std::string> files{root_.file(file, content).string()};
    const auto objective = kind.make({recipe, directory, spec, tokenizers, files, false, {}});
    Trainee trainee(PretrainedModel::load(directory, {.purpose = Purpose::training,
                                                      .architecture = architecture,
                                                      .fresh = FreshHead{1, objective->labels()}}));
    then(*objective, trainee);
  }

  // One batch of all examples gives the same as batches of one.
  static void expect_equal_sums(const Objective& objective, Trainee& trainee) {
    Pass pass = Pass::inference();
    std::vector<std::int64_t> all(static_cast<std::size_t>(objective.examples()));
    std::iota(all.begin(), all.end(), 0);
    const Batch batch = objective.collate(all, {});
    const Losses together = objective.losses(trainee, batch, pass, {});
    ASSERT_EQ(together.sums.size(), objective.terms().size());
    std::vector<double> sums(together.sums.size());
    std::vector<std::int64_t> counts(together.sums.size());
    for (const std::int64_t each : all) {
      const Batch alone = objective.collate(std::vector{each}, {});
      EXPECT_EQ(alone.tokens.offsets.total(), objective.tokens(each));
      const Losses losses = objective.losses(trainee, alone, pass, {});
      for (std::size_t k = 0; k < sums.size(); ++k) {
        sums[k] += losses.sums[k].item<double>();
        counts[k] += alone.counts[k];
      }
    }
    EXPECT_EQ(counts, batch.counts);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      EXPECT_NEAR(sums[k], together.sums[k].item<double>(), 1e-4);
      EXPECT_GT(sums[k], 0.1 * static_cast<double>(counts[k])) << "an untrained model is surprised";
    }
  }

  TemporaryDirectory root_;
};

std::vector<std::int64_t> values(const Tensor& tensor) {
  const Tensor flat = tensor.reshape(-1).contiguous();
  return {flat.const_data<std::int64_t>(), flat.const_data<std::int64_t>() + flat.numel()};
}

Encoding pieces_at(const std::vector<TextSpan>& spans) {
  Encoding encoding;
  encoding.offsets = spans;
  encoding.ids.resize(spans.size());
  encoding.sequence_ids.resize(spans.size());
  return encoding;
}

TEST(FirstPieces, ALeadingSpaceBelongsToTheNextWord) {
  const std::vector<std::string> words = {"über", "It", "x"};  // über It x
  using Pieces = std::vector<std::int64_t>;
  EXPECT_EQ(first_pieces(pieces_at({{0, 2}, {2, 4}, {5, 7}, {8, 9}}), words), (Pieces{0, -1, 1, 2}));
  EXPECT_EQ(first_pieces(pieces_at({{0, 4}, {4, 7}, {7, 9}}), words), (Pieces{0, 1, 2})) << "byte-level";
  EXPECT_EQ(first_pieces(pieces_at({{0, 1}, {0, 4}, {4, 5}, {5, 7}, {7, 9}}), words),
            (Pieces{0, -1, 1, -1, 2}))
      << "a space alone";
  EXPECT_EQ(first_pieces(pieces_at({{0, 4}, {8, 9}}), words), (Pieces{0, 2})) << "a word that makes no token";
  Encoding framed = pieces_at({{0, 0}, {0, 4}, {0, 0}});
  framed.sequence_ids = {-1, 0, -1};
  EXPECT_EQ(first_pieces(framed, words), (Pieces{-1, 0, -1})) << "cut after the first word";
}

TEST_F(LabelsOfParts, ATagCountsOnAWordsFirstPiece) {
  const std::string text = "it\tPRON\nrains\tVERB\n.\tPUNCT\n\nthe\tDET\noldest\tADJ\ncat\tNOUN\n";
  with(kTokenClassification, "train.txt", text, [](const Objective& objective, Trainee& trainee) {
    EXPECT_EQ(objective.labels()->names,
              (std::vector<std::string>{"ADJ", "DET", "NOUN", "PRON", "PUNCT", "VERB"}));
    const Batch batch = objective.collate(std::vector<std::int64_t>{0, 1}, {});
    EXPECT_EQ(values(batch.tokens.ids), (std::vector<std::int64_t>{2, 17, 4, 5, 18, 3, 2, 6, 15, 16, 7, 3}));
    const std::int64_t no = kIgnoredLabel;
    EXPECT_EQ(values(batch.labels), (std::vector<std::int64_t>{no, 3, 5, no, 4, no, no, 1, 0, no, 2, no}));
    EXPECT_EQ(batch.counts, std::vector<std::int64_t>{6});
    expect_equal_sums(objective, trainee);
    EXPECT_EQ(main_score(objective), "accuracy");
  });
  with(
      kTokenClassification, "train.txt", text,
      [](const Objective& objective, Trainee&) {
        const Batch batch = objective.collate(std::vector<std::int64_t>{1}, {});
        EXPECT_EQ(values(batch.labels), (std::vector<std::int64_t>{kIgnoredLabel, 1, 0, kIgnoredLabel}));
      },
      4);
  with(kTokenClassification, "train.txt", "it B-PER\nrains O\n",
       [](const Objective& objective, Trainee&) { EXPECT_EQ(main_score(objective), "f1"); });
}

TEST_F(LabelsOfParts, ChoicesOfAQuestionAreAGroup) {
  const std::string text =
      R"({"question": "who sees it ?", "choices": ["the cat", "a dog", "the oldest dog"], "label": 2})"
      "\n"
      R"({"question": "when ?", "context": "it rains now .", "choices": ["now", "in the park"], "label": "now"})"
      "\n";
  with(kMultipleChoice, "train.jsonl", text, [](const Objective& objective, Trainee& trainee) {
    const Batch batch = objective.collate(std::vector<std::int64_t>{1, 0}, {});
    EXPECT_EQ(batch.groups.lengths(), (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(values(batch.labels), (std::vector<std::int64_t>{0, 2}));
    EXPECT_EQ(batch.counts, std::vector<std::int64_t>{2}) << "questions, not texts";
    EXPECT_EQ(values(batch.tokens.offsets.part(batch.tokens.ids, 0)),
              (std::vector<std::int64_t>{2, 17, 4, 5, 20, 18, 3, 19, 12, 20, 3}))
        << "context; question and choice";
    EXPECT_EQ(values(batch.tokens.offsets.part(batch.tokens.types, 2)),
              (std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 1, 1, 1}));
    expect_equal_sums(objective, trainee);
    const auto meter = objective.meter();
    meter->add(batch, ops::tensor({2.0f, 1.0f, 3.0f, 4.0f, 0.0f}));
    EXPECT_EQ(meter->scores().front().name, "accuracy");
    EXPECT_DOUBLE_EQ(meter->scores().front().value, 0.5);
  });
}

// "the cat sees a dog in the oldest park . it rains now ." has 16 tokens; the question has 3, the frame 3.
const char* const kContext = "the cat sees a dog in the oldest park . it rains now .";

QuestionWindows windows_of(const TemporaryDirectory& root, std::vector<ContextAnswer> answers,
                           std::int64_t longest, std::int64_t stride = 128) {
  WindowOptions options;
  options.longest = longest;
  options.stride = stride;
  options.with_types = true;
  return QuestionWindows(Tokenizer::from_file(root.path()),
                         {{"", "who sees ?", kContext, std::move(answers)}}, options);
}

TEST_F(LabelsOfParts, AContextThatFitsIsOneWindow) {
  const QuestionWindows all = windows_of(root_, {{"the oldest park", 22}, {"park", 33}}, 22);
  ASSERT_EQ(all.windows().size(), 1u);
  const auto& window = all.windows().front();
  const Encoding whole = Tokenizer::from_file(root_.path()).encode_pair("who sees ?", kContext);
  EXPECT_EQ(all.text(window).ids, TokenIds(whole.ids.begin(), whole.ids.end()));
  EXPECT_EQ(all.text(window).types, TokenIds(whole.type_ids.begin(), whole.type_ids.end()));
  EXPECT_EQ(window.tokens, static_cast<std::int64_t>(whole.ids.size()));
  EXPECT_EQ(window.offset, 5);
  EXPECT_EQ(window.answer.start, 11);
  EXPECT_EQ(window.answer.end, 14) << "the last token of it";
  EXPECT_EQ(all.answer(window, window.answer), "the oldest park");
  EXPECT_EQ(all.answers(0), (std::vector<std::string>{"the oldest park", "park"}));
}

TEST_F(LabelsOfParts, AnAnswerInsideATokenIsTheWholeToken) {
  const QuestionWindows all = windows_of(root_, {{"ldest par", 27}}, 40);
  EXPECT_EQ(all.answer(all.windows()[0], all.windows()[0].answer), "oldest park");
}

TEST_F(LabelsOfParts, WindowsOverlapAndThoseWithoutTheWholeAnswerPointAtTheFirstToken) {
  // Windows of 8 tokens of the context, overlapping by 3: 0-7, 5-12, 10-15.
  const QuestionWindows all = windows_of(root_, {{"the oldest park", 22}}, 14, 3);
  ASSERT_EQ(all.windows().size(), 3u);
  EXPECT_EQ(all.windows()[1].begin, 5u);
  EXPECT_EQ(all.windows()[1].end, 13u);
  EXPECT_EQ(all.windows()[2].begin, 10u);
  EXPECT_EQ(all.windows()[2].end, 16u);
  EXPECT_EQ(all.windows()[0].answer.start, 0) << "it has \"the old\" only";
  EXPECT_EQ(all.windows()[0].answer.end, 0);
  EXPECT_EQ(all.windows()[1].answer.start, 5 + 1);
  EXPECT_EQ(all.windows()[1].answer.end, 5 + 4);
  EXPECT_EQ(all.windows()[2].answer.start, 0);
  for (const auto& window : all.windows()) {
    EXPECT_EQ(all.text(window).ids.front(), kClsId);
    EXPECT_EQ(static_cast<std::int64_t>(all.text(window).ids.size()), window.tokens);
  }
}

TEST_F(LabelsOfParts, AQuestionTooLongForItsContextHasNoWindow) {
  EXPECT_TRUE(windows_of(root_, {}, 6).windows().empty());
  EXPECT_EQ(windows_of(root_, {}, 7).windows().size(), 16u) << "one token each";
}

TEST_F(LabelsOfParts, BothEndsOfAnAnswerAreTerms) {
  Json row = {{"question", "who sees ?"},
              {"context", kContext},
              {"answers", {{"text", {"the cat"}}, {"answer_start", {0}}}}};
  std::string text = row.dump() + "\n";
  row["answers"] = {{"text", Json::array()}, {"answer_start", Json::array()}};
  text += row.dump() + "\n";
  with(
      kQuestionAnswering, "train.jsonl", text,
      [](const Objective& objective, Trainee& trainee) {
        EXPECT_EQ(objective.examples(), 2 * 3);
        std::vector<std::int64_t> first(3);
        std::iota(first.begin(), first.end(), 0);
        const Batch batch = objective.collate(first, {});
        EXPECT_EQ(values(batch.starts), (std::vector<std::int64_t>{5, 0, 0}));
        EXPECT_EQ(values(batch.ends), (std::vector<std::int64_t>{6, 0, 0}));
        expect_equal_sums(objective, trainee);
        const std::vector<Score> scores = evaluate(trainee, objective, {1000, 0});
        EXPECT_EQ(scores[0].name, "loss");
        EXPECT_NEAR(scores[0].value, (scores[1].value + scores[2].value) / 2, 1e-6);
        EXPECT_EQ(main_score(objective), "f1");
      },
      14);
}

TEST(AnswerMeter, TheBestAnswerLiesInTheContextAndIsNotLong) {
  Tensor scores = ops::zeros({60, 2});
  const auto put = [&](std::int64_t row, float start, float end) {
    scores[row][0] = start;
    scores[row][1] = end;
  };
  put(2, 9, 9);  // in the question
  put(10, 5, 0);
  put(39, 0, 4);
  put(40, 0, 6);
  const auto best = best_place(scores, 5, 59);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->place.start, 10);
  EXPECT_EQ(best->place.end, 39) << "30 tokens, not 31";
  EXPECT_FLOAT_EQ(best->score, 9);
  EXPECT_FALSE(best_place(scores, 60, 60)) << "no context";
  scores[7][1] = std::nanf("");
  EXPECT_ERROR("the model's scores are not finite", best_place(scores, 5, 59));
}

TEST_F(LabelsOfParts, AnAnswerIsTheBestOfAllWindowsOrNone) {
  for (const bool answered : {true, false}) {
    const QuestionWindows all = windows_of(
        root_, answered ? std::vector<ContextAnswer>{{"a dog", 13}} : std::vector<ContextAnswer>{}, 14, 3);
    std::vector<EncodedText> texts;
    Batch batch;
    for (std::size_t i = 0; i < 3; ++i) {
      texts.push_back(all.text(all.windows()[i]));
      batch.examples.push_back(static_cast<std::int64_t>(i));
    }
    batch.tokens = make_batch(texts);
    Tensor scores = ops::zeros({batch.tokens.offsets.total(), 2});
    scores[8][0] = 3.0f;  // "a" in the first window
    scores[9][1] = 3.0f;  // "dog"
    scores[batch.tokens.offsets.begin(1) + 6][0] = 2.0f;
    for (std::int64_t b = 0; b < 3; ++b) scores[batch.tokens.offsets.begin(b)].fill_(b == 2 ? 3.5f : 9.0f);
    const auto meter = answer_meter(all);
    EXPECT_EQ(meter->scores()[1].value, answered ? 0 : 100) << "nothing has come, so nothing is said";
    meter->add(batch, scores);
    // The least certain window decides whether there is no answer: 7 against 6. If all have answers, none is
    // unanswered.
    EXPECT_EQ(meter->scores()[0].name, "f1");
    EXPECT_EQ(meter->scores()[0].value, 100) << answered;
    EXPECT_EQ(meter->scores()[1].value, 100) << answered;
  }
}

}  // namespace
}  // namespace attend
