#include "serve/routes/response_routes.h"

#include "base/error.h"
#include "serve/models/generation_fields.h"
#include "serve/routes/response.h"

#include <limits>

namespace attend::serve {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

// What a conversation so far has. Clients send items of an answer back as they got them, with nulls.
Json item_schema() {
  const Json status = or_null(text()), empty = or_null(list(anything(), 0, 0));
  const Json part = object({{"type", one_of({"input_text", "output_text", "text"})},
                            {"text", text()},
                            {"annotations", empty},
                            {"logprobs", empty}},
                           {"type", "text"});
  const Json content = any_of({text(), list(part)});
  const Json message = object({{"type", one_of({"message"})},
                               {"role", name()},
                               {"content", content},
                               {"id", or_null(text())},
                               {"phase", or_null(text())},
                               {"status", status}},
                              {"role", "content"});
  const Json thought =
      object({{"type", one_of({"reasoning_text", "summary_text"})}, {"text", text()}}, {"text"});
  const Json reasoning = object({{"type", one_of({"reasoning"})},
                                 {"summary", or_null(list(thought))},
                                 {"content", or_null(list(thought))},
                                 {"encrypted_content", nothing()},
                                 {"id", or_null(text())},
                                 {"status", status}},
                                {"type"});
  const Json call = object({{"type", one_of({"function_call"})},
                            {"call_id", text()},
                            {"name", name()},
                            {"arguments", text()},
                            {"id", or_null(text())},
                            {"async", nothing()},
                            {"async_", nothing()},  // as openai-python's model_dump() names it
                            {"caller", nothing()},
                            {"namespace", nothing()},
                            {"status", status}},
                           {"type", "call_id", "name", "arguments"});
  const Json result = object({{"type", one_of({"function_call_output"})},
                              {"call_id", text()},
                              {"output", content},
                              {"id", or_null(text())},
                              {"status", status}},
                             {"type", "call_id", "output"});
  return any_of({message, reasoning, call, result});
}

// The form of the answer, and how much the model thinks about it.
RequestFields answer_fields() {
  const Json format = any_of({object({{"type", one_of({"text", "json_object"})}}, {"type"}),
                              object({{"type", one_of({"json_schema"})},
                                      {"name", text()},
                                      {"description", or_null(text())},
                                      {"schema", any_of({any_object(), flag()})},
                                      {"strict", or_null(flag())}},
                                     {"type", "schema"})});
  return {{"text", object({{"format", or_null(format)}, {"verbosity", or_null(text())}}),
           "format: text; json_object: JSON; json_schema: JSON of this schema. verbosity has no effect"},
          {"reasoning",
           object({{"effort", or_null(text())},
                   {"summary", or_null(text())},
                   {"generate_summary", or_null(text())}}),
           "effort: for chat templates that have it, such as gpt-oss's. Reasoning is returned as it is"}};
}

// Fields about OpenAI's storage, accounts and models: texts do not depend on them.
RequestFields fields_without_effect() {
  const char* none = "has no effect";
  return {
      {"store", flag(), "has no effect: the server keeps nothing"},
      {"previous_response_id", nothing(), "the server keeps nothing: send the conversation as input"},
      {"conversation", nothing(), "the server keeps nothing: send the conversation as input"},
      {"background", one_of({false}), "the server keeps nothing"},
      {"truncation", one_of({"disabled"}), "a prompt that is too long is an error"},
      {"include", list(one_of({"reasoning.encrypted_content"})), "has no effect: reasoning is not encrypted"},
      {"stream_options", object({{"include_obfuscation", or_null(flag())}}), none},
      {"service_tier", text(), none},
      {"safety_identifier", text(), none},
      {"prompt_cache_key", text(), none},
      {"user", text(), none}};
}

RequestFields single_text(RequestFields fields) {
  for (RequestField& field : fields)
    if (field.name == "num_return_sequences") field = {field.name, one_of({1}), "a response is one text"};
  return fields;
}

Endpoint responses(const ServedModels& models) {
  const Json tool = object({{"type", one_of({"function"})},
                            {"name", name()},
                            {"description", or_null(text())},
                            {"parameters", or_null(any_object())},
                            {"strict", or_null(flag())}},
                           {"type", "name"});
  const Json named = object({{"type", one_of({"function"})}, {"name", name()}}, {"type", "name"});
  const RequestFields own = {
      models.field(),
      {"input", any_of({text(), list(item_schema(), 1)}),
       "a text of the user, or the conversation so far, with reasoning, calls of tools and their results",
       true},
      {"tools", list(tool), "functions that the model may call; arguments are held to their schemas"},
      {"tool_choice", any_of({one_of({"none", "auto", "required"}), named}),
       "auto: the model decides; required: it calls at least one; a function: it calls that one"},
      {"parallel_tool_calls", flag(), "false: one call in an answer"},
      {"instructions", text(), "what the system says before it"},
      {"max_output_tokens", integer(1),
       "maximum number of new tokens; 256 if neither the request nor the model sets it"},
      {"stream", flag(), "events as the text comes, as server-sent events"},
      {"seed", integer(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()),
       "of what is drawn: the same seed, the same text"},
      {"metadata", any_object(), "comes back"}};
  return {
      .path = "/v1/responses",
      .group = "texts",
      .summary = "The next turn of a conversation, in the form of OpenAI's newer API",
      .fields = own + answer_fields() + fields_without_effect() + single_text(config_fields()),
      .reply = open_object({{"id", text()}, {"object", one_of({"response"})}, {"output", list(any_object())}},
                           {"id", "object", "output"}),
      .streams = true};
}

// A text, or parts that are text.
std::string text_of(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (content.is_array())
    for (const Json& part : content) text += part.at("text").get<std::string>();
  return text;
}

class ConversationReader {
 public:
  void read(const Json& item) {
    const std::string type = item.value("type", "message");
    if (type == "reasoning") {
      const std::string thought = text_of(item.value("content", Json()));
      reasoning_ += thought.empty() ? text_of(item.value("summary", Json())) : thought;
    } else if (type == "function_call") {
      if (messages.empty() || messages.back().role != "assistant") messages.push_back({"assistant", ""});
      add({{"id", item.at("call_id")},
           {"type", "function"},
           {"function", {{"name", item.at("name")}, {"arguments", item.at("arguments")}}}});
    } else if (type == "function_call_output") {
      const std::string output = text_of(item.at("output"));
      const Json message = {{"role", "tool"}, {"tool_call_id", item.at("call_id")}, {"content", output}};
      messages.push_back({"tool", output, message.dump()});
    } else {
      const auto role = item.at("role").get<std::string>();
      messages.push_back({role == "developer" ? "system" : role, text_of(item.at("content"))});
      if (role == "assistant" && !reasoning_.empty()) add({});
    }
  }

  std::vector<ChatMessage> messages;

 private:
  // A call, if there is one, and the reasoning before it belong to the last message.
  void add(const Json& call) {
    ChatMessage& message = messages.back();
    Json fields = message.fields.empty() ? Json{{"role", message.role}, {"content", message.content}}
                                         : parse_json(message.fields, "a message");
    if (!call.is_null()) fields["tool_calls"].push_back(call);
    if (!reasoning_.empty())
      fields["reasoning_content"] = fields.value("reasoning_content", "") + std::exchange(reasoning_, {});
    message.fields = fields.dump();
  }

  std::string reasoning_;  // of the next message of the assistant
};

std::vector<ChatMessage> conversation_of(const Fields& body) {
  ConversationReader reader;
  if (body.has({"instructions"})) reader.messages.push_back({"system", body.text({"instructions"})});
  const Json& input = body.json().at("input");
  if (input.is_string())
    reader.messages.push_back({"user", input.get<std::string>()});
  else
    for (const Json& item : input) reader.read(item);
  return std::move(reader.messages);
}

Json object_or_empty(const Fields& body, const char* field) {
  return body.has({field}) ? body.json().at(field) : Json(Json::object());
}

// In OpenAI's newer API the fields of json_schema are on the same level as its type.
Json response_format(const Json& format) {
  if (format.at("type") != "json_schema") return format;
  Json inner = format;
  inner.erase("type");
  return {{"type", "json_schema"}, {"json_schema", inner}};
}

QueueRequest request_of(const Fields& body) {
  QueueRequest request;
  request.messages = conversation_of(body);
  Json tools = Json::array();
  if (body.has({"tools"}))
    for (const Json& tool : body.json().at("tools")) {
      Json function = tool;
      function.erase("type");
      tools.push_back({{"type", "function"}, {"function", function}});
    }
  Json variables = Json::object();
  if (!tools.empty()) variables["tools"] = tools;
  if (const Json reasoning = object_or_empty(body, "reasoning"); !reasoning.value("effort", Json()).is_null())
    variables["reasoning_effort"] = reasoning.at("effort");
  request.chat_variables = variables.dump();
  if (body.has({"tool_choice"})) {
    const Json& choice = body.json().at("tool_choice");
    request.tool_choice = (choice.is_string() ? choice : choice.at("name")).get<std::string>();
  }
  request.parallel_tool_calls = body.flag({"parallel_tool_calls"}, true);
  return request;
}

// The same request with the fields of chats.
RequestSettings settings_of(const Fields& body, const OwnSettings& own) {
  Json chat = Json::object();
  for (const RequestField& field : config_fields())
    if (body.has({field.name})) chat[field.name] = body.json().at(field.name);
  for (const char* same : {"stream", "seed"})
    if (body.has({same})) chat[same] = body.json().at(same);
  if (body.has({"max_output_tokens"})) chat["max_tokens"] = body.json().at("max_output_tokens");
  if (const Json format = object_or_empty(body, "text").value("format", Json()); !format.is_null())
    chat["response_format"] = response_format(format);
  return read_request_settings(Fields(chat, "the request"), own);
}

}  // namespace

void add_response_route(Server& server, const ServedModels& models, const TextBounds& bounds) {
  server.add(responses(models), [&models, bounds](const Fields& body) -> Reply {
    const ChosenModel chosen = find_generating(models, body, bounds);
    const RequestSettings requested = settings_of(body, chosen.model.own_settings());
    check_new_tokens(chosen, requested, 1, bounds);
    std::vector<QueueRequest> request;
    request.push_back(request_of(body));
    const auto response = std::make_shared<Response>(chosen.name, body, requested);
    submit(response, chosen, requested, std::move(request));
    return {{}, requested.stream ? "text/event-stream" : "application/json", response->pipe()};
  });
}

}  // namespace attend::serve
