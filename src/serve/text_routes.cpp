#include "serve/text_routes.h"

#include "base/error.h"
#include "base/log.h"
#include "serve/wishes.h"

#include <atomic>
#include <ctime>
#include <map>
#include <random>
#include <set>

namespace attend::serve {
namespace {

// How the two differ.
struct Form {
  const char* id;
  const char* object;  // of a whole answer
  const char* chunk;   // of a piece
  bool chat;
};
constexpr Form kCompletion = {"cmpl-", "text_completion", "text_completion", false};
constexpr Form kChat = {"chatcmpl-", "chat.completion", "chat.completion.chunk", true};

std::string new_id(const Form& form) {
  static const std::uint64_t begin = std::random_device()();
  static std::atomic<std::uint64_t> count = 0;
  return fmt::format("{}{:08x}{:08x}", form.id, begin, ++count);
}

const char* reason(const GeneratedText& text) {
  return text.cut_off ? "length" : "stop";
}

// The answer to one request: the texts of one prompt or several, which the queue's thread brings.
class Answer {
 public:
  Answer(const Form& form, const Asked& asked, const Wishes& wishes, std::size_t prompts)
      : form_(form),
        wishes_(wishes),
        tokenizer_(asked.model.model().tokenizers().target),
        name_(asked.name),
        id_(new_id(form)),
        n_(static_cast<std::size_t>(wishes.settings.at("num_return_sequences").get<std::int64_t>())),
        texts_(prompts),
        open_(prompts) {}

  const std::shared_ptr<Pipe>& pipe() const { return pipe_; }

  // Of prompt number p.
  void take(std::size_t p, const QueueToken& token) {
    if (!token.more.empty()) send(p * n_ + token.text, token.more);
  }
  void end(std::size_t p, const QueueResult& result) try {
    if (over_) return;
    if (result.end == QueueEnd::cancelled) return break_off();  // the client has left
    if (result.end == QueueEnd::failed) return fail_with(result.error);
    prompt_tokens_ += result.prompt_tokens;
    for (const GeneratedText& text : result.texts) new_tokens_ += text.ids.size();
    if (wishes_.stream)
      for (std::size_t i = 0; i < result.texts.size(); ++i) send_end(p * n_ + i, result.texts[i]);
    else
      texts_[p] = result.texts;
    if (--open_ > 0) return;
    if (wishes_.stream)
      end_stream();
    else
      pipe_->end(written(whole()));
  } catch (...) {
    fail_with(std::current_exception());  // or the client would wait for ever
  }

 private:
  Json head(const char* object) const {
    return {
        {"id", id_}, {"object", object}, {"created", created_}, {"model", name_}, {"choices", Json::array()}};
  }
  Json usage() const {
    return {{"prompt_tokens", prompt_tokens_},
            {"completion_tokens", new_tokens_},
            {"total_tokens", prompt_tokens_ + new_tokens_}};
  }

  // A piece of choice number i.
  void send_piece(std::size_t i, Json piece, const Json& finish) {
    Json choice = {{"index", i}};
    choice.update(piece);
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = finish;
    Json chunk = head(form_.chunk);
    chunk["choices"].push_back(std::move(choice));
    if (wishes_.stream_usage) chunk["usage"] = nullptr;
    pipe_->put("data: " + written(chunk) + "\n\n");
    begun_ = true;
  }
  void send_text(std::size_t i, const std::string& more, const Json& finish) {
    if (!form_.chat) return send_piece(i, {{"text", more}}, finish);
    Json delta = Json::object();
    if (sent_[i].empty()) delta["role"] = "assistant";
    if (!more.empty() || sent_[i].empty()) delta["content"] = more;
    send_piece(i, {{"delta", std::move(delta)}}, finish);
  }
  void send(std::size_t i, const std::string& more) {
    if (over_) return;
    send_text(i, more, nullptr);
    sent_[i] += more;
  }
  // What has not been sent yet: the last letters, or of a beam search all.
  void send_end(std::size_t i, const GeneratedText& text) {
    const bool begun = text.text.starts_with(sent_[i]);
    send_text(i, begun ? text.text.substr(sent_[i].size()) : "", reason(text));
  }
  void end_stream() {
    if (wishes_.stream_usage) {
      Json chunk = head(form_.chunk);
      chunk["usage"] = usage();
      pipe_->put("data: " + written(chunk) + "\n\n");
    }
    pipe_->end("data: [DONE]\n\n");
  }

  Json whole() const {
    Json answer = head(form_.object);
    for (std::size_t p = 0; p < texts_.size(); ++p)
      for (std::size_t i = 0; i < texts_[p].size(); ++i) {
        const GeneratedText& text = texts_[p][i];
        Json choice = {{"index", p * n_ + i}};
        if (form_.chat)
          choice["message"] = {{"role", "assistant"}, {"content", text.text}};
        else
          choice["text"] = text.text;
        choice["logprobs"] = wishes_.log_probabilities ? log_probabilities(text) : Json();
        choice["finish_reason"] = reason(text);
        answer["choices"].push_back(std::move(choice));
      }
    answer["usage"] = usage();
    return answer;
  }

  Json log_probabilities(const GeneratedText& text) const {
    Json tokens = Json::array(), numbers = Json::array(), content = Json::array();
    for (std::size_t i = 0; i < text.log_probabilities.size(); ++i) {
      const std::string token = tokenizer_->decode(std::span(&text.ids[i], 1));
      tokens.push_back(token);
      numbers.push_back(text.log_probabilities[i]);
      content.push_back(
          {{"token", token}, {"logprob", text.log_probabilities[i]}, {"top_logprobs", Json::array()}});
    }
    if (form_.chat) return {{"content", content}};
    return {{"tokens", tokens}, {"token_logprobs", numbers}, {"top_logprobs", nullptr}};
  }

  void break_off() {
    over_ = true;
    pipe_->break_off();
  }
  // The reply is the error or, where the stream has begun and its status is sent, the stream's last piece is.
  void fail_with(const std::exception_ptr& error) {
    over_ = true;
    if (!begun_) return pipe_->fail(error);
    const auto [status, message] = status_of(error);
    if (status >= 500) warn("{}: {}", id_, message);
    pipe_->end("data: " + written(error_json(status, message)) + "\n\n");
  }

  const Form& form_;
  const Wishes wishes_;
  const std::shared_ptr<const Tokenizer> tokenizer_;
  const std::string name_, id_;
  const std::time_t created_ = std::time(nullptr);
  const std::size_t n_;  // texts for a prompt
  const std::shared_ptr<Pipe> pipe_ = std::make_shared<Pipe>();
  std::vector<std::vector<GeneratedText>> texts_;  // by prompt
  std::map<std::size_t, std::string> sent_;        // by choice
  std::size_t open_;                               // prompts
  std::size_t prompt_tokens_ = 0, new_tokens_ = 0;
  bool begun_ = false;  // a piece was sent
  bool over_ = false;   // has failed
};

// Asks the queue for every prompt. If one of them is refused, so are all.
Reply ask(const Form& form, const Asked& asked, const Wishes& wishes, std::vector<QueueRequest> prompts) {
  GenerationQueue& queue = *asked.model.queue();
  const auto answer = std::make_shared<Answer>(form, asked, wishes, prompts.size());
  std::vector<GenerationQueue::Ticket> tickets;
  const auto cancel = [&queue](const std::vector<GenerationQueue::Ticket>& all) {
    for (const GenerationQueue::Ticket ticket : all) queue.cancel(ticket);
  };
  try {
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      QueueRequest& request = prompts[p];
      request.settings = wishes.settings.dump();
      request.seed = wishes.seed + p;
      request.adapter = asked.adapter;
      request.log_probabilities = wishes.log_probabilities;
      request.shows_stop = false;
      if (wishes.stream) request.on_token = [answer, p](const QueueToken& token) { answer->take(p, token); };
      request.on_end = [answer, p](const QueueResult& result) { answer->end(p, result); };
      tickets.push_back(queue.submit(std::move(request)));
    }
  } catch (...) {
    cancel(tickets);
    throw;
  }
  answer->pipe()->on_gone([cancel, tickets] { cancel(tickets); });
  return {{}, wishes.stream ? "text/event-stream" : "application/json", answer->pipe()};
}

std::vector<QueueRequest> read_prompts(const Fields& body, std::size_t most) {
  const Json prompt = body.json().value("prompt", Json());
  const bool several = prompt.is_array() && !prompt.empty() && prompt.front().is_string();
  if (!several && !prompt.is_string())
    fail("prompt: expected a text or a list of texts, found {}", shown(prompt));
  if (prompt.size() > most) fail("prompt: expected at most {} texts, found {}", most, prompt.size());
  std::vector<QueueRequest> all;
  for (std::string& text : body.texts({"prompt"})) {
    all.push_back({.prompt = std::move(text)});
    all.back().source_language = body.text({"src_lang"}, "");
    all.back().target_language = body.text({"tgt_lang"}, "");
  }
  return all;
}

// Text, or a list of parts of which each is text.
std::string read_content(const Fields& message) {
  const Json content = message.json().value("content", Json());
  if (!content.is_array()) return message.text({"content"});
  std::string text;
  for (const Json& each : content) {
    const Fields part(each, message.source() + ", content");
    if (const std::string type = part.text({"type"}); type != "text")
      fail("{}: expected parts of the type text, found one of {}", part.source(), type);
    text += part.text({"text"});
  }
  return text;
}

std::vector<ChatMessage> read_messages(const Fields& body) {
  const Json list = body.json().value("messages", Json());
  if (!list.is_array() || list.empty()) fail("messages: expected a list of messages, found {}", shown(list));
  std::vector<ChatMessage> messages;
  for (const Json& each : list) {
    const Fields message(each, fmt::format("message {}", messages.size() + 1));
    const std::string role = message.text({"role"});
    messages.push_back({role == "developer" ? "system" : role, read_content(message)});
  }
  return messages;
}

Asked find_generating(const ServedModels& models, const Fields& body, std::size_t most_waiting) {
  const Asked asked = models.find(body);
  if (asked.model.queue() == nullptr)
    fail("model: {} is a {}, which generates no text", asked.name, asked.model.model().architecture());
  if (asked.model.queue()->status().waiting >= most_waiting)
    refuse(429, fmt::format("{} requests are waiting already: come again later", most_waiting));
  return asked;
}

// `others`: fields that are no wishes.
Wishes read_wishes_of(const Asked& asked, const Fields& body, const std::set<std::string_view>& others) {
  Wishes wishes = read_wishes(body, others);
  wishes.settings.emplace("num_return_sequences", 1);
  if (!wishes.settings.contains("max_new_tokens") && !wishes.settings.contains("max_length") &&
      !asked.model.limits_length())
    wishes.settings["max_new_tokens"] = 256;
  return wishes;
}

}  // namespace

void add_text_routes(Server& server, const ServedModels& models, std::size_t most_waiting) {
  server.post("/v1/completions", [&models, most_waiting](const Fields& body) {
    const Asked asked = find_generating(models, body, most_waiting);
    const Wishes wishes = read_wishes_of(asked, body, {"model", "prompt", "src_lang", "tgt_lang"});
    return ask(kCompletion, asked, wishes, read_prompts(body, most_waiting));
  });
  server.post("/v1/chat/completions", [&models, most_waiting](const Fields& body) {
    const Asked asked = find_generating(models, body, most_waiting);
    std::vector<QueueRequest> request(1);
    request.front().messages = read_messages(body);
    return ask(kChat, asked, read_wishes_of(asked, body, {"model", "messages"}), std::move(request));
  });
}

}  // namespace attend::serve
