#include "serve/response.h"

#include "base/error.h"
#include "base/log.h"
#include "serve/call_json.h"
#include "serve/server.h"

#include <atomic>
#include <random>

namespace attend::serve {
namespace {

std::string new_response_id() {
  static const std::uint64_t begin = std::random_device()();
  static std::atomic<std::uint64_t> count = 0;
  return fmt::format("{:08x}{:08x}", begin, ++count);
}

Json text_part(const std::string& text) {
  return {
      {"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
}

const char* status_of_text(const GeneratedText& made) {
  return made.cut_off ? "incomplete" : "completed";
}

}  // namespace

Response::Response(const Asked& asked, const Fields& body, const Wishes& wishes)
    : model_(asked.name),
      id_(new_response_id()),
      streams_(wishes.stream),
      metadata_(body.json().value("metadata", Json::object())),
      tools_(body.json().value("tools", Json::array())),
      tool_choice_(body.json().value("tool_choice", Json("auto"))),
      parallel_(body.json().value("parallel_tool_calls", Json(true))),
      settings_(wishes.settings) {
  if (metadata_.is_null()) metadata_ = Json::object();
  if (tools_.is_null()) tools_ = Json::array();
}

void Response::take(std::size_t, const QueueToken& token) {
  if (!token.more.empty()) say_text(token.more);
  for (const ToolCallPiece& piece : token.calls) say_call(piece);
}

void Response::end(std::size_t, const QueueResult& result) try {
  if (result.end == QueueEnd::cancelled) return pipe()->break_off();
  if (result.end == QueueEnd::failed) return fail_with(result.error);
  const GeneratedText& made = result.texts.front();
  if (streams_)
    end_stream(made, result.prompt_tokens);
  else
    pipe()->end(written(whole(&made, result.prompt_tokens)));
} catch (...) {
  fail_with(std::current_exception());  // otherwise the client would wait forever
}

// The unsent rest: the last letters, or in a beam search the whole text.
void Response::end_stream(const GeneratedText& made, std::size_t prompt_tokens) {
  if (made.text.starts_with(text_) && (made.text.size() > text_.size() || made.calls.empty()))
    say_text(made.text.substr(text_.size()));
  for (std::size_t c = 0; c < made.calls.size(); ++c) {
    const std::string sent = c < calls_.size() ? calls_[c].call.arguments : "";
    const std::string& all = made.calls[c].arguments;
    if (c >= calls_.size() || all.size() > sent.size())
      say_call({c, made.calls[c].name, all.starts_with(sent) ? all.substr(sent.size()) : ""});
  }
  end_text(status_of_text(made));
  if (!calls_.empty()) end_call(calls_.back(), status_of_text(made));
  say(made.cut_off ? "response.incomplete" : "response.completed",
      {{"response", whole(&made, prompt_tokens)}});
  pipe()->end();
}

void Response::begin() {
  if (std::exchange(begun_, true)) return;
  say("response.created", {{"response", whole(nullptr, 0)}});
  say("response.in_progress", {{"response", whole(nullptr, 0)}});
}

void Response::say(const char* type, Json event) {
  event["type"] = type;
  event["sequence_number"] = number_++;
  pipe()->put(fmt::format("event: {}\ndata: {}\n\n", type, written(event)));
}

Json Response::text_place(Json event) const {
  event.update({{"item_id", "msg_" + id_}, {"output_index", *text_place_}, {"content_index", 0}});
  return event;
}

void Response::say_text(const std::string& more) {
  begin();
  if (!text_place_) {
    text_place_ = places_++;
    say("response.output_item.added",
        {{"output_index", *text_place_}, {"item", message_item("", "in_progress")}});
    say("response.content_part.added", text_place({{"part", text_part("")}}));
  }
  text_ += more;
  if (!more.empty() && !text_ended_)  // after a call, text is only in the complete response
    say("response.output_text.delta", text_place({{"delta", more}, {"logprobs", Json::array()}}));
}

void Response::end_text(const char* status) {
  if (!text_place_ || std::exchange(text_ended_, true)) return;
  say("response.output_text.done", text_place({{"text", text_}, {"logprobs", Json::array()}}));
  say("response.content_part.done", text_place({{"part", text_part(text_)}}));
  say("response.output_item.done", {{"output_index", *text_place_}, {"item", message_item(text_, status)}});
}

void Response::say_call(const ToolCallPiece& piece) {
  begin();
  end_text("completed");
  if (piece.index >= calls_.size()) {
    if (!calls_.empty()) end_call(calls_.back(), "completed");
    calls_.push_back({{piece.name, "", new_call_id()}, places_++});
    say("response.output_item.added",
        {{"output_index", calls_.back().place}, {"item", call_item(calls_.back().call, "in_progress")}});
  }
  Call& call = calls_[piece.index];
  call.call.arguments += piece.arguments;
  if (piece.arguments.empty()) return;
  say("response.function_call_arguments.delta",
      {{"item_id", "fc_" + call.call.id}, {"output_index", call.place}, {"delta", piece.arguments}});
}

void Response::end_call(Call& call, const char* status) {
  say("response.function_call_arguments.done", {{"item_id", "fc_" + call.call.id},
                                                {"output_index", call.place},
                                                {"name", call.call.name},
                                                {"arguments", call.call.arguments}});
  say("response.output_item.done", {{"output_index", call.place}, {"item", call_item(call.call, status)}});
}

Json Response::message_item(const std::string& text, const char* status) const {
  Json item = {{"id", "msg_" + id_},
               {"type", "message"},
               {"role", "assistant"},
               {"status", status},
               {"content", Json::array()}};
  if (status != std::string_view("in_progress")) item["content"].push_back(text_part(text));
  return item;
}

Json Response::call_item(const ToolCall& call, const char* status) const {
  return {{"id", "fc_" + call.id}, {"type", "function_call"}, {"status", status},
          {"call_id", call.id},    {"name", call.name},       {"arguments", call.arguments}};
}

Json Response::output(const GeneratedText& made) const {
  Json items = Json::array();
  if (!made.text.empty() || made.calls.empty())
    items.push_back(message_item(made.text, status_of_text(made)));
  for (std::size_t c = 0; c < made.calls.size(); ++c) {
    ToolCall call = made.calls[c];
    call.id = c < calls_.size() ? calls_[c].call.id : new_call_id();
    items.push_back(call_item(call, c + 1 < made.calls.size() ? "completed" : status_of_text(made)));
  }
  return items;
}

Json Response::whole(const GeneratedText* made, std::size_t prompt_tokens) const {
  Json response = {{"id", "resp_" + id_},
                   {"object", "response"},
                   {"created_at", created_},
                   {"status", made == nullptr ? "in_progress" : status_of_text(*made)},
                   {"error", nullptr},
                   {"incomplete_details", nullptr},
                   {"instructions", nullptr},
                   {"model", model_},
                   {"output", Json::array()},
                   {"parallel_tool_calls", parallel_},
                   {"previous_response_id", nullptr},
                   {"store", false},
                   {"temperature", settings_.value("temperature", Json())},
                   {"top_p", settings_.value("top_p", Json())},
                   {"text", {{"format", {{"type", "text"}}}}},
                   {"tool_choice", tool_choice_},
                   {"tools", tools_},
                   {"truncation", "disabled"},
                   {"usage", nullptr},
                   {"metadata", metadata_}};
  if (made == nullptr) return response;
  if (made->cut_off) response["incomplete_details"] = {{"reason", "max_output_tokens"}};
  response["output"] = output(*made);
  response["usage"] = {{"input_tokens", prompt_tokens},
                       {"input_tokens_details", {{"cached_tokens", 0}}},
                       {"output_tokens", made->ids.size()},
                       {"output_tokens_details", {{"reasoning_tokens", 0}}},
                       {"total_tokens", prompt_tokens + made->ids.size()}};
  return response;
}

void Response::fail_with(const std::exception_ptr& error) {
  if (!begun_) return pipe()->fail(error);
  const auto [status, message] = status_of(error);
  if (status >= 500) warn("resp_{}: {}", id_, message);
  say("error", {{"code", std::to_string(status)}, {"message", message}, {"param", nullptr}});
  pipe()->end();
}

}  // namespace attend::serve
