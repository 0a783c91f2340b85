#include "serve/answer.h"

#include "base/log.h"
#include "serve/server.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

namespace attend::serve {
namespace {

std::string new_id(const AnswerForm& form) {
  static const std::uint64_t begin = std::random_device()();
  static std::atomic<std::uint64_t> count = 0;
  return fmt::format("{}{:08x}{:08x}", form.id, begin, ++count);
}

const char* finish_reason(const GeneratedText& text) {
  return text.cut_off ? "length" : "stop";
}

// Per token, or long texts would seem bad.
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

Answer::Answer(const AnswerForm& form, const Asked& asked, const Wishes& wishes, std::size_t prompts,
               std::vector<Echo> echoes)
    : form_(form),
      wishes_(wishes),
      model_(asked.model),
      name_(asked.name),
      id_(new_id(form)),
      echoes_(std::move(echoes)),
      choices_(prompts * wishes.texts),
      texts_(prompts),
      open_(prompts) {
  if (!wishes_.log_probabilities) return;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const bool begins = model_.is_encoder_decoder() || !echoes_.empty();
    choices_[i].report = std::make_unique<TokenReport>(model_.token_names(), form_.is_chat, begins);
    if (!echoes_.empty())
      for (const ReportedToken& token : echoes_[i / wishes_.texts].tokens) choices_[i].report->put(token);
  }
}

void Answer::take(std::size_t p, const QueueToken& token) {
  if (over_) return;
  const bool all_alike = wishes_.settings.at("num_return_sequences") == 1;
  for (std::size_t k = 0; k < wishes_.texts; ++k) {
    if (!all_alike && k != token.text) continue;
    Choice& choice = choices_[p * wishes_.texts + k];
    if (choice.report) choice.report->put({token.id, token.log_probability, token.likeliest});
    if (token.more.empty()) continue;
    send_text(p * wishes_.texts + k, token.more, nullptr);
    choice.sent += token.more;
  }
}

void Answer::end(std::size_t p, const QueueResult& result) try {
  if (over_) return;
  if (result.end == QueueEnd::cancelled) {  // the client has left
    over_ = true;
    return pipe()->break_off();
  }
  if (result.end == QueueEnd::failed) return fail_with(result.error);
  finish(p, result);
} catch (...) {
  fail_with(std::current_exception());  // or the client would wait for ever
}

void Answer::finish(std::size_t p, const QueueResult& result) {
  prompt_tokens_ += result.prompt_tokens;
  for (const GeneratedText& text : result.texts) new_tokens_ += text.ids.size();
  texts_[p] = choose(result.texts);
  for (std::size_t k = 0; k < texts_[p].size(); ++k) {
    const std::size_t i = p * wishes_.texts + k;
    const GeneratedText& text = texts_[p][k];
    report(choices_[i], text);
    if (!wishes_.stream) continue;
    // What has not been sent yet: the last letters, or of a beam search all.
    const bool begun = text.text.starts_with(choices_[i].sent);
    send_text(i, begun ? text.text.substr(choices_[i].sent.size()) : "", finish_reason(text));
  }
  if (--open_ > 0) return;
  if (wishes_.stream)
    end_stream();
  else
    pipe()->end(written(whole()));
}

std::vector<GeneratedText> Answer::choose(const std::vector<GeneratedText>& made) const {
  if (made.size() == 1) return std::vector<GeneratedText>(wishes_.texts, made.front());
  std::vector<GeneratedText> chosen = made;
  if (made.size() > wishes_.texts) {
    std::ranges::stable_sort(chosen, std::greater{}, mean_log_probability);
    chosen.resize(wishes_.texts);
  }
  return chosen;
}

void Answer::report(Choice& choice, const GeneratedText& text) const {
  if (!choice.report) return;
  const std::size_t before =
      echoes_.empty()
          ? 0
          : echoes_[static_cast<std::size_t>(&choice - choices_.data()) / wishes_.texts].tokens.size();
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
  if (wishes_.stream_usage) chunk["usage"] = nullptr;
  pipe()->put("data: " + written(chunk) + "\n\n");
  begun_ = true;
}

void Answer::send_text(std::size_t i, const std::string& more, const Json& finish) {
  const bool begun = std::exchange(choices_[i].begun, true);
  if (!form_.is_chat) {
    const std::string before = begun || echoes_.empty() ? "" : echoes_[i / wishes_.texts].text;
    return send_piece(i, {{"text", before + more}}, finish);
  }
  Json delta = Json::object();
  if (!begun) delta["role"] = "assistant";
  if (!more.empty() || !begun) delta["content"] = more;
  send_piece(i, {{"delta", std::move(delta)}}, finish);
}

void Answer::end_stream() {
  if (wishes_.stream_usage) {
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
      const std::size_t i = p * wishes_.texts + k;
      const GeneratedText& text = texts_[p][k];
      Json choice = {{"index", i}};
      if (form_.is_chat)
        choice["message"] = {{"role", "assistant"}, {"content", text.text}, {"refusal", nullptr}};
      else
        choice["text"] = (echoes_.empty() ? "" : echoes_[p].text) + text.text;
      choice["logprobs"] = choices_[i].report ? choices_[i].report->take() : Json();
      choice["finish_reason"] = finish_reason(text);
      answer["choices"].push_back(std::move(choice));
    }
  answer["usage"] = usage();
  return answer;
}

// The reply is the error or, where the stream has begun and its status is sent, the stream's last piece is.
void Answer::fail_with(const std::exception_ptr& error) {
  over_ = true;
  if (!begun_) return pipe()->fail(error);
  const auto [status, message] = status_of(error);
  if (status >= 500) warn("{}: {}", id_, message);
  pipe()->end("data: " + written(error_json(status, message)) + "\n\n");
}

}  // namespace attend::serve
