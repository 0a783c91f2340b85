#include "serve/response_routes.h"

#include "base/error.h"
#include "base/log.h"
#include "serve/generation_fields.h"

#include <atomic>
#include <ctime>
#include <limits>
#include <random>

namespace attend::serve {
namespace {

using namespace schema;  // NOLINT(google-build-using-namespace): a table of schemas

std::string new_response_id() {
  static const std::uint64_t begin = std::random_device()();
  static std::atomic<std::uint64_t> count = 0;
  return fmt::format("{:08x}{:08x}", begin, ++count);
}

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
  const RequestFields own = {
      models.field(),
      {"input", any_of({text(), list(message, 1)}), "a text of the user, or the conversation so far", true},
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

std::vector<ChatMessage> conversation_of(const Fields& body) {
  std::vector<ChatMessage> messages;
  if (body.has({"instructions"})) messages.push_back({"system", body.text({"instructions"})});
  const Json& input = body.json().at("input");
  if (input.is_string()) {
    messages.push_back({"user", input.get<std::string>()});
    return messages;
  }
  for (const Json& each : input) {
    const auto role = each.at("role").get<std::string>();
    const Json& content = each.at("content");
    std::string text = content.is_string() ? content.get<std::string>() : "";
    if (content.is_array())
      for (const Json& part : content) text += part.at("text").get<std::string>();
    messages.push_back({role == "developer" ? "system" : role, std::move(text)});
  }
  return messages;
}

// The same request in the words of chats.
Wishes wishes_of(const Fields& body, const OwnSettings& own) {
  Json chat = body.json();
  if (body.has({"max_output_tokens"})) chat["max_tokens"] = chat.at("max_output_tokens");
  for (const char* each : {"input", "instructions", "max_output_tokens", "store", "metadata", "user"})
    chat.erase(each);
  const Wishes wishes = read_wishes(Fields(chat, "the request"), own);
  if (wishes.texts != 1) fail("num_return_sequences: a response is one text");
  return wishes;
}

class Response : public TextReader {
 public:
  Response(const Asked& asked, const Fields& body, const Wishes& wishes)
      : model_(asked.name),
        id_(new_response_id()),
        streams_(wishes.stream),
        metadata_(body.json().value("metadata", Json::object())),
        settings_(wishes.settings) {
    if (metadata_.is_null()) metadata_ = Json::object();
  }

  void take(std::size_t, const QueueToken& token) override {
    if (token.more.empty()) return;
    begin();
    text_ += token.more;
    say("response.output_text.delta", place({{"delta", token.more}, {"logprobs", Json::array()}}));
  }

  void end(std::size_t, const QueueResult& result) override try {
    if (result.end == QueueEnd::cancelled) return pipe()->break_off();
    if (result.end == QueueEnd::failed) return fail_with(result.error);
    const GeneratedText& made = result.texts.front();
    if (!streams_) return pipe()->end(written(whole(&made, result.prompt_tokens)));
    begin();
    if (made.text.starts_with(text_) && made.text.size() > text_.size())
      say("response.output_text.delta",
          place({{"delta", made.text.substr(text_.size())}, {"logprobs", Json::array()}}));
    say("response.output_text.done", place({{"text", made.text}, {"logprobs", Json::array()}}));
    say("response.content_part.done", place({{"part", part(made.text)}}));
    say("response.output_item.done", {{"output_index", 0}, {"item", item(&made)}});
    say(made.cut_off ? "response.incomplete" : "response.completed",
        {{"response", whole(&made, result.prompt_tokens)}});
    pipe()->end();
  } catch (...) {
    fail_with(std::current_exception());  // or the client would wait for ever
  }

 private:
  void begin() {
    if (std::exchange(begun_, true)) return;
    say("response.created", {{"response", whole(nullptr, 0)}});
    say("response.in_progress", {{"response", whole(nullptr, 0)}});
    say("response.output_item.added", {{"output_index", 0}, {"item", item(nullptr)}});
    say("response.content_part.added", place({{"part", part("")}}));
  }

  void say(const char* type, Json event) {
    event["type"] = type;
    event["sequence_number"] = number_++;
    pipe()->put(fmt::format("event: {}\ndata: {}\n\n", type, written(event)));
  }

  // Where the one text stands.
  Json place(Json event) const {
    event.update({{"item_id", "msg_" + id_}, {"output_index", 0}, {"content_index", 0}});
    return event;
  }

  static Json part(const std::string& text) {
    return {
        {"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
  }

  Json item(const GeneratedText* made) const {
    const char* status = made == nullptr ? "in_progress" : made->cut_off ? "incomplete" : "completed";
    Json item = {{"id", "msg_" + id_},
                 {"type", "message"},
                 {"role", "assistant"},
                 {"status", status},
                 {"content", Json::array()}};
    if (made != nullptr) item["content"].push_back(part(made->text));
    return item;
  }

  Json whole(const GeneratedText* made, std::size_t prompt_tokens) const {
    Json response = {{"id", "resp_" + id_},
                     {"object", "response"},
                     {"created_at", created_},
                     {"status", made == nullptr ? "in_progress"
                                : made->cut_off ? "incomplete"
                                                : "completed"},
                     {"error", nullptr},
                     {"incomplete_details", nullptr},
                     {"instructions", nullptr},
                     {"model", model_},
                     {"output", Json::array()},
                     {"parallel_tool_calls", false},
                     {"previous_response_id", nullptr},
                     {"store", false},
                     {"temperature", settings_.value("temperature", Json())},
                     {"top_p", settings_.value("top_p", Json())},
                     {"text", {{"format", {{"type", "text"}}}}},
                     {"tool_choice", "none"},
                     {"tools", Json::array()},
                     {"truncation", "disabled"},
                     {"usage", nullptr},
                     {"metadata", metadata_}};
    if (made == nullptr) return response;
    if (made->cut_off) response["incomplete_details"] = {{"reason", "max_output_tokens"}};
    response["output"].push_back(item(made));
    response["usage"] = {{"input_tokens", prompt_tokens},
                         {"input_tokens_details", {{"cached_tokens", 0}}},
                         {"output_tokens", made->ids.size()},
                         {"output_tokens_details", {{"reasoning_tokens", 0}}},
                         {"total_tokens", prompt_tokens + made->ids.size()}};
    return response;
  }

  void fail_with(const std::exception_ptr& error) {
    if (!begun_) return pipe()->fail(error);
    const auto [status, message] = status_of(error);
    if (status >= 500) warn("resp_{}: {}", id_, message);
    say("error", {{"code", std::to_string(status)}, {"message", message}, {"param", nullptr}});
    pipe()->end();
  }

  const std::string model_, id_;
  const bool streams_;
  Json metadata_;
  const Json settings_;
  const std::time_t created_ = std::time(nullptr);
  std::string text_;  // that was sent
  bool begun_ = false;
  int number_ = 0;
};

}  // namespace

void add_response_route(Server& server, const ServedModels& models, const TextBounds& bounds) {
  server.add(responses(models), [&models, bounds](const Fields& body) -> Reply {
    const Asked asked = find_generating(models, body, bounds);
    const Wishes wishes = wishes_of(body, asked.model.own_settings());
    check_new_tokens(asked, wishes, 1, bounds);
    std::vector<QueueRequest> request(1);
    request.front().messages = conversation_of(body);
    const auto response = std::make_shared<Response>(asked, body, wishes);
    submit(response, asked, wishes, std::move(request));
    return {{}, wishes.stream ? "text/event-stream" : "application/json", response->pipe()};
  });
}

}  // namespace attend::serve
