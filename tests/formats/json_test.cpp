#include "formats/json/json.h"

#include "expect_error.h"
#include "formats/json/json_floats.h"
#include "temporary_directory.h"

#include <random>

#include <gtest/gtest.h>

namespace attend {
namespace {

Json parse(std::string_view text) {
  return parse_json(text, "f.json");
}

std::string error_in(std::string_view text) {
  return error_of([&] { parse(text); });
}

TEST(ParseJson, ReadsWhatPythonWrites) {
  const Json json =
      parse(R"({"b": [1, -2, 2.5, 1e-12, true, false, null], "a": {"ä\n\u00e4\ud83d\ude00": "x"}})");
  EXPECT_EQ(json.dump(), R"({"b":[1,-2,2.5,1e-12,true,false,null],"a":{"ä\nä😀":"x"}})");  // order kept
  EXPECT_EQ(parse(" 7 ").get<int>(), 7);
  EXPECT_EQ(parse("[]").dump(), "[]");
  EXPECT_EQ(parse("{}").dump(), "{}");
  EXPECT_EQ(parse("18446744073709551615").get<std::uint64_t>(), 18446744073709551615u);
  EXPECT_EQ(parse("1000000000000000019884624838656").get<double>(), 1e30);  // transformers' "no limit"
}

TEST(ParseJson, KeepsTheLastOfTwoFieldsAsPythonDoes) {
  const std::string_view text = R"({"a": 1, "b": 2, "a": 3})";
  EXPECT_EQ(parse(text).dump(), R"({"a":3,"b":2})");
  EXPECT_EQ(error_of([&] { parse_json(text, "f.json", Duplicates::refuse); }),
            "f.json: the name \"a\" occurs twice in one object");
}

TEST(ParseJson, NamesThePlaceOfAnError) {
  EXPECT_TRUE(contains(error_in("{\"a\": 1,\n \"ä\" 2}"), "f.json: not valid JSON at line 2, column 6: "));
  for (const std::string_view text :
       {"", "{", "[1,]", "{\"a\":}", "{'a': 1}", "[1] 2", "tru", "\"a", "\"\xFF\"", "\"\\ud800\"", "[1e999]",
        "01", "nul\0l", "// c\n1", "\"a\nb\""}) {
    const std::string message = error_in(text);
    EXPECT_TRUE(message.starts_with("f.json: not valid JSON at line ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(message.find("json.exception"), std::string::npos) << message;
  }
}

TEST(ParseJson, NamesPythonsOwnNumbers) {
  for (const std::string_view text : {"NaN", "[1, -Infinity]", "{\"a\":Infinity}"})
    EXPECT_TRUE(contains(error_in(text), "NaN and Infinity are valid in Python's json, but not in JSON"))
        << text;
  EXPECT_FALSE(contains(error_in("[\"NaN\", x]"), "Python's"));
}

TEST(ParseJson, ShortensLongErrors) {
  const std::string message = error_in("\"" + std::string(1'000'000, 'x'));
  EXPECT_LT(message.size(), 400u);
}

TEST(ParseJson, RefusesDeepNesting) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NO_THROW(parse(nested(128)));
  EXPECT_EQ(error_in(nested(129)), "f.json: nested deeper than 128 levels");
  EXPECT_EQ(error_in(std::string(10'000'000, '[')), "f.json: nested deeper than 128 levels");
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(error_in(objects), "f.json: nested deeper than 128 levels");
}

TEST(ParseJson, OpensALargeVocabularyAtOnce) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i)
    text += (i ? ",\"t" : "\"t") + std::to_string(i) + "\":" + std::to_string(i);
  const Json json = parse(text + "}");  // with a search for each name this would take minutes
  EXPECT_EQ(json.size(), 200'000u);
  EXPECT_EQ(json.back(), 199'999);
}

TEST(ParseJson, SurvivesDamagedTexts) {
  const std::string whole =
      R"({"model_type": "bert", "sizes": [1, -2.5e3, true, null], "names": {"a": "ä\u20ac\n"}})";
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_ERROR("f.json: not valid JSON at line 1, column ", parse(whole.substr(0, size))) << size;

  std::mt19937 random(20240502);
  const std::string_view alphabet = "0123456789-+.eEu\"\\[]{},: \n\x80\xFFNIt";
  int read = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = whole;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
      damaged[random() % damaged.size()] = alphabet[random() % alphabet.size()];
    try {
      const Json json = parse(damaged);
      ASSERT_EQ(parse(json.dump()), json) << damaged;
      ++read;
    } catch (const Error& error) {
      ASSERT_TRUE(contains(error.what(), "f.json: not valid JSON at line ")) << damaged;
      ++refused;
    }
  }
  EXPECT_GT(read, 1'000);
  EXPECT_GT(refused, 1'000);
}

TEST(ReadJson, NamesTheFile) {
  const TemporaryDirectory directory;
  const auto path = directory.file("config.json", "{\n\n\"a\" 1}");
  EXPECT_TRUE(
      contains(error_of([&] { read_json(path); }), path.string() + ": not valid JSON at line 3, column 5"));
  EXPECT_TRUE(contains(error_of([&] { read_json(directory.path() / "no.json"); }), "No such file"));
}

class FieldsTest : public testing::Test {
 protected:
  const Fields fields_ = Fields(parse(R"({
    "size": 768, "whole": 768.0, "half": 0.5, "text": "abc", "yes": true, "nothing": null, "big": 1e300,
    "huge": 18446744073709551615, "negative": -1, "zero": 0, "list": [1, 2], "texts": ["a", "b"], "mixed": [1, "a"],
    "object": {}})"),
                                "config.json");

  std::string integer_error(std::string_view name) {
    return error_of([&] { fields_.integer({name}); });
  }
};

TEST_F(FieldsTest, TakesTheFirstNamePresent) {
  EXPECT_EQ(fields_.integer({"n_embd", "size"}), 768);
  EXPECT_EQ(fields_.integer({"nothing", "size"}), 768);
  EXPECT_TRUE(fields_.has({"n_embd", "size"}));
  EXPECT_FALSE(fields_.has({"n_embd", "nothing"}));
}

TEST_F(FieldsTest, ReadsEachKind) {
  EXPECT_EQ(fields_.integer({"whole"}), 768);
  EXPECT_EQ(fields_.integer({"zero"}, {}, 0), 0);
  EXPECT_EQ(fields_.number({"size"}), 768.0);
  EXPECT_EQ(fields_.number({"half"}), 0.5);
  EXPECT_EQ(fields_.flag({"yes"}), true);
  EXPECT_EQ(fields_.text({"text"}), "abc");
  EXPECT_EQ(fields_.maybe_integer({"size"}), 768);
  EXPECT_EQ(fields_.maybe_number({"half"}), 0.5);
  EXPECT_EQ(fields_.integers({"list"}), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(fields_.integers({"negative"}), std::vector<std::int64_t>{-1});
  EXPECT_EQ(fields_.texts({"texts"}), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(fields_.texts({"text"}), std::vector<std::string>{"abc"});
}

TEST_F(FieldsTest, GivesTheDefaultForWhatIsAbsentOrNull) {
  for (const std::string_view name : {"absent", "nothing"}) {
    EXPECT_EQ(fields_.integer({name}, 3), 3);
    EXPECT_EQ(fields_.number({name}, 0.25), 0.25);
    EXPECT_EQ(fields_.flag({name}, true), true);
    EXPECT_EQ(fields_.text({name}, "x"), "x");
    EXPECT_EQ(fields_.maybe_integer({name}), std::nullopt);
    EXPECT_EQ(fields_.maybe_number({name}), std::nullopt);
    EXPECT_TRUE(fields_.integers({name}).empty());
    EXPECT_TRUE(fields_.texts({name}).empty());
  }
}

TEST_F(FieldsTest, ReportsExpectedAndFoundValues) {
  EXPECT_EQ(integer_error("text"),
            "config.json: text: expected an integer from 1 to 2147483648, found \"abc\"");
  EXPECT_EQ(integer_error("yes"), "config.json: yes: expected an integer from 1 to 2147483648, found true");
  EXPECT_EQ(integer_error("absent"),
            "config.json: absent: expected an integer from 1 to 2147483648, found nothing");
  for (const std::string_view name : {"zero", "negative", "half", "big", "huge", "list", "object"})
    EXPECT_TRUE(contains(integer_error(name), "expected an integer from 1 to 2147483648, found ")) << name;
  EXPECT_EQ(error_of([&] { fields_.number({"half"}, {}, 0.0, 0.25); }),
            "config.json: half: expected a number from 0 to 0.25, found 0.5");
  EXPECT_EQ(error_of([&] { fields_.number({"negative"}, {}, 0.0); }),
            "config.json: negative: expected a number of at least 0, found -1");
  EXPECT_EQ(error_of([&] { fields_.number({"yes"}); }), "config.json: yes: expected a number, found true");
  EXPECT_EQ(error_of([&] { fields_.maybe_number({"text"}); }),
            "config.json: text: expected a number, found \"abc\"");
  EXPECT_EQ(error_of([&] { fields_.flag({"zero"}); }), "config.json: zero: expected true or false, found 0");
  EXPECT_EQ(error_of([&] {
              fields_.text({"a", "b"});
            }),
            "config.json: a or b: expected a text, found nothing");
  EXPECT_EQ(error_of([&] { fields_.integers({"mixed"}); }),
            "config.json: mixed: expected an integer or a list of integers, found [1,\"a\"]");
  EXPECT_EQ(error_of([&] { fields_.texts({"list"}); }),
            "config.json: list: expected a text or a list of texts, found [1,2]");
}

TEST(Fields, AreOfAnObject) {
  EXPECT_EQ(error_of([] { Fields(parse("[1]"), "f.json"); }), "f.json: expected a JSON object, found [1]");
}

// The JSON library writes the first of these with 17 digits.
TEST(ShortestLine, NumbersHaveNoMoreDigitsThanTheyNeed) {
  EXPECT_EQ(shortest_line(-0.43240228), "-0.43240228");
  EXPECT_EQ(shortest_line(float_list(std::vector<float>{0.1f, -0.43240228f, 1e-30f, 3})),
            "[0.1,-0.43240228,1e-30,3.0]");
  // Integers keep all of their digits, and texts do not change.
  const std::string line = R"({"a\"-0.43240228000000003\\":[9007199254740993,-1],"b":true,"c":null})";
  EXPECT_EQ(shortest_line(parse(line)), line);
  EXPECT_EQ(shortest_line("\xff"), "\"\xEF\xBF\xBD\"");
}

TEST(Shown, IsOneShortLine) {
  EXPECT_EQ(shown("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(shown("\xFF"), "\"\xEF\xBF\xBD\"");
  EXPECT_LT(shown(std::string(1000, 'x')).size(), 100u);
}

}  // namespace
}  // namespace attend
