#include "tasks/chat/chat_turn.h"

#include "base/error.h"
#include "base/log.h"
#include "base/python_text.h"
#include "generation/forms/json_schema.h"
#include "generation/text_stream.h"
#include "tasks/chat/call_ids.h"

#include <algorithm>

namespace attend {
namespace {

// A message with all its fields.
Json fields_of(const ChatMessage& message) {
  if (message.fields.empty()) return {{"role", message.role}, {"content", message.content}};
  return Fields(parse_json(message.fields, "a message"), "a message").json();
}

// Templates write arguments as JSON, so they expect the value, whereas OpenAI's API has its text.
void read_arguments(Json& message) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array()) return;
  for (Json& call : *calls) {
    if (!call.is_object()) continue;
    Json& function = call.contains("function") ? call["function"] : call;
    if (!function.is_object() || !function.contains("arguments") || !function["arguments"].is_string())
      continue;
    try {
      Json arguments = parse_json(function["arguments"].get<std::string>(), "arguments");
      if (arguments.is_object()) function["arguments"] = std::move(arguments);
    } catch (const Error&) {  // keeps the model's text
    }
  }
  if (message.value("content", Json()).is_null()) message["content"] = "";
}

bool has_calls(const Json& message) {
  const auto calls = message.find("tool_calls");
  return calls != message.end() && calls->is_array() && !calls->empty();
}

// A text, or the texts of its parts.
std::string content_text(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (content.is_array())
    for (const Json& part : content)
      if (part.is_object()) text += part.value("text", "");
  return text;
}

Json check_tools(const Json& tools) {
  if (tools.is_null()) return Json::array();
  if (!tools.is_array()) fail("tools: expected a list, found {}", shown(tools));
  for (const Json& tool : tools) {
    const std::string what = fmt::format("tools: tool {}", &tool - &tools.front() + 1);
    const Fields fields(tool, what);
    const Fields function(fields.has({"function"}) ? tool.at("function") : tool, what);
    if (function.text({"name"}).empty()) fail("{}: expected a name, found an empty text", what);
    const Json parameters = function.json().value("parameters", Json());
    if (!parameters.is_null() && !parameters.is_object())
      fail("{}: parameters: expected a JSON schema, found {}", what, shown(parameters));
  }
  return tools;
}

// Throws Error with the tool's name for a tool whose arguments cannot be constrained to its schema.
void check_schema_of(const Json& tool) {
  try {
    readable_json_schema(tool_schema(tool).dump());
  } catch (const Error& error) {
    fail("tools: {}: {}, or say \"strict\": false", tool_name(tool), error.what());
  }
}

}  // namespace

ChatTurn::ChatTurn(const ChatTemplate& chat_template, Json variables, const std::string& tool_choice,
                   bool parallel_tool_calls)
    : template_(&chat_template), variables_(std::move(variables)), parallel_(parallel_tool_calls) {
  tools_ = check_tools(variables_.value("tools", Json()));
  // Removes the tools, so that the model cannot call any.
  if (tool_choice == "none" || tools_.empty()) variables_.erase("tools");
  format_ = recognize_answers(chat_template.text(variables_));
  if (tool_choice != "none") read_tools(tool_choice);
  if (!format_.knows_tools) variables_.erase("tools");
}

void ChatTurn::read_tools(const std::string& tool_choice) {
  const bool is_named = tool_choice != "auto" && tool_choice != "required";
  if (tools_.empty()) {
    if (tool_choice != "auto") fail("tool_choice: expected tools to choose from, found none");
    return;
  }
  for (const Json& tool : tools_) names_.push_back(tool_name(tool));
  if (is_named && std::ranges::find(names_, tool_choice) == names_.end())
    fail("tool_choice: there is no tool {}", tool_choice);
  if (is_named || tool_choice == "required") choice_ = ToolChoice::required;
  if (format_.calls == nullptr) {
    if (choice_ == ToolChoice::required)
      fail("tool_choice: the model's chat template writes calls in a form that is not known; leave it out");
    warn("the model's chat template writes calls in a form that is not known: they stay in the text");
    names_.clear();
    return;
  }
  callable_ = Json::array();
  for (const Json& tool : tools_)
    if (!is_named || tool_name(tool) == tool_choice) callable_.push_back(tool);
  for (const Json& tool : callable_) check_schema_of(tool);
  if (!format_.knows_tools) tool_text_ = written_tools(tools_, *format_.calls);
}

// Some templates describe tools, but leave out the calls of earlier answers, or the results.
ChatTurn::Written ChatTurn::written_by_template(std::span<const ChatMessage> messages) const {
  const auto has_call = [](const ChatMessage& each) { return has_calls(fields_of(each)); };
  if (!format_.knows_tools) return {false, false};
  if (format_.calls == nullptr || !format_.calls->may_be_text() || std::ranges::none_of(messages, has_call))
    return {};
  constexpr const char *kName = "a_name_that_no_template_has", *kResult = "a result that no template has";
  Json calls = {{{"id", "000000000"},
                 {"type", "function"},
                 {"function", {{"name", kName}, {"arguments", Json::object()}}}}};
  const Json answer = {{"role", "assistant"}, {"content", ""}, {"tool_calls", std::move(calls)}};
  const Json result = {
      {"role", "tool"}, {"tool_call_id", "000000000"}, {"name", kName}, {"content", kResult}};
  Json variables = variables_;
  variables["add_generation_prompt"] = false;
  variables.erase("continue_final_message");
  try {
    const std::vector<ChatMessage> probe = {
        {"user", "Hi"}, {"assistant", "", answer.dump()}, {"tool", "", result.dump()}};
    const std::string text = template_->prompt(probe, variables);
    return {text.find(kName) != text.npos, text.find(kResult) != text.npos};
  } catch (const Error&) {  // the conversation itself will say why
    return {};
  }
}

// What the template does not write becomes text.
void ChatTurn::write_as_text(Json& message, const Written& written) const {
  std::string text = content_text(message.value("content", Json()));
  if (has_calls(message) && !written.calls) {
    text += (text.empty() ? "" : "\n") + written_calls(message["tool_calls"], *format_.calls);
    message = {{"role", "assistant"}, {"content", text}};
  } else if (message.value("role", "") == "tool" && !written.results) {
    message = {{"role", "user"}, {"content", fmt::format("<tool_response>\n{}\n</tool_response>", text)}};
  }
}

std::vector<ChatMessage> ChatTurn::readable(std::span<const ChatMessage> messages) const {
  const Written written = written_by_template(messages);
  std::vector<ChatMessage> result;
  bool described = tool_text_.empty(), joins = false;
  CallIdWriter ids(format_.calls == nullptr ? CallIds::any : format_.calls->ids);
  for (const ChatMessage& each : messages) {
    if (each.fields.empty() && (described || each.role != "user")) {
      result.push_back(each);
      joins = false;
      continue;
    }
    Json message = fields_of(each);
    const bool is_result = message.value("role", "") == "tool";
    read_arguments(message);
    ids.rewrite(message);
    // gpt-oss uses another name for it.
    if (format_.calls != nullptr && format_.calls->has_headers && message.contains("reasoning_content"))
      message["thinking"] = message["reasoning_content"];
    write_as_text(message, written);
    if (!described && message.value("role", "") == "user") {
      message = {{"role", "user"},
                 {"content", tool_text_ + "\n\n" + content_text(message.value("content", Json()))}};
      described = true;
    }
    const bool is_text = message.size() == 2 && message.contains("role") && message.contains("content") &&
                         message["content"].is_string();
    ChatMessage ready{message.value("role", ""), is_text ? message["content"].get<std::string>() : "",
                      is_text ? "" : message.dump()};
    // Several results become one message, because such a template may require alternating turns.
    if (joins && is_result && !written.results)
      result.back().content += "\n" + ready.content;
    else
      result.push_back(std::move(ready));
    joins = is_result;
  }
  return result;
}

std::string ChatTurn::prompt(std::span<const ChatMessage> messages) const {
  return template_->prompt(readable(messages), variables_);
}

bool ChatTurn::in_reasoning(const std::string& prompt) const {
  const std::string_view open = format_.reasoning.open;
  return !open.empty() && strip_end(prompt).ends_with(open);
}

std::vector<std::string> ChatTurn::set_form(GenerationConfig& config, const Tokenizer& tokenizer,
                                            const std::string& prompt) const {
  // With headers an answer has several messages, so the end of a message does not end it.
  const bool has_headers = format_.calls != nullptr && format_.calls->has_headers;
  const std::vector<std::string> endings = has_headers
                                               ? end_answers(config, {"<|return|>", "<|call|>"}, tokenizer)
                                               : end_answers(config, {template_->end_of_answer()}, tokenizer);
  if (callable_.empty()) return endings;
  AnswerRules rules{choice_, parallel_, in_reasoning(prompt)};
  if (config.form) {
    if (config.form->kind != TextForm::Kind::json_schema)
      fail("tools: expected no regex, grammar or structural_tag, because an answer has one form");
    if (choice_ == ToolChoice::automatic) rules.content = parse_json(config.form->text, "json_schema");
  }
  config.form = TextForm{TextForm::Kind::structural_tag, answer_structure(format_, callable_, rules).dump()};
  return endings;
}

std::vector<TokenId> ChatTurn::shown_tokens(const Tokenizer& tokenizer) const {
  std::vector<TokenId> shown;
  for (const std::string& mark : format_.marks())
    if (const auto id = tokenizer.token_to_id(mark); id && is_special(tokenizer, *id)) shown.push_back(*id);
  return shown;
}

AnswerParser ChatTurn::parser(const std::string& prompt) const {
  Json schemas = Json::object();
  for (const Json& tool : tools_) schemas[tool_name(tool)] = tool_schema(tool);
  return AnswerParser(format_, names_, in_reasoning(prompt), std::move(schemas));
}

AnswerPieces AnswerReader::put(const std::string& more) {
  std::string text = text_.put(more);
  if (parser_) return parser_->put(text);
  return {std::move(text)};
}

AnswerPieces AnswerReader::finish() {
  std::string text = text_.finish();
  if (!parser_) return {std::move(text)};
  AnswerPieces pieces = parser_->put(text);
  pieces.append(parser_->finish());
  return pieces;
}

void WholeAnswer::add(const AnswerPieces& pieces) {
  content += pieces.content;
  reasoning += pieces.reasoning;
  for (const ToolCallPiece& piece : pieces.calls) {
    if (piece.index >= calls.size()) calls.resize(piece.index + 1);
    calls[piece.index].name += piece.name;
    calls[piece.index].arguments += piece.arguments;
  }
}

ChatMessage answer_message(const WholeAnswer& answer) {
  if (answer.reasoning.empty() && answer.calls.empty()) return {"assistant", answer.content};
  Json message = {{"role", "assistant"}, {"content", answer.content}};
  if (!answer.reasoning.empty()) message["reasoning_content"] = answer.reasoning;
  for (const ToolCall& call : answer.calls)
    message["tool_calls"].push_back({{"id", call.id},
                                     {"type", "function"},
                                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  read_arguments(message);
  return {"assistant", answer.content, message.dump()};
}

}  // namespace attend
