#include "data/questions.h"

#include "data/choices.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

std::vector<ContextQuestion> read(const std::string& name, std::string_view content) {
  const TemporaryDirectory directory;
  return read_questions({directory.file(name, content)});
}

TEST(Questions, AreRowsOfSquad) {
  const auto questions = read("a.jsonl",
                              "{\"id\": \"q1\", \"title\": \"t\", \"question\": \"Who?\", \"context\": "
                              "\"Ünder Ann's roof.\", \"answers\": "
                              "{\"text\": [\"Ann\", \"Ann's\"], \"answer_start\": [6, 6]}}\n"
                              "{\"question\": \"When?\", \"context\": \"Nobody knows.\", \"answers\": "
                              "{\"text\": [], \"answer_start\": []}}\n");
  ASSERT_EQ(questions.size(), 2U);
  EXPECT_EQ(questions[0].id, "q1");
  ASSERT_EQ(questions[0].answers.size(), 2U);
  EXPECT_EQ(questions[0].answers[1].text, "Ann's");
  EXPECT_EQ(questions[0].answers[1].start, 6);
  EXPECT_TRUE(questions[1].answers.empty());
}

TEST(Questions, AreSquadsOwnFile) {
  const auto questions = read("a.json", R"({"version": "2", "data": [{"title": "t", "paragraphs": [
    {"context": "Ann sleeps.", "qas": [
      {"id": "1", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}], "is_impossible": false},
      {"id": "2", "question": "Where?", "answers": [], "is_impossible": true}]}]}]})");
  ASSERT_EQ(questions.size(), 2U);
  EXPECT_EQ(questions[0].context, "Ann sleeps.");
  EXPECT_EQ(questions[0].answers[0].text, "Ann");
  EXPECT_EQ(questions[1].id, "2");
  EXPECT_TRUE(questions[1].answers.empty());
  EXPECT_TRUE(contains(error_of([] { read("a.json", R"({"data": [{"paragraphs": 3}]})"); }), "'paragraphs'"));
}

TEST(Questions, RefuseAnswersThatDoNotStandThere) {
  const auto reason = [](const std::string& answers) {
    return error_of(
        [&] { read("a.jsonl", R"({"question": "Who?", "context": "Ann.", "answers": )" + answers + "}"); });
  };
  EXPECT_TRUE(contains(reason(R"({"text": ["Ann"], "answer_start": [1]})"), "where it does not stand"));
  EXPECT_TRUE(contains(reason(R"({"text": ["Ann"], "answer_start": [-1]})"), "where it does not stand"));
  EXPECT_TRUE(
      contains(reason(R"({"text": ["Ann"], "answer_start": [9000000000]})"), "where it does not stand"));
  EXPECT_TRUE(contains(reason(R"({"text": ["Ann", "A"], "answer_start": [0]})"), "as many answer_start"));
  EXPECT_TRUE(contains(reason(R"({"text": [3], "answer_start": [0]})"), "expected texts"));
  EXPECT_TRUE(contains(reason(R"("Ann")"), "where in the context an answer stands, found \"Ann\""));
}

TEST(Choices, AreReadWithTheirLabel) {
  const TemporaryDirectory directory;
  const auto read_all = [&](std::string_view content) {
    return read_choices({directory.file("a.jsonl", content)});
  };
  const auto questions = read_all(
      "{\"question\": \"2 + 2?\", \"choices\": [\"3\", \"4\"], \"label\": 1}\n"
      "{\"context\": \"It rained.\", \"question\": \"So?\", \"choices\": [\"dry\", \"wet\", \"red\"], "
      "\"label\": \"wet\"}\n");
  ASSERT_EQ(questions.size(), 2U);
  EXPECT_EQ(questions[0].label, 1U);
  EXPECT_FALSE(questions[0].context);
  EXPECT_EQ(questions[1].label, 1U);
  EXPECT_EQ(questions[1].context, "It rained.");
  for (const char* label : {"2", "-1", "\"5\"", "0.5"})
    EXPECT_TRUE(contains(error_of([&] {
                           read_all(R"({"question": "?", "choices": ["3", "4"], "label": )" +
                                    std::string(label) + "}");
                         }),
                         "label: expected an integer from 0 to 1 or the text of a choice"));
  EXPECT_TRUE(contains(error_of([&] { read_all(R"({"question": "?", "choices": ["3"], "label": 0})"); }),
                       "at least two texts"));
}

}  // namespace
}  // namespace attend
