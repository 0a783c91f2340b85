// Conversations with a decoder, turn by turn.
#include <attend/tasks.h>

#include "base/error.h"
#include "base/log.h"
#include "generation/continuous_batch.h"
#include "generation/text_stream.h"
#include "tasks/chat_template.h"
#include "tasks/generating_model.h"

#include <algorithm>

namespace attend {
namespace {

struct Stopped {};  // thrown where the caller wants no more of an answer

// Text as it comes, up to one of several endings; what may yet become one is held back.
class AnswerText {
 public:
  explicit AnswerText(std::vector<std::string> endings) : endings_(std::move(endings)) {}

  // What can be shown now. Answers begin with no white space.
  std::string put(const std::string& more) {
    text_ += more;
    if (shown_ == 0) text_.erase(0, std::min(text_.find_first_not_of(" \t\n"), text_.size()));
    std::size_t end = text_.size();
    for (const std::string& ending : endings_) end = std::min({end, text_.find(ending), held_back(ending)});
    return show(end);
  }
  std::string finish() {
    std::size_t end = text_.size();
    for (const std::string& ending : endings_) end = std::min(end, text_.find(ending));
    return show(end);
  }
  std::string all() const { return text_.substr(0, shown_); }

 private:
  // Where the text ends with the beginning of `ending`, if it does.
  std::size_t held_back(const std::string& ending) const {
    for (std::size_t length = std::min(ending.size(), text_.size()); length > 0; --length)
      if (std::string_view(text_).ends_with(std::string_view(ending).substr(0, length)))
        return text_.size() - length;
    return text_.size();
  }
  std::string show(std::size_t end) {
    if (end <= shown_) return {};
    const std::string more = text_.substr(shown_, end - shown_);
    shown_ = end;
    return more;
  }

  std::vector<std::string> endings_;
  std::string text_;
  std::size_t shown_ = 0;
};

}  // namespace

struct Conversation::State : GeneratingModel {
  ChatTemplate chat_template;
  ContinuousBatch batch;  // of one request at a time: it keeps the keys and values of what was read
  std::vector<std::string> endings;  // of an answer
  std::uint64_t seed;
  std::vector<ChatMessage> messages;
  std::size_t forgotten = 0;  // of the messages behind the system's, the oldest

  State(const ModelDirectory& directory, const ConversationOptions& options)
      : GeneratingModel(directory),
        chat_template(options.chat_template, directory.path()),
        batch(model),
        seed(options.seed) {
    if (model.network()->is_encoder_decoder())
      fail("{}: a conversation takes a decoder such as GPT-2, found {}", directory.path().string(),
           model.architecture());
    config.max_length.reset();
    if (!config.max_new_tokens) config.max_new_tokens = 256;
    config.do_sample = true;
    config.temperature = 0.7;
    config.apply(options.settings);
    if (config.num_return_sequences > 1)
      fail("num_return_sequences: a conversation has one answer at a time");
    endings = config.stop_strings;
    if (const std::string end = chat_template.end_of_answer(); !end.empty()) endings.push_back(end);
    config.stop_strings = endings;
    // A token ends a text sooner than its letters do, and where they are never written.
    for (const std::string& ending : endings)
      if (const auto token = tokenizers.target->token_to_id(ending); token && !config.is_eos(*token))
        config.eos_token_id.push_back(*token);
    if (!options.system.empty()) messages.push_back({"system", options.system});
  }

  std::int64_t most_tokens() const {
    Transformer network = model.network();
    return (network->decoder ? network->decoder : network->encoder)->max_positions();
  }

  std::size_t first() const { return !messages.empty() && messages.front().role == "system" ? 1 : 0; }

  // What the model reads: the last messages, as many as leave room for an answer.
  std::vector<std::int64_t> prompt() {
    const std::int64_t most = most_tokens(), room = most - std::min(*config.max_new_tokens, most / 2);
    const std::size_t before = forgotten;
    for (;;) {
      std::vector<ChatMessage> seen(messages.begin(),
                                    messages.begin() + static_cast<std::ptrdiff_t>(first()));
      seen.insert(seen.end(), messages.begin() + static_cast<std::ptrdiff_t>(first() + forgotten),
                  messages.end());
      const Encoding encoding = tokenizers.source->encode(chat_template.prompt(seen),
                                                          {.special_tokens = false, .with_details = false});
      if (static_cast<std::int64_t>(encoding.ids.size()) <= room) {
        if (forgotten > before)
          warn("the model reads {} tokens: it sees nothing of the conversation's first {} messages any more",
               most, forgotten);
        return {encoding.ids.begin(), encoding.ids.end()};
      }
      // A question with its answer.
      if (first() + forgotten + 2 >= messages.size())
        fail(
            "the question has {} tokens with all that stands around it, but the model reads {} and needs {} "
            "for the answer",
            encoding.ids.size(), most, most - room);
      forgotten += 2;
    }
  }

  std::string answer(const OnAnswer& on_text) {
    const std::vector<std::int64_t> ids = prompt();
    TextStream stream(*tokenizers.target, {ids.begin(), ids.end()});
    AnswerText text(endings);
    const auto show = [&](const std::string& more) {
      if (on_text && !on_text(more)) throw Stopped();
    };
    GenerationConfig config = this->config;
    config.max_new_tokens =
        std::min(*config.max_new_tokens, most_tokens() - static_cast<std::int64_t>(ids.size()));
    BatchResult result;
    BatchRequest request{{ids, {}, {}}, batch.prepare(config, seed++, tokenizers.target.get())};
    request.on_token = [&](std::size_t, std::int64_t token) {
      show(text.put(stream.put(static_cast<TokenId>(token))));
    };
    request.on_end = [&](BatchResult end) { result = std::move(end); };
    batch.submit(std::move(request));
    while (batch.step()) {
    }
    try {
      if (result.error) std::rethrow_exception(result.error);
      if (config.num_beams > 1)
        for (const std::int64_t token : result.texts.front().ids) stream.add(static_cast<TokenId>(token));
      show(text.put(stream.finish()));
      show(text.finish());
    } catch (const Stopped&) {
    }
    return text.all();
  }
};

Conversation::Conversation(const ModelPath& model, const ConversationOptions& options)
    : state_(std::make_shared<State>(ModelDirectory(model), options)) {}

std::string Conversation::answer(const std::string& text, const OnAnswer& on_text) {
  State& state = *state_;
  const std::size_t forgotten = state.forgotten;
  state.messages.push_back({"user", text});
  try {
    std::string answer = state.answer(on_text);
    state.messages.push_back({"assistant", answer});
    return answer;
  } catch (...) {  // as if it had not been asked
    state.messages.pop_back();
    state.forgotten = forgotten;
    throw;
  }
}

const std::vector<ChatMessage>& Conversation::messages() const {
  return state_->messages;
}

void Conversation::set_messages(std::vector<ChatMessage> messages) {
  const std::size_t first = !messages.empty() && messages.front().role == "system" ? 1 : 0;
  for (std::size_t i = first; i < messages.size(); ++i)
    if (const char* role = (i - first) % 2 == 0 ? "user" : "assistant"; messages[i].role != role)
      fail("message {}: expected one of {}, found one of '{}'", i + 1, role, messages[i].role);
  if ((messages.size() - first) % 2 != 0)
    fail("expected an answer to every message of user, found none to the last");
  state_->messages = std::move(messages);
  state_->forgotten = 0;
}

bool Conversation::take_back() {
  State& state = *state_;
  if (state.messages.size() < state.first() + 2) return false;
  state.messages.resize(state.messages.size() - 2);
  state.forgotten = std::min(state.forgotten, state.messages.size() - state.first());
  return true;
}

std::string Conversation::prompt(const std::string& text) const {
  std::vector<ChatMessage> messages = state_->messages;
  messages.push_back({"user", text});
  return state_->chat_template.prompt(messages);
}

}  // namespace attend
