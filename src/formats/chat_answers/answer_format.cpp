#include "formats/chat_answers/answer_format.h"

#include "base/error.h"
#include "base/python_text.h"
#include "formats/jinja/jinja.h"

#include <algorithm>

namespace attend {
namespace {

using Texts = std::vector<std::string_view>;

constexpr CallFormat kHarmony = {
    .open = " to=functions.", .close = "<|call|>", .separator = "<|message|>", .has_headers = true};
constexpr CallFormat kMistral = {.open = "[TOOL_CALLS]", .is_list = true};
constexpr CallFormat kNewMistral = {.open = "[TOOL_CALLS]", .separator = "[ARGS]"};
constexpr CallFormat kFunctionary = {.open = "<function=", .close = "</function>", .separator = ">"};
constexpr TaggedArguments kQwenTags = {"<function=",   ">",           "<parameter=", ">", "",
                                       "</parameter>", "</function>", "qwen_xml"};
constexpr TaggedArguments kMiniMaxTags = {"<invoke name=\"", "\">",       "<parameter name=\"", "\">", "",
                                          "</parameter>",    "</invoke>", "minimax_xml"};
constexpr TaggedArguments kGlmTags = {"", "\n",     "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>",
                                      "", "glm_xml"};
constexpr TaggedArguments kDeepSeekTags = {
    "<｜DSML｜invoke name=\"", "\">",         "<｜DSML｜parameter name=\"", "\"", ">", "</｜DSML｜parameter>",
    "</｜DSML｜invoke>",       "deepseek_xml"};
constexpr CallFormat kQwenCoder = {.open = "<tool_call>", .close = "</tool_call>", .tagged = &kQwenTags};
constexpr CallFormat kSeed = {.open = "<seed:tool_call>", .close = "</seed:tool_call>", .tagged = &kQwenTags};
constexpr CallFormat kMiniMax = {
    .open = "<minimax:tool_call>", .close = "</minimax:tool_call>", .tagged = &kMiniMaxTags};
constexpr CallFormat kGlm = {.open = "<tool_call>", .close = "</tool_call>", .tagged = &kGlmTags};
constexpr CallFormat kDeepSeekV32 = {
    .open = "<｜DSML｜function_calls>", .close = "</｜DSML｜function_calls>", .tagged = &kDeepSeekTags};
constexpr CallFormat kDeepSeekV4 = {
    .open = "<｜DSML｜tool_calls>", .close = "</｜DSML｜tool_calls>", .tagged = &kDeepSeekTags};
constexpr CallFormat kDeepSeekV3 = {.open = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                                    .close = "\n```<｜tool▁call▁end｜>",
                                    .separator = "\n```json\n",
                                    .section_open = "<｜tool▁calls▁begin｜>",
                                    .section_close = "<｜tool▁calls▁end｜>"};
constexpr CallFormat kDeepSeekV31 = {.open = "<｜tool▁call▁begin｜>",
                                     .close = "<｜tool▁call▁end｜>",
                                     .separator = "<｜tool▁sep｜>",
                                     .section_open = "<｜tool▁calls▁begin｜>",
                                     .section_close = "<｜tool▁calls▁end｜>"};
constexpr CallFormat kKimi = {.open = "<|tool_call_begin|>functions.",
                              .close = "<|tool_call_end|>",
                              .separator = "<|tool_call_argument_begin|>",
                              .section_open = "<|tool_calls_section_begin|>",
                              .section_close = "<|tool_calls_section_end|>",
                              .has_number = true};
constexpr CallFormat kCommandA = {.open = "<|START_ACTION|>",
                                  .close = "<|END_ACTION|>",
                                  .name = "tool_name",
                                  .arguments = "parameters",
                                  .is_list = true,
                                  .has_number = true,
                                  .number_key = "tool_call_id"};
constexpr CallFormat kCommandR = {.open = "Action:",
                                  .close = "```",
                                  .name = "tool_name",
                                  .arguments = "parameters",
                                  .is_list = true,
                                  .fence = "```json"};
constexpr CallFormat kGranite = {.open = "<|tool_call|>", .is_list = true};
constexpr CallFormat kApriel = {.open = "<tool_calls>", .close = "</tool_calls>", .is_list = true};
constexpr CallFormat kHermes = {.open = "<tool_call>", .close = "</tool_call>"};
constexpr CallFormat kLlama = {
    .open = "<|python_tag|>", .arguments = "parameters", .is_bare = true, .is_python = true};
constexpr CallFormat kGemma = {
    .open = "```tool_code", .close = "```", .arguments = "parameters", .is_bare = true, .is_python = true};

// The first row decides for which the template has all texts of `with`, and no text of `without`.
struct Row {
  const CallFormat* calls;
  Texts with, without = {};
  Texts silent = {};
};

const std::vector<Row>& format_rows() {
  static const std::vector<Row> all = {
      {&kHarmony, {"<|channel|>", "<|message|>"}, {}, {"<|end|>", "<|return|>", "<|call|>", "<|start|>"}},
      {&kNewMistral, {"[TOOL_CALLS]", "[ARGS]"}},
      {&kMistral, {"[TOOL_CALLS]"}},
      {&kSeed, {"<seed:tool_call>", "<parameter="}},
      {&kQwenCoder, {"<tool_call>", "<parameter="}},
      {&kMiniMax, {"<minimax:tool_call>", "<invoke name="}},
      {&kGlm, {"<tool_call>", "<arg_key>"}},
      {&kDeepSeekV32, {"｜DSML｜", "function_calls"}},
      {&kDeepSeekV4, {"｜DSML｜", "tool_calls>"}},
      {&kDeepSeekV3, {"<｜tool▁call▁begin｜>", "```json"}},
      {&kDeepSeekV31, {"<｜tool▁call▁begin｜>"}},
      {&kKimi, {"<|tool_call_argument_begin|>"}},
      {&kCommandA,
       {"<|START_ACTION|>"},
       {},
       {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"}},
      {&kCommandR, {"Action:", "tool_name"}},
      {&kApriel, {"<tool_calls>["}},
      // Other tags, which are not read.
      {nullptr, {"<parameter="}},
      {nullptr, {"<arg_key>"}},
      {nullptr, {"<invoke"}},
      {&kFunctionary, {"<function=", "</function>"}},
      {&kGranite, {"<|tool_call|>"}, {"<|/tool_call|>"}, {"<response>", "</response>"}},
      {&kHermes, {"<tool_call>"}},
      {&kLlama, {"<|start_header_id|>", "parameters"}, {">>>"}},
      {&kGemma, {"<start_of_turn>"}},
  };
  return all;
}

ReasoningMarks find_reasoning(std::string_view text) {
  for (const ReasoningMarks marks : {ReasoningMarks{"<think>", "</think>"},
                                     {"[THINK]", "[/THINK]"},
                                     {"<|START_THINKING|>", "<|END_THINKING|>"}})
    if (text.find(marks.open) != text.npos) return marks;
  return {};
}

// A mark on its own line.
std::string line_of(std::string_view mark, bool before) {
  if (mark.empty()) return "";
  return (before ? "\n" : "") + std::string(mark) + (before ? "" : "\n");
}

// A mark, and the special tokens in it: <|x|>.
void add_with_tokens(std::string_view mark, Texts& all) {
  all.push_back(mark);
  constexpr std::pair<std::string_view, std::string_view> kBrackets[] = {{"<|", "|>"}, {"<｜", "｜>"}};
  for (const auto& [open, close] : kBrackets)
    for (std::size_t begin = 0; (begin = mark.find(open, begin)) != mark.npos;) {
      const std::size_t end = mark.find(close, begin);
      if (end == mark.npos) break;
      all.push_back(mark.substr(begin, end + close.size() - begin));
      begin = end;
    }
}

// json.dumps(value), as templates write it.
std::string python_json(const Json& value) {
  static const JinjaTemplate dumps("{{ value | tojson }}", "json.dumps");
  return dumps.render({{"value", value}});
}

}  // namespace

// A mark that may be left out is left out, unless something has to end the call. Those of lists surround all.
std::string call_begin(const CallFormat& format, const std::string& name) {
  const std::string number = format.has_number ? std::string(1, kNumber) : "";
  if (format.tagged != nullptr)
    return fmt::format("{}{}{}{}\n", line_of(format.open, false), format.tagged->name_open, name,
                       strip_end(format.tagged->name_close));
  if (!format.separator.empty())
    return fmt::format("{}{}{}{}{}", format.open, name, number.empty() ? "" : ":", number, format.separator);
  const bool marked = !format.is_list && !(format.is_bare && format.close.empty());
  const std::string key =
      format.number_key.empty() ? "" : fmt::format("\"{}\": \"{}\", ", format.number_key, number);
  return fmt::format("{}{{{}\"{}\": {}, \"{}\": ", marked ? line_of(format.open, false) : "", key,
                     format.name, Json(name).dump(), format.arguments);
}

std::string call_end(const CallFormat& format) {
  if (format.tagged != nullptr) return std::string(format.tagged->end) + line_of(format.close, true);
  if (!format.separator.empty()) return std::string(format.close);
  return format.is_list ? "}" : "}" + line_of(format.close, true);
}

std::vector<std::string> AnswerFormat::marks() const {
  Texts all = silent;
  for (const std::string_view mark : {reasoning.open, reasoning.close}) all.push_back(mark);
  if (calls != nullptr)
    for (const std::string_view mark :
         {calls->open, calls->close, calls->separator, calls->section_open, calls->section_close})
      add_with_tokens(mark, all);
  if (calls != nullptr && calls->has_headers)
    for (const std::string_view mark : {"<|channel|>", "<|constrain|>"}) all.push_back(mark);
  std::vector<std::string> marks;
  for (const std::string_view mark : all)
    if (!mark.empty() && std::ranges::find(marks, mark) == marks.end()) marks.emplace_back(mark);
  return marks;
}

AnswerFormat recognize_answers(std::string_view chat_template) {
  const auto has = [&](std::string_view text) { return chat_template.find(text) != chat_template.npos; };
  AnswerFormat format;
  format.reasoning = find_reasoning(chat_template);
  format.knows_tools = has("tools");
  for (const Row& row : format_rows()) {
    if (!std::ranges::all_of(row.with, has) || std::ranges::any_of(row.without, has)) continue;
    format.calls = row.calls;
    format.silent = row.silent;
    if (row.calls != nullptr)
      for (const std::string_view mark : {row.calls->section_open, row.calls->section_close})
        if (!mark.empty()) format.silent.push_back(mark);
    if (row.calls != nullptr && row.calls->has_headers)
      format.reasoning = {"<|channel|>analysis<|message|>", "<|end|>"};
    break;
  }
  if (!format.knows_tools && format.calls == nullptr) format.calls = &kHermes;
  return format;
}

std::string written_tools(const Json& tools, const CallFormat& format) {
  std::string text = "You can call functions. Each line describes one:\n";
  for (const Json& tool : tools)
    text += python_json(tool.contains("function") ? tool.at("function") : tool) + "\n";
  const Json call = {{"name", "NAME"}, {"arguments", {{"ARGUMENT", "VALUE"}}}};
  return text + "To call a function, write its name and its arguments in this form:\n" +
         written_calls(Json::array({call}), format) + "\nThe next message has its result.";
}

std::string written_calls(const Json& tool_calls, const CallFormat& format) {
  std::string text;
  for (const Json& each : tool_calls) {
    const Json& function = each.contains("function") ? each.at("function") : each;
    const Json arguments = function.value("arguments", Json::object());
    if (!text.empty()) text += format.is_list ? ", " : "\n";
    text += call_begin(format, function.value("name", "")) +
            (arguments.is_string() ? arguments.get<std::string>() : python_json(arguments)) +
            call_end(format);
  }
  return format.is_list ? fmt::format("{}[{}]{}", format.open, text, format.close) : text;
}

}  // namespace attend
