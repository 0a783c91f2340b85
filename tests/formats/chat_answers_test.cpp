// Answers of models, split into content, reasoning and tool calls.
#include "expect_error.h"
#include "formats/chat_answers/answer_parser.h"
#include "formats/chat_answers/answer_structure.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// Marks from the chat templates of these models.
constexpr std::string_view kQwen = "{{ tools }}<tool_call></tool_call>",
                           kThinks = "{{ tools }}<tool_call><think>",
                           kLlama3 = "<|start_header_id|>{{ tools }}\"parameters\"",
                           kNemo = "[TOOL_CALLS]{{ tools }}",
                           kSmall3 = "[TOOL_CALLS][CALL_ID][ARGS]{{ tools }}",
                           kGranite3 = "<|tool_call|>{{ tools }}<think>", kGemma3 = "<start_of_turn>",
                           kApriel1 = "{{ tools }}<tool_calls>[{\"name\"",
                           kGptOss = "<|channel|>analysis<|message|>{{ tools }}",
                           kFunctionary = "{{ tools }}<function=f></function>",
                           kCoder = "{{ tools }}<tool_call><function=f><parameter=a>",
                           kSeedOss = "{{ tools }}<seed:tool_call><function=f><parameter=a>",
                           kMiniMax2 = "{{ tools }}<minimax:tool_call><invoke name=\"f\">",
                           kGlm4 = "{{ tools }}<tool_call><arg_key>",
                           kDeepSeek3 = "{{ tools }}<｜tool▁call▁begin｜>```json",
                           kDeepSeek31 = "{{ tools }}<｜tool▁call▁begin｜><think>",
                           kDeepSeek32 = "{{ tools }}｜DSML｜function_calls",
                           kKimi2 = "{{ tools }}<|tool_call_argument_begin|>",
                           kCommand7 = "{{ tools }}<|START_ACTION|><|START_THINKING|>",
                           kCommandPlus = "{{ tools }}Action: tool_name",
                           kNemotron2 = "{{ tools }}<TOOLCALL>", kLfm = "{{ tools }}<|tool_call_start|>",
                           kApertus1 = "{{ tools }}<|tools_prefix|>",
                           kMiniMax1 = "{{ tools }}<beginning_of_sentence><tool_calls></tool_calls>",
                           kGigaChat31 = "{{ tools }}<|function_call|>",
                           kMiniCpm5 = "{{ tools }}<function name=\"f\"><param name=\"a\">",
                           kHunyuan3 = "{{ tools }}<tool_call{}>:opensource<arg_key{}>",
                           kFire = "{{ tools }}functools[",
                           kGemma4B = "{{ tools }}<|tool_call>call:<|channel>thought";

const std::vector<std::string> kTools = {"f", "get_weather"};
const Json kSchemas = Json::parse(R"({"f": {"type": "object", "properties": {
    "text": {"type": "string"}, "count": {"type": "integer"}, "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "list": {"type": "array"}, "flag": {"type": "boolean"}, "unit": {"enum": ["C", "F"]}}}})");

struct Parts {
  std::string content, reasoning;
  std::vector<std::pair<std::string, std::string>> calls = {};  // names and arguments

  bool operator==(const Parts&) const = default;
};

void PrintTo(const Parts& parts, std::ostream* out) {
  *out << "content '" << parts.content << "' reasoning '" << parts.reasoning << "'";
  for (const auto& [name, arguments] : parts.calls) *out << " call " << name << " " << arguments;
}

void add(Parts& parts, const AnswerPieces& pieces) {
  parts.content += pieces.content;
  parts.reasoning += pieces.reasoning;
  for (const ToolCallPiece& piece : pieces.calls) {
    if (piece.index >= parts.calls.size()) parts.calls.resize(piece.index + 1);
    parts.calls[piece.index].first += piece.name;
    parts.calls[piece.index].second += piece.arguments;
  }
}

Parts parse(std::string_view chat_template, const std::vector<std::string_view>& texts,
            bool in_reasoning = false, const std::vector<std::string>& tools = kTools) {
  AnswerParser parser(recognize_answers(chat_template), tools, in_reasoning, kSchemas);
  Parts parts;
  for (const std::string_view text : texts) add(parts, parser.put(text));
  add(parts, parser.finish());
  return parts;
}

// The parts do not depend on how the text is divided.
void expect_parts(std::string_view chat_template, std::string_view text, const Parts& expected,
                  bool in_reasoning = false) {
  EXPECT_EQ(parse(chat_template, {text}, in_reasoning), expected) << text;
  for (std::size_t i = 1; i < text.size(); ++i)
    EXPECT_EQ(parse(chat_template, {text.substr(0, i), text.substr(i)}, in_reasoning), expected)
        << text.substr(0, i) << " | " << text.substr(i);
  std::vector<std::string_view> letters;
  for (std::size_t i = 0; i < text.size(); ++i) letters.push_back(text.substr(i, 1));
  EXPECT_EQ(parse(chat_template, letters, in_reasoning), expected) << text;
}

TEST(ChatAnswers, CallsOfHermesAndQwen) {
  expect_parts(
      kQwen, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, {\"b\": \"}\\\"\"}]}}\n</tool_call>",
      {"", "", {{"f", R"({"a": [1, {"b": "}\""}]})"}}});
  expect_parts(kQwen,
               "Let me see.\n\n<tool_call>{\"name\": \"f\", \"arguments\": "
               "{}}</tool_call>\n<tool_call>\n{\"arguments\" : "
               "{\"x\": 2 } , \"name\":\"get_weather\"}\n</tool_call>\n",
               {"Let me see.", "", {{"f", "{}"}, {"get_weather", "{\"x\": 2 }"}}});
  // Variants that models write: no arguments, arguments as a string, a list, another key, no closing mark.
  expect_parts(kQwen, "<tool_call>{\"name\": \"f\"}</tool_call>", {"", "", {{"f", "{}"}}});
  expect_parts(kQwen, R"(<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>)",
               {"", "", {{"f", "{\"a\": 1}"}}});
  expect_parts(
      kQwen,
      R"(<tool_call>[{"name": "f", "arguments": {}}, {"name": "g", "parameters": {"a":1}}]</tool_call>)",
      {"", "", {{"f", "{}"}, {"g", "{\"a\":1}"}}});
  expect_parts(kQwen, "<tool_call>{\"name\": \"f\", \"arguments\": null}", {"", "", {{"f", "{}"}}});
}

TEST(ChatAnswers, CallsOfOtherFormats) {
  expect_parts(kLlama3, R"({"name": "f", "parameters": {"a": 1}})", {"", "", {{"f", "{\"a\": 1}"}}});
  expect_parts(
      kLlama3,
      R"({"type": "function", "name": "f", "parameters": {}}; {"name": "f", "parameters": {"b": 2}})",
      {"", "", {{"f", "{}"}, {"f", "{\"b\": 2}"}}});
  expect_parts(kLlama3, R"(<|python_tag|>{"name": "f", "parameters": {"a": 1}})",
               {"", "", {{"f", "{\"a\": 1}"}}});
  expect_parts(kLlama3, R"(<|python_tag|>brave_search.call(query="a, b"))",
               {"", "", {{"brave_search", "{\"query\": \"a, b\"}"}}});
  expect_parts(
      kNemo,
      R"([TOOL_CALLS][{"name": "f", "arguments": {"a": 1}, "id": "123456789"}, {"name": "g", "arguments": {}}])",
      {"", "", {{"f", "{\"a\": 1}"}, {"g", "{}"}}});
  expect_parts(kNemo, R"([TOOL_CALLS] [{"name": "f", "arguments": {}}])", {"", "", {{"f", "{}"}}});
  expect_parts(kSmall3, R"(Yes.[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{})",
               {"Yes.", "", {{"f", "{\"a\": 1}"}, {"g", "{}"}}});
  expect_parts(kSmall3, R"([TOOL_CALLS][{"name": "f", "arguments": {}}])", {"", "", {{"f", "{}"}}});
  expect_parts(kGranite3, R"(<|tool_call|>[{"name": "f", "arguments": {"a": 1}}])",
               {"", "", {{"f", "{\"a\": 1}"}}});
  expect_parts(kApriel1, R"(Yes.<tool_calls>[{"name": "f", "arguments": {"a": 1}}]</tool_calls>)",
               {"Yes.", "", {{"f", "{\"a\": 1}"}}});
  expect_parts(kFunctionary, R"(<function=f>{"a": 1}</function><function=g>{}</function>)",
               {"", "", {{"f", "{\"a\": 1}"}, {"g", "{}"}}});
  expect_parts(kGemma3, "```tool_code\nget_weather(city='Paris', days=2, wet=None)\n```",
               {"", "", {{"get_weather", R"({"city": "Paris", "days": 2, "wet": null})"}}});
  expect_parts(kGemma3, "Sure.\n```tool_code\n{\"name\": \"f\", \"parameters\": {}}\n```",
               {"Sure.", "", {{"f", "{}"}}});
  expect_parts(kGemma3, "```tool_code\nprint(f(a=[1, True]))\n```", {"", "", {{"f", "{\"a\": [1, true]}"}}});
  expect_parts(kGemma3, R"({"name": "f", "parameters": {"a": 1}})", {"", "", {{"f", "{\"a\": 1}"}}});
}

TEST(ChatAnswers, CallsWithTaggedArguments) {
  const std::string arguments =
      R"({"text":"12","count":3,"maybe":null,"list":[1,"b"],"flag":true,"other":"x\ny"})";
  const Parts wanted = {"Yes.", "", {{"f", arguments}, {"get_weather", "{}"}}};
  expect_parts(
      kCoder,
      "Yes.\n<tool_call>\n<function=f>\n<parameter=text>\n12\n</parameter>\n<parameter=count>\n3\n"
      "</parameter>\n<parameter=maybe>\nnull\n</parameter>\n<parameter=list>\n[1, \"b\"]\n</parameter>\n"
      "<parameter=flag>True</parameter>\n<parameter=other>\nx\ny\n</parameter>\n</function>\n</tool_call>\n"
      "<tool_call>\n<function=get_weather>\n</function>\n</tool_call>",
      wanted);
  expect_parts(
      kSeedOss,
      "<seed:tool_call>\n<function=f>\n<parameter=text>a < b</parameter>\n</function>\n</seed:tool_call>",
      {"", "", {{"f", R"({"text":"a < b"})"}}});
  expect_parts(
      kMiniMax2,
      "Yes.\n<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"text\">12</parameter>\n<parameter "
      "name=\"count\">3</parameter>\n<parameter name=\"maybe\">null</parameter>\n<parameter "
      "name=\"list\">[1, \"b\"]</parameter>\n<parameter name=\"flag\">true</parameter>\n<parameter "
      "name=\"other\">x\ny</parameter>\n</invoke>\n<invoke name=\"get_weather\">\n</invoke>\n"
      "</minimax:tool_call>",
      wanted);
  expect_parts(
      kGlm4,
      "Yes.\n<tool_call>f\n<arg_key>text</arg_key>\n<arg_value>12</arg_value>\n<arg_key>count</arg_key>\n"
      "<arg_value>3</arg_value>\n<arg_key>maybe</arg_key>\n<arg_value>null</arg_value>\n<arg_key>list"
      "</arg_key>\n<arg_value>[1, \"b\"]</arg_value>\n<arg_key>flag</arg_key>\n<arg_value>true</arg_value>\n"
      "<arg_key>other</arg_key>\n<arg_value>x\ny</arg_value>\n</tool_call>\n<tool_call>get_weather\n"
      "</tool_call>",
      wanted);
  // The answer says which values are texts.
  expect_parts(
      kDeepSeek32,
      "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"a\" "
      "string=\"true\">1</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" "
      "string=\"false\">{\"c\": 1}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
      {"", "", {{"get_weather", R"({"a":"1","b":{"c":1}})"}}});
  // White space around a value of a list does not belong to it, nor does a text become a number's value.
  expect_parts(kCoder,
               "<tool_call>\n<function=f>\n<parameter=unit>\t C \n</parameter>\n<parameter=text> x "
               "</parameter>\n</function>\n</tool_call>",
               {"", "", {{"f", R"({"unit":"C","text":" x "})"}}});
  expect_parts(kDeepSeek32,
               "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"count\" "
               "string=\"true\">3 </｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
               {"", "", {{"f", R"({"count":3})"}}});
  for (const std::string_view text :
       {"<tool_call>", "<tool_call>\n<function=f", "<tool_call>no function</tool_call>",
        "<tool_call><function=f><parameter=a>1</function></tool_call>"})
    expect_parts(kCoder, text, {std::string(text), ""});
}

TEST(ChatAnswers, CallsInLists) {
  const Parts wanted = {"Yes.", "", {{"f", "{\"a\": \"}]\"}"}, {"get_weather", "{}"}}};
  constexpr std::string_view kCalls =
      R"([{"name": "f", "arguments": {"a": "}]"}}, {"name": "get_weather", "arguments": {}}])";
  expect_parts(kNemotron2, "Yes.\n<TOOLCALL>" + std::string(kCalls) + "</TOOLCALL>", wanted);
  expect_parts(kFire, "Yes. functools" + std::string(kCalls), wanted);
  expect_parts(kFire, "import functools\nx", {"import functools\nx", ""});
  expect_parts(kApertus1, R"(Yes.<|tools_prefix|>[{"f": {"a": "}]"}}, {"get_weather": {}}]<|tools_suffix|>)",
               wanted);
  expect_parts(kMiniMax1,
               "Yes.<tool_calls>\n{\"name\": \"f\", \"arguments\": {\"a\": \"}]\"}}\n{\"name\": "
               "\"get_weather\", \"arguments\": {}}\n</tool_calls>",
               wanted);
  expect_parts(kGigaChat31, R"(Yes.<|function_call|>{"name": "f", "arguments": {"a": 1}})",
               {"Yes.", "", {{"f", "{\"a\": 1}"}}});
}

TEST(ChatAnswers, CallsInPython) {
  expect_parts(
      kLfm,
      "Yes.<|tool_call_start|>[f(a='x, (y', b=[1, {'c': None}], d=true, e=null), get_weather()]"
      "<|tool_call_end|>",
      {"Yes.",
       "",
       {{"f", R"({"a": "x, (y", "b": [1, {"c": null}], "d": true, "e": null})"}, {"get_weather", "{}"}}});
  expect_parts(kLfm, R"(<|tool_call_start|>[{"name": "f", "arguments": {"a": 1}}]<|tool_call_end|>)",
               {"", "", {{"f", "{\"a\": 1}"}}});
  for (const std::string_view text : {"<|tool_call_start|>[f(a='it's')]<|tool_call_end|>",
                                      "<|tool_call_start|>[f(a=1), 2]<|tool_call_end|>"})
    expect_parts(kLfm, text, {std::string(text), ""});
  // A template that writes lists and objects as Python does.
  expect_parts(kSeedOss,
               "<seed:tool_call>\n<function=f>\n<parameter=list>['a', None, {'b': True}]</parameter>\n"
               "</function>\n</seed:tool_call>",
               {"", "", {{"f", R"({"list":["a",null,{"b":true}]})"}}});
}

TEST(ChatAnswers, CallsWithoutQuotes) {
  expect_parts(
      kGemma4B,
      "<|channel>thought\nHm.\n<channel|>Yes.<|tool_call>call:f{text:<|\"|>a, {b}: \"c\"<|\"|>,count:-3,"
      "list:[true,<|\"|>x<|\"|>,[]],maybe:{<|\"|>b "
      "c<|\"|>:None,d:1.5}}<tool_call|><|tool_call>call:get_weather{}"
      "<tool_call|><|tool_response>",
      {"Yes.",
       "Hm.",
       {{"f", R"({"text":"a, {b}: \"c\"","count":-3,"list":[true,"x",[]],"maybe":{"b c":null,"d":1.5}})"},
        {"get_weather", "{}"}}});
  for (const std::string_view text : {"<|tool_call>call:f", "<|tool_call>call:f{a:1<tool_call|>",
                                      "<|tool_call>call:f{a:<|\"|>x}<tool_call|>",
                                      "<|tool_call>call:{}<tool_call|>", "<|tool_call>call:f{}}<tool_call|>"})
    expect_parts(kGemma4B, text, {std::string(text), ""});
}

TEST(ChatAnswers, CallsWithOtherTags) {
  const Parts wanted = {"Yes.", "", {{"f", R"({"text":"a < b","count":3})"}, {"get_weather", "{}"}}};
  expect_parts(kMiniCpm5,
               "Yes.\n<function name=\"f\"><param name=\"text\"><![CDATA[a < b]]></param><param "
               "name=\"count\">3</param></function>\n<function name=\"get_weather\"></function>",
               wanted);
  expect_parts(kHunyuan3,
               "Yes.<tool_calls:opensource>\n<tool_call:opensource>f<tool_sep:opensource>\n"
               "<arg_key:opensource>text</arg_key:opensource>\n<arg_value:opensource>a < "
               "b</arg_value:opensource>\n<arg_key:opensource>count</arg_key:opensource>\n"
               "<arg_value:opensource>3</arg_value:opensource>\n</tool_call:opensource>\n"
               "<tool_call:opensource>get_weather<tool_sep:opensource>\n</tool_call:opensource>\n"
               "</tool_calls:opensource>",
               wanted);
}

TEST(ChatAnswers, CallsInSections) {
  const Parts wanted = {"Yes.", "", {{"f", "{\"a\": 1}"}, {"get_weather", "{}"}}};
  expect_parts(
      kDeepSeek3,
      "Yes.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": 1}\n```"
      "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{}\n```"
      "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
      wanted);
  expect_parts(kDeepSeek31,
               "Yes.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>"
               "<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
               wanted);
  expect_parts(
      kKimi2,
      "Yes.<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
      "{\"a\": 1}<|tool_call_end|><|tool_call_begin|>functions.get_weather:1<|tool_call_argument_begin|>{}"
      "<|tool_call_end|><|tool_calls_section_end|>",
      wanted);
  expect_parts(
      kCommand7,
      "<|START_THINKING|>I look.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", "
      "\"tool_name\": \"f\", \"parameters\": {\"a\": 1}},\n    {\"tool_call_id\": \"1\", \"tool_name\": "
      "\"get_weather\", \"parameters\": {}}\n]<|END_ACTION|>",
      {"", "I look.", {{"f", "{\"a\": 1}"}, {"get_weather", "{}"}}});
  expect_parts(kCommand7, "<|START_RESPONSE|>Hello.<|END_RESPONSE|>", {"Hello.", ""});
  expect_parts(
      kCommandPlus,
      "Action: ```json\n[\n    {\n        \"tool_name\": \"f\",\n        \"parameters\": {\"a\": 1}\n    "
      "}\n]```",
      {"", "", {{"f", "{\"a\": 1}"}}});
  expect_parts(kCommandPlus, "Action: wait ```json", {"Action: wait ```json", ""});
}

TEST(ChatAnswers, ChannelsOfGptOss) {
  expect_parts(kGptOss,
               "<|channel|>analysis<|message|>I must look.<|end|><|start|>assistant<|channel|>commentary "
               "to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>",
               {"", "I must look.", {{"f", "{\"a\": 1}"}}});
  expect_parts(kGptOss, " to=functions.f<|channel|>commentary json<|message|>{}<|call|>",
               {"", "", {{"f", "{}"}}});
  expect_parts(
      kGptOss,
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
      {"Hello.", "Hm."});
  // A model that was never trained on tool calls.
  expect_parts(kGptOss, "Hello", {"Hello", ""});
}

TEST(ChatAnswers, ReasoningIsApart) {
  expect_parts(kThinks, "<think>\nA call?\n</think>\n\nNo <b>.", {"No <b>.", "A call?"});
  expect_parts(kThinks, "A <tool_call>{} thought</think>Yes ", {"Yes ", "A <tool_call>{} thought"}, true);
  expect_parts(kThinks, "<think>x</think>\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>",
               {"", "x", {{"f", "{}"}}});
  expect_parts(kThinks, "In HTML <think> is none.", {"In HTML <think> is none.", ""});
  expect_parts(kThinks, "<think>never ends", {"", "never ends"});
  expect_parts(kQwen, "<think>x</think>", {"<think>x</think>", ""});
}

TEST(ChatAnswers, WhatIsNoCallIsContent) {
  for (const std::string_view text :
       {"<tool_call>", "<tool_call", "<tool_call> is a mark", "<tool_call>{\"name\": 3}", "<tool_call>[1]",
        "a < b and <tool", "<tool_call>{\"arguments\": {\"a\": 1}}</tool_call>", "<tool_call>{\"name\": \"f"})
    expect_parts(kQwen, text, {std::string(text), ""});
  for (const std::string_view text : {"{\"answer\": 1}", "{\"name\": \"Bob\", \"parameters\": {}}", "{", "{}",
                                      "{\"name\": \"f", "f(a=1)", "a {\"name\": \"f\", \"parameters\": {}}"})
    expect_parts(kLlama3, text, {std::string(text), ""});
  expect_parts(kGemma3, "```tool_code\n1 +\n```", {"```tool_code\n1 +\n```", ""});
  expect_parts(kNemo, "[TOOL_CALLS]nothing", {"[TOOL_CALLS]nothing", ""});
  // Without tools there are no calls.
  EXPECT_EQ(
      parse(kQwen, {"<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"}, false, {}).calls.size(),
      0u);
}

TEST(ChatAnswers, ComeAsSoonAsTheyAreCertain) {
  AnswerParser parser(recognize_answers(kQwen), kTools, false);
  EXPECT_EQ(parser.put("a <"), (AnswerPieces{"a"}));
  EXPECT_EQ(parser.put("b"), (AnswerPieces{" <b"}));
  EXPECT_TRUE(parser.put(" <tool_call>{\"name\": \"f").empty());
  EXPECT_EQ(parser.put("\", "), (AnswerPieces{"", "", {{0, "f", ""}}}));
  EXPECT_EQ(parser.put("\"arguments\": {\"a\""), (AnswerPieces{"", "", {{0, "", "{\"a\""}}}));
  EXPECT_EQ(parser.put(": 1"), (AnswerPieces{"", "", {{0, "", ": 1"}}}));
  // Truncated: the arguments are as far as they have been generated.
  EXPECT_TRUE(parser.finish().empty());
}

TEST(ChatAnswers, FormatsAreRecognizedByTemplates) {
  EXPECT_EQ(recognize_answers(kQwen).calls->open, "<tool_call>");
  EXPECT_EQ(recognize_answers("{{ tools }}<function=f><parameter=a>").calls, nullptr);
  EXPECT_EQ(recognize_answers(kDeepSeek3).marks(),
            (std::vector<std::string>{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>",
                                      "<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "<｜tool▁call▁begin｜>",
                                      "<｜tool▁sep｜>", "\n```<｜tool▁call▁end｜>", "<｜tool▁call▁end｜>",
                                      "\n```json\n"}));
  EXPECT_EQ(recognize_answers("{{ tools }}").calls, nullptr);
  const AnswerFormat plain = recognize_answers("{{ messages }}");
  EXPECT_FALSE(plain.knows_tools);
  EXPECT_EQ(plain.calls->open, "<tool_call>");
  EXPECT_EQ(recognize_answers(kThinks).marks(),
            (std::vector<std::string>{"<think>", "</think>", "<tool_call>", "</tool_call>"}));
}

const Json kToolList =
    Json::parse(R"([{"type": "function", "function": {"name": "f", "description": "Does it.",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}])");

// The parser reads the same format that is written for models.
TEST(ChatAnswers, AreWrittenAsTheyAreRead) {
  const Json calls =
      Json::parse(R"([{"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}},
                                     {"function": {"name": "get_weather", "arguments": "{}"}}])");
  for (const std::string_view each :
       {kQwen, kNemo, kSmall3, kApriel1, kGranite3, kFunctionary, kGemma3, kLlama3, kDeepSeek3, kKimi2,
        kCommand7, kNemotron2, kLfm, kApertus1, kMiniMax1}) {
    const std::string text = written_calls(calls, *recognize_answers(each).calls);
    expect_parts(each, text, {"", "", {{"f", "{\"a\": 1}"}, {"get_weather", "{}"}}});
  }
  const std::string tools = written_tools(kToolList, *recognize_answers("").calls);
  EXPECT_TRUE(contains(tools, R"({"name": "f", "description": "Does it.", "parameters": {"type": "object")"));
  EXPECT_TRUE(contains(
      tools, "<tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"ARGUMENT\": \"VALUE\"}}\n</tool_call>"));
}

TEST(ChatAnswers, SchemasOfTools) {
  EXPECT_EQ(tool_name(kToolList[0]), "f");
  EXPECT_EQ(tool_schema(kToolList[0]), kToolList[0]["function"]["parameters"]);
  EXPECT_EQ(tool_schema({{"name", "g"}}), Json::parse(R"({"type": "object", "properties": {}})"));
  EXPECT_EQ(tool_schema({{"name", "g"}, {"strict", false}, {"parameters", {{"not", true}}}})["type"],
            "object");
}

}  // namespace
}  // namespace attend
