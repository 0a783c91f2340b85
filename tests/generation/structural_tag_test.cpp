// Answers that are constrained to the format of tool calls.
#include "expect_error.h"
#include "formats/chat_answers/answer_structure.h"
#include "generation/forms/grammar.h"
#include "generation/text_stream.h"
#include "temporary_directory.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace attend {
namespace {

// A token for each printable character, and the special tokens of formats.
Tokenizer ascii_tokenizer(const TemporaryDirectory& directory) {
  Json vocabulary = Json::object(), special = Json::array();
  for (char c = 33; c < 127; ++c) vocabulary[std::string(1, c)] = vocabulary.size();
  vocabulary["\u0120"] = vocabulary.size();  // space and newline, as byte-level BPE spells them
  vocabulary["\u010a"] = vocabulary.size();
  for (const char* token : {"<end>", "[TOOL_CALLS]", "[ARGS]", "<|channel|>", "<|message|>", "<|constrain|>",
                            "<|end|>", "<|start|>", "<|unused|>"}) {
    const std::size_t id = vocabulary.size();
    vocabulary[token] = id;
    special.push_back({{"id", id},
                       {"content", token},
                       {"special", true},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false}});
  }
  const Json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  const Json json = {{"version", "1.0"},
                     {"added_tokens", special},
                     {"pre_tokenizer", bytes},
                     {"decoder", bytes},
                     {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
  return Tokenizer::from_file(directory.file("tokenizer.json", json.dump()));
}

const Json kTools = Json::parse(R"([
  {"type": "function", "function": {"name": "f", "parameters": {"type": "object",
    "properties": {"a": {"type": "boolean"}}, "required": ["a"]}}},
  {"type": "function", "function": {"name": "free", "strict": false, "parameters": {"type": "object"}}}])");

class Structure {
 public:
  Structure(std::string_view chat_template, const AnswerRules& rules)
      : tokenizer_(ascii_tokenizer(directory_)),
        end_(*tokenizer_.token_to_id("<end>")),
        grammar_({TextForm::Kind::structural_tag,
                  answer_structure(recognize_answers(chat_template), kTools, rules).dump()},
                 tokenizer_, static_cast<std::int64_t>(tokenizer_.vocabulary_size()), std::vector{end_}) {}

  // The allowed next part of the text, and <end> if the text may end.
  std::string allowed(std::string_view text) const {
    std::vector<std::int64_t> ids;
    for (const TokenId id : tokenizer_.encode(text).ids) {
      if (!may_come(ids, id)) break;
      ids.push_back(id);
    }
    const std::vector<TokenId> shown(ids.begin(), ids.end());
    return tokenizer_.decode(shown) + (may_come(ids, end_) ? "<end>" : "");
  }

 private:
  bool may_come(const std::vector<std::int64_t>& text, std::int64_t token) const {
    std::vector<float> scores(tokenizer_.vocabulary_size(), 1);
    grammar_.apply(scores, text);
    return scores[static_cast<std::size_t>(token)] == 1;
  }

  TemporaryDirectory directory_;
  Tokenizer tokenizer_;
  std::int64_t end_;
  Grammar grammar_;
};

constexpr std::string_view kQwen = "{{ tools }}<tool_call>", kThinks = "{{ tools }}<tool_call><think>",
                           kNemo = "{{ tools }}[TOOL_CALLS]", kSmall3 = "{{ tools }}[TOOL_CALLS][ARGS]",
                           kGptOss = "{{ tools }}<|channel|><|message|>",
                           kLlama3 = "<|start_header_id|>{{ tools }}parameters";
const std::string kCall = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": true}}\n</tool_call>";

TEST(StructuralTag, ATextIsFreeUntilACallBegins) {
  const Structure automatic(kQwen, {});
  EXPECT_EQ(automatic.allowed("Hello <tool {"), "Hello <tool {<end>");
  EXPECT_EQ(automatic.allowed(kCall), kCall + "<end>");
  EXPECT_EQ(automatic.allowed("So: " + kCall + "\n" + kCall), "So: " + kCall + "\n" + kCall + "<end>");
  EXPECT_EQ(automatic.allowed("<tool_call>\n{\"name\": \"g\""), "<tool_call>\n{\"name\": \"");
  EXPECT_EQ(automatic.allowed("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}"),
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": ");
  EXPECT_EQ(automatic.allowed(
                "<tool_call>\n{\"name\": \"free\", \"arguments\": {\"b\": [1, \"x\"]}}\n</tool_call>"),
            "<tool_call>\n{\"name\": \"free\", \"arguments\": {\"b\": [1, \"x\"]}}\n</tool_call><end>");
  EXPECT_EQ(automatic.allowed("<|channel|>"), "<end>");  // not a token of this form
}

TEST(StructuralTag, CallsCanBeRequired) {
  const Structure required(kQwen, {.choice = ToolChoice::required});
  EXPECT_EQ(required.allowed("Hello"), "");
  EXPECT_EQ(required.allowed(kCall + "\n" + kCall), kCall + "\n" + kCall + "<end>");
  const Structure one(kQwen, {.choice = ToolChoice::required, .parallel = false});
  EXPECT_EQ(one.allowed(kCall + "\n"), kCall + "<end>");
  const Structure content(kQwen, {.content = {{"type", "boolean"}}});
  EXPECT_EQ(content.allowed("true"), "true<end>");
  EXPECT_EQ(content.allowed("maybe"), "");
  EXPECT_EQ(content.allowed(kCall), kCall + "<end>");
}

TEST(StructuralTag, ReasoningComesFirst) {
  const Structure required(kThinks, {.choice = ToolChoice::required});
  const std::string thought = "<think>\n<tool_call>?</think>\n\n";
  EXPECT_EQ(required.allowed(thought + kCall), thought + kCall + "<end>");
  EXPECT_EQ(required.allowed(kCall), kCall + "<end>");
  const Structure inside(kThinks, {.choice = ToolChoice::required, .in_reasoning = true});
  EXPECT_EQ(inside.allowed("hm</think>" + kCall), "hm</think>" + kCall + "<end>");
  const Structure automatic(kThinks, {.in_reasoning = true});
  EXPECT_EQ(automatic.allowed("<tool_call>?</think>\nHello"), "<tool_call>?</think>\nHello<end>");
  EXPECT_EQ(automatic.allowed("</think><tool_call>?"), "</think><tool_call>");
}

TEST(StructuralTag, OtherFormats) {
  const std::string list =
                        "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": true}}, {\"name\": \"f\", "
                        "\"arguments\": {\"a\": false}}]",
                    named = "[TOOL_CALLS]f[ARGS]{\"a\": true}",
                    llama = "{\"name\": \"f\", \"parameters\": {\"a\": true}}",
                    harmony =
                        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": true}",
                    thought = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
  for (const ToolChoice choice : {ToolChoice::automatic, ToolChoice::required}) {
    const AnswerRules rules{.choice = choice};
    EXPECT_EQ(Structure(kNemo, rules).allowed(list), list + "<end>");
    EXPECT_EQ(Structure(kSmall3, rules).allowed(named + named), named + named + "<end>");
    EXPECT_EQ(Structure(kLlama3, rules).allowed(llama), llama + "<end>");
    EXPECT_EQ(Structure(kGptOss, rules).allowed(harmony), harmony + "<end>");
    EXPECT_EQ(Structure(kGptOss, rules).allowed(thought + harmony), thought + harmony + "<end>");
  }
  EXPECT_EQ(Structure(kGptOss, {}).allowed("<|channel|>final<|message|>Hi"),
            "<|channel|>final<|message|>Hi<end>");
}

TEST(StructuralTag, SaysWhatIsWrong) {
  const TemporaryDirectory directory;
  const Tokenizer tokenizer = ascii_tokenizer(directory);
  const auto make = [&](const Json& tag) {
    const Grammar grammar({TextForm::Kind::structural_tag, tag.dump()}, tokenizer,
                          static_cast<std::int64_t>(tokenizer.vocabulary_size()),
                          std::vector<std::int64_t>{0});
  };
  EXPECT_ERROR("structural_tag: ", make({{"type", "structural_tag"}}));
  EXPECT_ERROR("texts cannot be kept to not",
               make({{"type", "structural_tag"},
                     {"format", {{"type", "json_schema"}, {"json_schema", {{"not", {{"type", "null"}}}}}}}}));
}

// The parser needs to see marks that are special tokens.
TEST(TextStream, ShowsSpecialTokensThatAreAskedFor) {
  const TemporaryDirectory directory;
  const Tokenizer tokenizer = ascii_tokenizer(directory);
  const TokenId mark = *tokenizer.token_to_id("[TOOL_CALLS]"), end = *tokenizer.token_to_id("<end>"),
                letter = *tokenizer.token_to_id("a");
  TextStream hidden(tokenizer), shown(tokenizer, {end, letter}, {mark});
  std::string of_hidden, of_shown;
  for (const TokenId id : {mark, letter, end, letter}) {
    of_hidden += hidden.put(id);
    of_shown += shown.put(id);
  }
  EXPECT_EQ(of_hidden + hidden.finish(), "aa");
  EXPECT_EQ(of_shown + shown.finish(), "[TOOL_CALLS]aa");
}

}  // namespace
}  // namespace attend
