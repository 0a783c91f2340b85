#include "serve/routes/response.h"

#include "base/error.h"
#include "base/log.h"
#include "serve/http/server.h"
#include "serve/routes/call_json.h"
#include "serve/routes/reply_ids.h"

namespace attend::serve {
namespace {

Json text_part(const char* type, const std::string& text) {
  Json part = {{"type", type}, {"text", text}};
  if (type == std::string_view("output_text"))
    part.update({{"annotations", Json::array()}, {"logprobs", Json::array()}});
  return part;
}

// Fields of the request that come back, or what they are by default.
Json echo_of(const Json& body) {
  Json echoed = {{"instructions", nullptr},
                 {"metadata", Json::object()},
                 {"parallel_tool_calls", true},
                 {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
                 {"text", {{"format", {{"type", "text"}}}}},
                 {"tool_choice", "auto"},
                 {"tools", Json::array()}};
  for (auto& [name, value] : echoed.items())
    if (const Json given = body.value(name, Json()); !given.is_null()) value = given;
  return echoed;
}

// It is then a message without text.
bool is_empty(const GeneratedText& made) {
  return made.text.empty() && made.reasoning.empty() && made.calls.empty();
}

const char* status_of_text(const GeneratedText& made) {
  return made.cut_off ? "incomplete" : "completed";
}

}  // namespace

const Response::Form Response::kReasoning = {"rs_", "reasoning_text", "response.reasoning_text"};
const Response::Form Response::kMessage = {"msg_", "output_text", "response.output_text"};

Response::Response(const std::string& model, const Fields& body, const RequestSettings& requested)
    : model_(model),
      id_(new_id("")),
      streams_(requested.stream),
      echoed_(echo_of(body.json())),
      settings_(requested.settings) {}

void Response::take(std::size_t, const QueueToken& token) {
  if (!token.reasoning.empty()) say_more(reasoning_, token.reasoning);
  if (!token.more.empty()) say_more(message_, token.more);
  for (const ToolCallPiece& piece : token.calls) say_call(piece);
}

void Response::end(std::size_t, const QueueResult& result) try {
  if (result.end == QueueEnd::cancelled) return pipe()->cut_off();
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
  const std::string &thought = reasoning_.text, &text = message_.text;
  if (made.reasoning.starts_with(thought) && made.reasoning.size() > thought.size())
    say_more(reasoning_, made.reasoning.substr(thought.size()));
  if (made.text.starts_with(text) && (made.text.size() > text.size() || is_empty(made)))
    say_more(message_, made.text.substr(text.size()));
  for (std::size_t c = 0; c < made.calls.size(); ++c) {
    const std::string sent = c < calls_.size() ? calls_[c].call.arguments : "";
    const std::string& all = made.calls[c].arguments;
    if (c >= calls_.size() || all.size() > sent.size())
      say_call({c, made.calls[c].name, all.starts_with(sent) ? all.substr(sent.size()) : ""});
  }
  end_text(reasoning_, status_of_text(made));
  end_text(message_, status_of_text(made));
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

void Response::say(const std::string& type, Json event) {
  event["type"] = type;
  event["sequence_number"] = number_++;
  pipe()->put(fmt::format("event: {}\ndata: {}\n\n", type, written(event)));
}

Json Response::place_of(const Said& said, Json event) const {
  event.update({{"item_id", said.form.id + id_}, {"output_index", *said.place}, {"content_index", 0}});
  if (&said.form == &kMessage && !event.contains("part")) event["logprobs"] = Json::array();
  return event;
}

// Reasoning comes before the message, and the message before calls; what comes later is only in the whole
// response.
void Response::say_more(Said& said, const std::string& more) {
  begin();
  if (&said == &message_)
    end_text(reasoning_, "completed");
  else if (message_.place || !calls_.empty())
    said.ended = true;
  if (!said.place && !said.ended) {
    said.place = places_++;
    say("response.output_item.added",
        {{"output_index", *said.place}, {"item", text_item(said.form, "", "in_progress")}});
    say("response.content_part.added", place_of(said, {{"part", text_part(said.form.part, "")}}));
  }
  said.text += more;
  if (!more.empty() && !said.ended)
    say(said.form.event + std::string(".delta"), place_of(said, {{"delta", more}}));
}

void Response::end_text(Said& said, const char* status) {
  if (!said.place || std::exchange(said.ended, true)) return;
  say(said.form.event + std::string(".done"), place_of(said, {{"text", said.text}}));
  say("response.content_part.done", place_of(said, {{"part", text_part(said.form.part, said.text)}}));
  say("response.output_item.done",
      {{"output_index", *said.place}, {"item", text_item(said.form, said.text, status)}});
}

void Response::say_call(const ToolCallPiece& piece) {
  begin();
  end_text(reasoning_, "completed");
  end_text(message_, "completed");
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

Json Response::text_item(const Form& form, const std::string& text, const char* status) const {
  Json item = {{"id", form.id + id_}, {"status", status}, {"content", Json::array()}};
  if (&form == &kMessage)
    item.update({{"type", "message"}, {"role", "assistant"}});
  else
    item.update({{"type", "reasoning"}, {"summary", Json::array()}});
  if (status != std::string_view("in_progress")) item["content"].push_back(text_part(form.part, text));
  return item;
}

Json Response::call_item(const ToolCall& call, const char* status) const {
  return {{"id", "fc_" + call.id}, {"type", "function_call"}, {"status", status},
          {"call_id", call.id},    {"name", call.name},       {"arguments", call.arguments}};
}

Json Response::output(const GeneratedText& made) const {
  Json items = Json::array();
  const bool has_more = !made.text.empty() || !made.calls.empty();
  if (!made.reasoning.empty())
    items.push_back(text_item(kReasoning, made.reasoning, has_more ? "completed" : status_of_text(made)));
  if (!made.text.empty() || is_empty(made))
    items.push_back(text_item(kMessage, made.text, status_of_text(made)));
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
                   {"model", model_},
                   {"output", Json::array()},
                   {"previous_response_id", nullptr},
                   {"store", false},
                   {"temperature", settings_.value("temperature", Json())},
                   {"top_p", settings_.value("top_p", Json())},
                   {"truncation", "disabled"},
                   {"usage", nullptr}};
  response.update(echoed_);
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
