#include "serve/routes/answer.h"

#include "base/log.h"
#include "serve/http/server.h"
#include "serve/routes/call_json.h"
#include "serve/routes/reply_ids.h"

#include <algorithm>
#include <numeric>

namespace attend::serve {
namespace {

const char* finish_reason(const GeneratedText& text) {
  return text.cut_off ? "length" : text.calls.empty() ? "stop" : "tool_calls";
}

// The part of a text that has not been sent; none if the text has changed.
std::string rest_of_text(const std::string& text, const std::string& sent) {
  return text.starts_with(sent) ? text.substr(sent.size()) : "";
}

Json message_of(const GeneratedText& text) {
  Json message = {{"role", "assistant"}, {"content", text.text}, {"refusal", nullptr}};
  if (!text.reasoning.empty()) message["reasoning_content"] = text.reasoning;
  if (text.calls.empty()) return message;
  if (text.text.empty()) message["content"] = nullptr;
  for (const ToolCall& call : text.calls) message["tool_calls"].push_back(call_json(call, new_call_id()));
  return message;
}

// Per token, because otherwise long texts would seem bad.
double mean_log_probability(const GeneratedText& text) {
  const double sum = std::accumulate(text.log_probabilities.begin(), text.log_probabilities.end(), 0.0);
  return sum / static_cast<double>(std::max<std::size_t>(1, text.log_probabilities.size()));
}

ReportedToken token_of(const GeneratedText& text, std::size_t place) {
  ReportedToken token{text.ids[place]};
  if (place < text.log_probabilities.size()) token.log_probability = text.log_probabilities[place];
  if (place < text.likeliest.size()) token.likeliest = text.likeliest[place];
  return token;
}

}  // namespace

const AnswerForm kCompletion = {"cmpl-", "text_completion", "text_completion", false};
const AnswerForm kChat = {"chatcmpl-", "chat.completion", "chat.completion.chunk", true};

Answer::Answer(const AnswerForm& form, const ChosenModel& chosen, const RequestSettings& requested,
               std::size_t prompts, std::vector<Echo> echoes)
    : form_(form),
      requested_(requested),
      model_(chosen.model),
      name_(chosen.name),
      id_(new_id(form.id)),
      echoes_(std::move(echoes)),
      choices_(prompts * requested.texts),
      texts_(prompts),
      open_(prompts) {
  if (!requested_.log_probabilities) return;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const bool begins = model_.is_encoder_decoder() || !echoes_.empty();
    choices_[i].report = std::make_unique<TokenReport>(model_.token_names(), form_.is_chat, begins);
    if (!echoes_.empty())
      for (const ReportedToken& token : echoes_[i / requested_.texts].tokens) choices_[i].report->put(token);
  }
}

void Answer::take(std::size_t p, const QueueToken& token) {
  if (over_) return;
  const bool all_alike = requested_.settings.at("num_return_sequences") == 1;
  for (std::size_t k = 0; k < requested_.texts; ++k) {
    if (!all_alike && k != token.text) continue;
    Choice& choice = choices_[p * requested_.texts + k];
    if (choice.report) choice.report->put({token.id, token.log_probability, token.likeliest});
    if (token.more.empty() && token.reasoning.empty() && token.calls.empty()) continue;
    send_pieces(p * requested_.texts + k, {token.more, token.reasoning, token.calls}, nullptr);
  }
}

void Answer::end(std::size_t p, const QueueResult& result) try {
  if (over_) return;
  if (result.end == QueueEnd::cancelled) {  // the client has disconnected
    over_ = true;
    return pipe()->cut_off();
  }
  if (result.end == QueueEnd::failed) return fail_with(result.error);
  finish(p, result);
} catch (...) {
  fail_with(std::current_exception());  // otherwise the client would wait forever
}

void Answer::finish(std::size_t p, const QueueResult& result) {
  prompt_tokens_ += result.prompt_tokens;
  for (const GeneratedText& text : result.texts) new_tokens_ += text.ids.size();
  texts_[p] = choose(result.texts);
  for (std::size_t k = 0; k < texts_[p].size(); ++k) {
    const std::size_t i = p * requested_.texts + k;
    const GeneratedText& text = texts_[p][k];
    report(choices_[i], text);
    if (!requested_.stream) continue;
    send_pieces(i, rest_of(choices_[i], text), finish_reason(text));
  }
  if (--open_ > 0) return;
  if (requested_.stream)
    end_stream();
  else
    pipe()->end(written(whole()));
}

std::vector<GeneratedText> Answer::choose(const std::vector<GeneratedText>& made) const {
  if (made.size() == 1) return std::vector<GeneratedText>(requested_.texts, made.front());
  std::vector<GeneratedText> best = made;
  if (made.size() > requested_.texts) {
    std::ranges::stable_sort(best, std::greater{}, mean_log_probability);
    best.resize(requested_.texts);
  }
  return best;
}

void Answer::report(Choice& choice, const GeneratedText& text) const {
  if (!choice.report) return;
  const std::size_t before =
      echoes_.empty()
          ? 0
          : echoes_[static_cast<std::size_t>(&choice - choices_.data()) / requested_.texts].tokens.size();
  for (std::size_t place = choice.report->tokens() - before; place < text.ids.size(); ++place)
    choice.report->put(token_of(text, place));
}

Json Answer::head(const char* object) const {
  return {
      {"id", id_}, {"object", object}, {"created", created_}, {"model", name_}, {"choices", Json::array()}};
}

Json Answer::usage() const {
  return {{"prompt_tokens", prompt_tokens_},
          {"completion_tokens", new_tokens_},
          {"total_tokens", prompt_tokens_ + new_tokens_}};
}

void Answer::send_piece(std::size_t i, Json piece, const Json& finish) {
  Json choice = {{"index", i}};
  choice.update(piece);
  choice["logprobs"] = choices_[i].report ? choices_[i].report->take() : Json();
  choice["finish_reason"] = finish;
  Json chunk = head(form_.chunk);
  chunk["choices"].push_back(std::move(choice));
  if (requested_.stream_usage) chunk["usage"] = nullptr;
  pipe()->put("data: " + written(chunk) + "\n\n");
  begun_ = true;
}

void Answer::send_pieces(std::size_t i, const Pieces& pieces, const Json& finish) {
  Choice& choice = choices_[i];
  const bool begun = std::exchange(choice.begun, true);
  choice.sent += pieces.text;
  choice.sent_reasoning += pieces.reasoning;
  if (form_.is_chat) return send_piece(i, {{"delta", chat_delta(choice, begun, pieces)}}, finish);
  const std::string before = begun || echoes_.empty() ? "" : echoes_[i / requested_.texts].text;
  send_piece(i, {{"text", before + pieces.text}}, finish);
}

Json Answer::chat_delta(Choice& choice, bool begun, const Pieces& pieces) const {
  Json delta = Json::object();
  if (!begun) delta["role"] = "assistant";
  const bool has_others = !pieces.reasoning.empty() || !pieces.calls.empty();
  if (!pieces.text.empty() || (!begun && !has_others)) delta["content"] = pieces.text;
  if (!pieces.reasoning.empty()) delta["reasoning_content"] = pieces.reasoning;
  for (const ToolCallPiece& piece : pieces.calls) {
    Json part = {{"index", piece.index}};
    const bool is_new = piece.index >= choice.sent_calls.size();
    if (is_new) {
      choice.sent_calls.resize(piece.index + 1);
      part.update(call_json({piece.name, piece.arguments}, new_call_id()));
    } else {
      part["function"] = {{"arguments", piece.arguments}};
    }
    choice.sent_calls[piece.index].arguments += piece.arguments;
    delta["tool_calls"].push_back(std::move(part));
  }
  return delta;
}

Answer::Pieces Answer::rest_of(const Choice& choice, const GeneratedText& text) {
  Pieces rest{rest_of_text(text.text, choice.sent), rest_of_text(text.reasoning, choice.sent_reasoning), {}};
  for (std::size_t c = 0; c < text.calls.size(); ++c) {
    const bool is_new = c >= choice.sent_calls.size();
    const std::string more = is_new ? text.calls[c].arguments
                                    : rest_of_text(text.calls[c].arguments, choice.sent_calls[c].arguments);
    if (is_new || !more.empty()) rest.calls.push_back({c, text.calls[c].name, more});
  }
  return rest;
}

void Answer::end_stream() {
  if (requested_.stream_usage) {
    Json chunk = head(form_.chunk);
    chunk["usage"] = usage();
    pipe()->put("data: " + written(chunk) + "\n\n");
  }
  pipe()->end("data: [DONE]\n\n");
}

Json Answer::whole() {
  Json answer = head(form_.object);
  for (std::size_t p = 0; p < texts_.size(); ++p)
    for (std::size_t k = 0; k < texts_[p].size(); ++k) {
      const std::size_t i = p * requested_.texts + k;
      const GeneratedText& text = texts_[p][k];
      Json choice = {{"index", i}};
      if (form_.is_chat)
        choice["message"] = message_of(text);
      else
        choice["text"] = (echoes_.empty() ? "" : echoes_[p].text) + text.text;
      choice["logprobs"] = choices_[i].report ? choices_[i].report->take() : Json();
      choice["finish_reason"] = finish_reason(text);
      answer["choices"].push_back(std::move(choice));
    }
  answer["usage"] = usage();
  return answer;
}

// An error is the reply itself or, if the stream has begun and its status has been sent, the last chunk of
// the stream.
void Answer::fail_with(const std::exception_ptr& error) {
  over_ = true;
  if (!begun_) return pipe()->fail(error);
  const auto [status, message] = status_of(error);
  if (status >= 500) warn("{}: {}", id_, message);
  pipe()->end("data: " + written(error_json(status, message)) + "\n\n");
}

}  // namespace attend::serve
