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
constexpr CallFormat kMistral = {.open = "[TOOL_CALLS]", .is_list = true, .ids = CallIds::nine_letters};
constexpr CallFormat kMistralSmall = {
    .open = "[TOOL_CALLS]", .separator = "[ARGS]", .id_mark = "[CALL_ID]", .ids = CallIds::nine_letters};
constexpr CallFormat kNewMistral = {
    .open = "[TOOL_CALLS]", .separator = "[ARGS]", .ids = CallIds::nine_letters};
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
constexpr TaggedArguments kMiniCpmTags = {"", "\">", "<param name=\"", "\">", "", "</param>", "", ""};
constexpr TaggedArguments kHunyuanTags = {"",
                                          "<tool_sep:opensource>",
                                          "<arg_key:opensource>",
                                          "</arg_key:opensource>",
                                          "<arg_value:opensource>",
                                          "</arg_value:opensource>",
                                          "",
                                          ""};
constexpr CallFormat with_tags(std::string_view open, std::string_view close, const TaggedArguments& tags) {
  return {.open = open, .close = close, .notation = CallNotation::tagged, .tagged = &tags};
}
constexpr CallFormat kQwenCoder = with_tags("<tool_call>", "</tool_call>", kQwenTags);
constexpr CallFormat kSeed = with_tags("<seed:tool_call>", "</seed:tool_call>", kQwenTags);
constexpr CallFormat kMiniMax = with_tags("<minimax:tool_call>", "</minimax:tool_call>", kMiniMaxTags);
constexpr CallFormat kGlm = with_tags("<tool_call>", "</tool_call>", kGlmTags);
constexpr CallFormat kDeepSeekV32 =
    with_tags("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", kDeepSeekTags);
constexpr CallFormat kDeepSeekV4 = with_tags("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", kDeepSeekTags);
constexpr CallFormat kMiniCpm = {.open = "<function name=\"",
                                 .close = "</function>",
                                 .has_lines = false,
                                 .notation = CallNotation::tagged,
                                 .tagged = &kMiniCpmTags};
constexpr CallFormat kHunyuan = {.open = "<tool_call:opensource>",
                                 .close = "</tool_call:opensource>",
                                 .has_lines = false,
                                 .section_open = "<tool_calls:opensource>",
                                 .section_close = "</tool_calls:opensource>",
                                 .notation = CallNotation::tagged,
                                 .tagged = &kHunyuanTags};
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
                              .has_number = true,
                              .ids = CallIds::name_and_number};
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
constexpr CallFormat kNemotron = {.open = "<TOOLCALL>", .close = "</TOOLCALL>", .is_list = true};
constexpr CallFormat kFirefunction = {.open = "functools", .is_list = true};
constexpr CallFormat kApertus = {
    .open = "<|tools_prefix|>", .close = "<|tools_suffix|>", .name = "", .is_list = true};
constexpr CallFormat kMiniMaxM1 = {.open = "<tool_calls>",
                                   .close = "</tool_calls>",
                                   .is_list = true,
                                   .list_open = "\n",
                                   .list_close = "\n",
                                   .list_separator = "\n"};
constexpr CallFormat kGigaChat = {.open = "<|function_call|>", .has_lines = false};
constexpr CallFormat kLiquid = {.open = "<|tool_call_start|>",
                                .close = "<|tool_call_end|>",
                                .is_list = true,
                                .notation = CallNotation::python};
constexpr CallFormat kGemma4 = {.open = "<|tool_call>call:",
                                .close = "<tool_call|>",
                                .has_lines = false,
                                .notation = CallNotation::unquoted};
constexpr CallFormat kHermes = {.open = "<tool_call>", .close = "</tool_call>"};
constexpr CallFormat kLlama = {
    .open = "<|python_tag|>", .arguments = "parameters", .notation = CallNotation::python, .is_bare = true};
constexpr CallFormat kGemma = {.open = "```tool_code",
                               .close = "```",
                               .arguments = "parameters",
                               .notation = CallNotation::python,
                               .is_bare = true};

// The first row decides for which the template has all texts of `with`, and no text of `without`.
struct Row {
  const CallFormat* calls;
  Texts with, without = {};
  Texts silent = {};
};

const std::vector<Row>& format_rows() {
  static const std::vector<Row> all = {
      {&kHarmony, {"<|channel|>", "<|message|>"}, {}, {"<|end|>", "<|return|>", "<|call|>", "<|start|>"}},
      {&kMistralSmall, {"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"}},
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
      {&kMiniMaxM1, {"<tool_calls>", "</tool_calls>", "beginning_of_sentence"}},
      {&kNemotron, {"<TOOLCALL>"}},
      {&kApertus, {"<|tools_prefix|>"}},
      {&kGigaChat, {"<|function_call|>"}},
      {&kLiquid, {"<|tool_call_start|>"}},
      {&kLiquid, {"<|tool_list_start|>"}},
      {&kLiquid, {"List of tools: ["}},
      {&kGemma4, {"<|tool_call>"}, {}, {"<|tool_response>", "<|channel>", "<channel|>"}},
      {&kFirefunction, {"functools["}},
      {&kMiniCpm, {"<function name=", "<param name="}},
      {&kHunyuan, {"<tool_call{}>", ":opensource", "<arg_key{}>"}},
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
                                     {"<|channel>thought", "<channel|>"},
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

bool CallFormat::holds_arguments() const {
  if (notation == CallNotation::tagged) return !tagged->style.empty();
  return notation != CallNotation::unquoted;
}

// A JSON object without a mark at its end is the last part of an answer.
bool CallFormat::may_repeat() const {
  return !has_headers && (is_list || !separator.empty() || !close.empty());
}

// A mark that may be left out is left out, unless something has to end the call. Those of lists surround all.
std::string call_begin(const CallFormat& format, const std::string& name) {
  const std::string number = format.has_number ? std::string(1, kNumber) : "";
  const std::string open = format.has_lines ? line_of(format.open, false) : std::string(format.open);
  if (format.notation == CallNotation::tagged) {
    const std::string_view end = format.tagged->name_close;
    return fmt::format("{}{}{}{}{}", open, format.tagged->name_open, name,
                       format.has_lines ? strip_end(end) : end, format.has_lines ? "\n" : "");
  }
  if (format.notation == CallNotation::unquoted) return fmt::format("{}{}{{", open, name);
  if (!format.separator.empty())
    return fmt::format("{}{}{}{}{}", format.open, name, number.empty() ? "" : ":", number, format.separator);
  const bool marked = !format.is_list && !(format.is_bare && format.close.empty());
  const std::string text = Json(name).dump();
  if (format.name.empty()) return fmt::format("{{{}: ", text);
  const std::string key =
      format.number_key.empty() ? "" : fmt::format("\"{}\": \"{}\", ", format.number_key, number);
  return fmt::format("{}{{{}\"{}\": {}, \"{}\": ", marked ? open : "", key, format.name, text,
                     format.arguments);
}

std::string call_end(const CallFormat& format) {
  const std::string close = format.has_lines ? line_of(format.close, true) : std::string(format.close);
  if (format.notation == CallNotation::tagged) return std::string(format.tagged->end) + close;
  if (!format.separator.empty()) return std::string(format.close);
  return format.is_list ? "}" : "}" + close;
}

namespace {

// f(a=1, b='x')
std::string python_call(const std::string& name, const Json& arguments) {
  std::string text;
  static const JinjaTemplate repr("{{ ([value] | string)[1:-1] }}", "repr");
  for (const auto& [key, value] : arguments.items())
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, repr.render({{"value", value}}));
  return fmt::format("{}({})", name, text);
}

std::string written_call(const CallFormat& format, const std::string& name, const Json& arguments,
                         std::size_t number) {
  if (format.is_list && format.notation == CallNotation::python) {
    const Json value =
        arguments.is_string() ? parse_json(arguments.get<std::string>(), "arguments") : arguments;
    return python_call(name, value);
  }
  std::string begin = call_begin(format, name);
  if (const std::size_t at = begin.find(kNumber); at != begin.npos)
    begin.replace(at, 1, std::to_string(number));
  return begin + (arguments.is_string() ? arguments.get<std::string>() : python_json(arguments)) +
         call_end(format);
}

}  // namespace

std::vector<std::string> AnswerFormat::marks() const {
  Texts all = silent;
  for (const std::string_view mark : {reasoning.open, reasoning.close}) all.push_back(mark);
  if (calls != nullptr)
    for (const std::string_view mark : {calls->open, calls->close, calls->separator, calls->id_mark,
                                        calls->section_open, calls->section_close})
      add_with_tokens(mark, all);
  if (calls != nullptr && calls->notation == CallNotation::unquoted)
    for (const std::string_view mark : {"<|tool_call>", "<|\"|>"}) all.push_back(mark);
  if (calls != nullptr && calls->tagged != nullptr && calls->tagged->style.empty())
    for (const std::string_view mark :
         {calls->tagged->name_close, calls->tagged->key_open, calls->tagged->key_close,
          calls->tagged->value_open, calls->tagged->value_close})
      all.push_back(mark);
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
  std::size_t number = 0;
  for (const Json& each : tool_calls) {
    const Json& function = each.contains("function") ? each.at("function") : each;
    const Json arguments = function.value("arguments", Json::object());
    if (number > 0) text += format.is_list ? format.list_separator : format.section_open.empty() ? "\n" : "";
    text += written_call(format, function.value("name", ""), arguments, number++);
  }
  if (format.is_list)
    return fmt::format("{}{}{}{}{}", format.open, format.list_open, text, format.list_close, format.close);
  return fmt::format("{}{}{}", format.section_open, text, format.section_close);
}

}  // namespace attend
