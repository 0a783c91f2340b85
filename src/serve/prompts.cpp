#include "serve/prompts.h"

#include "base/error.h"

#include <limits>

namespace attend::serve {
namespace {

Json or_null(Json schema) {
  return schema::any_of({std::move(schema), schema::nothing()});
}

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

RequestField messages_field() {
  using namespace schema;  // NOLINT(google-build-using-namespace)
  const Json part = object({{"type", one_of({"text"})}, {"text", text()}}, {"type", "text"});
  // What OpenAI's client writes of an answer that it got, beside its content, is empty.
  const Json message = object({{"role", name()},
                               {"content", any_of({text(), list(part), nothing()})},
                               {"name", or_null(text())},
                               {"refusal", or_null(text())},
                               {"annotations", or_null(list(anything(), 0, 0))},
                               {"tool_calls", or_null(list(anything(), 0, 0))},
                               {"function_call", nothing()},
                               {"audio", nothing()}},
                              {"role"});
  return {"messages", list(message, 1), "the conversation so far, written by the model's chat template",
          true};
}

std::vector<QueueRequest> read_prompts(const Fields& body, std::size_t most) {
  const Json& prompt = body.json().at("prompt");
  const bool is_list = prompt.is_array();
  const bool several = is_list && !prompt.front().is_number();
  const Json list = several ? prompt : Json::array({prompt});
  if (list.size() > most) fail("prompt: expected at most {} texts, found {}", most, list.size());
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

std::vector<ChatMessage> read_messages(const Fields& body) {
  std::vector<ChatMessage> messages;
  for (const Json& message : body.json().at("messages")) {
    const auto role = message.at("role").get<std::string>();
    messages.push_back(
        {role == "developer" ? "system" : role, read_content(message.value("content", Json()))});
  }
  return messages;
}

}  // namespace attend::serve
