#include "serve/models/prompts.h"

#include "base/error.h"

#include <limits>

namespace attend::serve {
namespace {

// Text, or parts that are text.
std::string read_content(const Json& content) {
  if (content.is_null()) return "";
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  for (const Json& part : content) text += part.at("text").get<std::string>();
  return text;
}

}  // namespace

RequestField prompt_field() {
  const Json id = schema::integer(0, std::numeric_limits<std::int32_t>::max());
  return {"prompt",
          schema::any_of({schema::text(), schema::list(schema::text(), 1), schema::list(id, 1),
                          schema::list(schema::list(id, 1), 1)}),
          "a text, or the ids of its tokens, or several of either", true, true};
}

namespace {

RequestField messages_field() {
  using namespace schema;  // NOLINT(google-build-using-namespace)
  const Json part = object({{"type", one_of({"text"})}, {"text", text()}}, {"type", "text"});
  const Json call = object(
      {{"id", text()},
       {"type", one_of({"function"})},
       {"index", integer(0)},
       {"function", object({{"name", name()}, {"arguments", any_of({text(), any_object()})}}, {"name"})}},
      {"function"});
  // The fields in addition to content, which OpenAI's client repeats from an earlier answer, may be null.
  const Json message = object({{"role", name()},
                               {"content", any_of({text(), list(part), nothing()})},
                               {"name", or_null(text())},
                               {"tool_calls", or_null(list(call))},
                               {"tool_call_id", or_null(text())},
                               {"reasoning_content", or_null(text())},
                               {"refusal", or_null(text())},
                               {"annotations", or_null(list(anything(), 0, 0))},
                               {"function_call", nothing()},
                               {"audio", nothing()}},
                              {"role"});
  return {"messages", list(message, 1), "the conversation so far, written by the model's chat template",
          true};
}

ChatMessage read_message(const Json& message) {
  const auto role = message.at("role").get<std::string>();
  ChatMessage result{role == "developer" ? "system" : role, read_content(message.value("content", Json()))};
  Json fields = {{"role", result.role}, {"content", result.content}};
  for (const char* field : {"name", "tool_calls", "tool_call_id", "reasoning_content"})
    if (const Json value = message.value(field, Json());
        !value.is_null() && !(value.is_array() && value.empty()))
      fields[field] = value;
  if (fields.size() > 2) result.fields = fields.dump();
  return result;
}

}  // namespace

RequestFields chat_fields() {
  using namespace schema;  // NOLINT(google-build-using-namespace)
  const Json function = object({{"name", name()},
                                {"description", or_null(text())},
                                {"parameters", or_null(any_object())},
                                {"strict", or_null(flag())}},
                               {"name"});
  const Json tool = object({{"type", one_of({"function"})}, {"function", function}}, {"type", "function"});
  const Json named =
      object({{"type", one_of({"function"})}, {"function", object({{"name", name()}}, {"name"})}},
             {"type", "function"});
  return {messages_field(),
          {"tools", list(tool), "functions that the model may call; arguments are held to their schemas"},
          {"tool_choice", any_of({one_of({"none", "auto", "required"}), named}),
           "auto: the model decides; required: it calls at least one; a function: it calls that one"},
          {"parallel_tool_calls", flag(), "false: one call in an answer"},
          {"documents", list(any_of({any_object(), text()})), "for chat templates that write documents"},
          {"reasoning_effort", text(), "for chat templates that have it, such as gpt-oss's"},
          {"chat_template_kwargs", any_object(),
           "other variables of the chat template, such as {\"enable_thinking\": false}"}};
}

std::vector<QueueRequest> read_prompts(const Fields& body, std::size_t max) {
  const Json& prompt = body.json().at("prompt");
  const bool is_list = prompt.is_array();
  const bool several = is_list && !prompt.front().is_number();
  const Json list = several ? prompt : Json::array({prompt});
  if (list.size() > max) fail("prompt: expected at most {} texts, found {}", max, list.size());
  std::vector<QueueRequest> all;
  for (const Json& each : list) {
    QueueRequest& request = all.emplace_back();
    if (each.is_string())
      request.prompt = each.get<std::string>();
    else
      for (const Json& id : each) request.ids.push_back(static_cast<TokenId>(id.get<double>()));
    request.source_language = body.text({"src_lang"}, "");
    request.target_language = body.text({"tgt_lang"}, "");
  }
  return all;
}

QueueRequest read_chat(const Fields& body) {
  QueueRequest request;
  for (const Json& message : body.json().at("messages")) request.messages.push_back(read_message(message));
  Json variables = body.json().value("chat_template_kwargs", Json::object());
  if (variables.is_null()) variables = Json::object();
  for (const char* name : {"tools", "documents", "reasoning_effort"})
    if (body.has({name})) variables[name] = body.json().at(name);
  request.chat_variables = variables.dump();
  if (body.has({"tool_choice"})) {
    const Json& choice = body.json().at("tool_choice");
    request.tool_choice = (choice.is_string() ? choice : choice.at("function").at("name")).get<std::string>();
  }
  request.parallel_tool_calls = body.flag({"parallel_tool_calls"}, true);
  return request;
}

}  // namespace attend::serve
