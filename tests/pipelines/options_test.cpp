// Options of pipelines: set from JSON, checked, and described as a schema; also for a pipeline
// that is defined here.
#include "expect_error.h"
#include "pipelines/pipeline.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

enum class Case { as_is, upper };

// Repeats texts.
class Echo : public Pipeline {
 public:
  Options parameters() override {
    Option separator = option::text("separator", separator_, "Text between them");
    separator.excludes = "lines";
    return {option::integer("times", times_, 1, "Number of repetitions"),
            option::choice("case", case_, {{"as_is", Case::as_is}, {"upper", Case::upper}}, "Letter case"),
            option::flag("lines", lines_, "One per line"), std::move(separator),
            option::texts("ignore", ignored_, "Texts to leave out")};
  }
  void load(const ModelPath&) override {}
  std::vector<Json> run(const std::vector<Fields>& inputs, const RunOptions&) override {
    std::vector<Json> answers;
    for (const Fields& input : inputs) {
      std::string answer, text = text_of(input);
      if (std::ranges::find(ignored_, text) != ignored_.end()) text = "";
      if (case_ == Case::upper) std::ranges::transform(text, text.begin(), ::toupper);
      for (std::int64_t i = 0; i < times_; ++i)
        answer += (i == 0 ? "" : lines_.value_or(false) ? "\n" : separator_.value_or(" ")) + text;
      answers.emplace_back(answer);
    }
    return answers;
  }

 private:
  std::int64_t times_ = 1;
  Case case_ = Case::as_is;
  std::optional<bool> lines_;
  std::optional<std::string> separator_;
  std::vector<std::string> ignored_;
};

Json answer(const Json& given, const std::string& text) {
  Echo echo;
  set_options(echo.parameters(), given);
  echo.load({});
  const Json input = echo.from_texts({text}).front();
  check_fields(Fields(input, "input"), echo, {});
  return echo.run({Fields(input, "input")}, {}).front();
}

TEST(Parameters, SetTheMembersOfAPipeline) {
  EXPECT_EQ(answer(Json::object(), "a"), "a");
  EXPECT_EQ(answer({{"times", 2}, {"case", "upper"}}, "a"), "A A");
  EXPECT_EQ(answer({{"times", 2}, {"lines", true}}, "a"), "a\na");
  EXPECT_EQ(answer({{"times", 2}, {"separator", "-"}, {"lines", nullptr}}, "a"), "a-a");
  EXPECT_EQ(answer({{"ignore", "b, a"}}, "a"), "");
  EXPECT_EQ(answer({{"ignore", {"b, a"}}}, "a"), "a");
}

TEST(Parameters, AreChecked) {
  EXPECT_ERROR("parameters.times: expected an integer of at least 1, found 0", answer({{"times", 0}}, "a"));
  EXPECT_ERROR("parameters.case: expected one of as_is, upper, found \"lower\"",
               answer({{"case", "lower"}}, "a"));
  EXPECT_ERROR("parameters.lines: expected true or false, found 1", answer({{"lines", 1}}, "a"));
  EXPECT_ERROR("parameters.ignore: expected a list of texts or a text, found 3",
               answer({{"ignore", 3}}, "a"));
  EXPECT_ERROR("parameters.ignore: expected a list of texts", answer({{"ignore", Json::array()}}, "a"));
  EXPECT_ERROR("there is no field \"time\": expected times, case, lines, separator, ignore",
               answer({{"time", 1}}, "a"));
  EXPECT_ERROR("expected lines or separator, found both", answer({{"lines", true}, {"separator", "-"}}, "a"));
}

TEST(Parameters, MakeASchemaWithDefaults) {
  Echo echo;
  const Json properties = schema_of(echo.parameters())["properties"];
  EXPECT_EQ(
      properties["times"],
      Json::parse(R"({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 2147483648}, {"type": "null"}],
                            "default": 1, "description": "Number of repetitions"})"));
  EXPECT_EQ(properties["case"]["default"], "as_is");
  EXPECT_FALSE(properties["separator"].contains("default"));
}

TEST(Pipelines, AreFoundByAllTheirNames) {
  EXPECT_EQ(find_pipeline("ner")->name, "token-classification");
  EXPECT_EQ(find_pipeline("translation_en_to_de")->name, "translation");
  EXPECT_EQ(find_pipeline("fill-masks"), nullptr);
  for (const PipelineKind* kind : pipelines()) {
    const auto made = kind->make(std::string(kind->name));
    for (const Option& each : made->parameters()) {
      EXPECT_FALSE(each.description.empty()) << kind->name << " " << each.name;
      EXPECT_FALSE(each.description.ends_with('.')) << kind->name << " " << each.name;
    }
  }
}

}  // namespace
}  // namespace attend
