#include "serve/response_routes.h"

#include "base/error.h"
#include "serve/generation_fields.h"
#include "serve/response.h"

#include <limits>

namespace attend::serve {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

Endpoint responses(const ServedModels& models) {
  const Json part = object({{"type", one_of({"input_text", "output_text", "text"})},
                            {"text", text()},
                            {"annotations", list(anything(), 0, 0)},
                            {"logprobs", list(anything(), 0, 0)}},
                           {"type", "text"});
  const Json message = object({{"type", one_of({"message"})},
                               {"role", name()},
                               {"content", any_of({text(), list(part)})},
                               {"id", text()},
                               {"status", text()}},
                              {"role", "content"});
  const Json call = object({{"type", one_of({"function_call"})},
                            {"call_id", text()},
                            {"name", name()},
                            {"arguments", text()},
                            {"id", any_of({text(), nothing()})},
                            {"status", any_of({text(), nothing()})}},
                           {"type", "call_id", "name", "arguments"});
  const Json result = object({{"type", one_of({"function_call_output"})},
                              {"call_id", text()},
                              {"output", text()},
                              {"id", any_of({text(), nothing()})},
                              {"status", any_of({text(), nothing()})}},
                             {"type", "call_id", "output"});
  const Json tool = object({{"type", one_of({"function"})},
                            {"name", name()},
                            {"description", any_of({text(), nothing()})},
                            {"parameters", any_of({any_object(), nothing()})},
                            {"strict", any_of({flag(), nothing()})}},
                           {"type", "name"});
  const Json chosen = object({{"type", one_of({"function"})}, {"name", name()}}, {"type", "name"});
  const RequestFields own = {
      models.field(),
      {"input", any_of({text(), list(any_of({message, call, result}), 1)}),
       "a text of the user, or the conversation so far, with calls of tools and their results", true},
      {"tools", list(tool), "functions that the model may call; arguments are held to their schemas"},
      {"tool_choice", any_of({one_of({"none", "auto", "required"}), chosen}),
       "auto: the model decides; required: it calls at least one; a function: it calls that one"},
      {"parallel_tool_calls", flag(), "false: one call in an answer"},
      {"instructions", text(), "what the system says before it"},
      {"max_output_tokens", integer(1),
       "maximum number of new tokens; 256 if neither the request nor the model sets it"},
      {"stream", flag(), "events as the text comes, as server-sent events"},
      {"seed", integer(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()),
       "of what is drawn: the same seed, the same text"},
      {"store", flag(), "has no effect: the server keeps nothing"},
      {"metadata", any_object(), "comes back"},
      {"user", text(), "has no effect"}};
  return {.path = "/v1/responses",
          .group = "texts",
          .summary = "The next turn of a conversation, in the form of OpenAI's newer API",
          .fields = own + config_fields(),
          .reply = object({{"id", text()}, {"object", one_of({"response"})}, {"output", list(any_object())}},
                          {"id", "object", "output"}),
          .streams = true};
}

// Calls belong to the preceding message of the assistant.
void add_call(std::vector<ChatMessage>& messages, const Json& item) {
  const Json call = {{"id", item.at("call_id")},
                     {"type", "function"},
                     {"function", {{"name", item.at("name")}, {"arguments", item.at("arguments")}}}};
  if (messages.empty() || messages.back().role != "assistant") messages.push_back({"assistant", ""});
  ChatMessage& message = messages.back();
  Json fields = message.fields.empty() ? Json{{"role", message.role}, {"content", message.content}}
                                       : parse_json(message.fields, "a message");
  fields["tool_calls"].push_back(call);
  message.fields = fields.dump();
}

std::vector<ChatMessage> conversation_of(const Fields& body) {
  std::vector<ChatMessage> messages;
  if (body.has({"instructions"})) messages.push_back({"system", body.text({"instructions"})});
  const Json& input = body.json().at("input");
  if (input.is_string()) {
    messages.push_back({"user", input.get<std::string>()});
    return messages;
  }
  for (const Json& each : input) {
    const std::string type = each.value("type", "message");
    if (type == "function_call") {
      add_call(messages, each);
      continue;
    }
    if (type == "function_call_output") {
      const auto output = each.at("output").get<std::string>();
      const Json message = {{"role", "tool"}, {"tool_call_id", each.at("call_id")}, {"content", output}};
      messages.push_back({"tool", output, message.dump()});
      continue;
    }
    const auto role = each.at("role").get<std::string>();
    const Json& content = each.at("content");
    std::string text = content.is_string() ? content.get<std::string>() : "";
    if (content.is_array())
      for (const Json& part : content) text += part.at("text").get<std::string>();
    messages.push_back({role == "developer" ? "system" : role, std::move(text)});
  }
  return messages;
}

QueueRequest request_of(const Fields& body) {
  QueueRequest request;
  request.messages = conversation_of(body);
  Json tools = Json::array();
  for (const Json& tool : body.json().value("tools", Json::array())) {
    Json function = tool;
    function.erase("type");
    tools.push_back({{"type", "function"}, {"function", function}});
  }
  if (!tools.empty()) request.chat_variables = Json{{"tools", tools}}.dump();
  if (body.has({"tool_choice"})) {
    const Json& choice = body.json().at("tool_choice");
    request.tool_choice = (choice.is_string() ? choice : choice.at("name")).get<std::string>();
  }
  request.parallel_tool_calls = body.flag({"parallel_tool_calls"}, true);
  return request;
}

// The same request with the fields of chats.
Wishes wishes_of(const Fields& body, const OwnSettings& own) {
  Json chat = body.json();
  if (body.has({"max_output_tokens"})) chat["max_tokens"] = chat.at("max_output_tokens");
  for (const char* each : {"input", "instructions", "max_output_tokens", "store", "metadata", "user", "tools",
                           "tool_choice", "parallel_tool_calls"})
    chat.erase(each);
  const Wishes wishes = read_wishes(Fields(chat, "the request"), own);
  if (wishes.texts != 1) fail("num_return_sequences: a response is one text");
  return wishes;
}

}  // namespace

void add_response_route(Server& server, const ServedModels& models, const TextBounds& bounds) {
  server.add(responses(models), [&models, bounds](const Fields& body) -> Reply {
    const Asked asked = find_generating(models, body, bounds);
    const Wishes wishes = wishes_of(body, asked.model.own_settings());
    check_new_tokens(asked, wishes, 1, bounds);
    std::vector<QueueRequest> request;
    request.push_back(request_of(body));
    const auto response = std::make_shared<Response>(asked, body, wishes);
    submit(response, asked, wishes, std::move(request));
    return {{}, wishes.stream ? "text/event-stream" : "application/json", response->pipe()};
  });
}

}  // namespace attend::serve
