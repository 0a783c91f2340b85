// Conversations with a decoder, turn by turn.
#include <attend/tasks.h>

#include "base/error.h"
#include "base/log.h"
#include "generation/continuous_batch.h"
#include "generation/text_stream.h"
#include "tasks/answer_text.h"
#include "tasks/chat_template.h"
#include "tasks/generating_model.h"

#include <algorithm>

namespace attend {
namespace {

struct Stopped {};  // thrown where the caller wants no more of an answer

}  // namespace

struct Conversation::State : GeneratingModel {
  ChatTemplate chat_template;
  Json chat_variables;
  ContinuousBatch batch;             // one request at a time; keeps the KV cache
  std::vector<std::string> endings;  // of an answer
  std::uint64_t seed;
  std::vector<ChatMessage> messages;
  std::size_t forgotten = 0;  // the oldest message after the system's

  State(const ModelDirectory& directory, const ConversationOptions& options)
      : GeneratingModel(directory),
        chat_template(options.chat_template, directory.path()),
        chat_variables(read_chat_variables(options.chat_variables)),
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
    endings = end_answers(config, chat_template, *tokenizers.target);
    if (!options.system.empty()) messages.push_back({"system", options.system});
  }

  // The same model and the same messages, with a cache of its own.
  State(const State& other)
      : GeneratingModel(other),
        chat_template(other.chat_template),
        chat_variables(other.chat_variables),
        batch(model),
        endings(other.endings),
        seed(other.seed),
        messages(other.messages),
        forgotten(other.forgotten) {}
  State& operator=(const State&) = delete;
  ~State() = default;

  std::int64_t most_tokens() const {
    Transformer network = model.network();
    return (network->decoder ? network->decoder : network->encoder)->max_positions();
  }

  std::size_t first() const { return begins_with_system(messages) ? 1 : 0; }

  // The messages that the model reads: the last ones that leave room for an answer.
  std::vector<std::int64_t> prompt() {
    const std::int64_t most = most_tokens(), room = most - std::min(*config.max_new_tokens, most / 2);
    const std::size_t before = forgotten;
    for (;;) {
      std::vector<ChatMessage> seen(messages.begin(),
                                    messages.begin() + static_cast<std::ptrdiff_t>(first()));
      seen.insert(seen.end(), messages.begin() + static_cast<std::ptrdiff_t>(first() + forgotten),
                  messages.end());
      const Encoding encoding = tokenizers.source->encode(chat_template.prompt(seen, chat_variables),
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
            "the question has {} tokens including its template, but the model reads {} and needs {} for the "
            "answer",
            encoding.ids.size(), most, most - room);
      forgotten += 2;
    }
  }

  std::string answer(const OnAnswer& on_text) {
    const std::vector<std::int64_t> ids = prompt();
    TextStream stream(*tokenizers.target, {ids.begin(), ids.end()});
    AnswerText text(endings, /*trims=*/true);
    const auto show = [&](const std::string& more) {
      if (on_text && !on_text(more)) throw Stopped();
    };
    GenerationConfig config = this->config;
    config.max_new_tokens =
        std::min(*config.max_new_tokens, most_tokens() - static_cast<std::int64_t>(ids.size()));
    BatchResult result;
    Prompt prompt;
    prompt.ids = ids;
    BatchRequest request{std::move(prompt), batch.prepare(config, seed++, tokenizers.target.get(),
                                                          /*rule=*/{}, StopStrings::Scope::new_text)};
    request.on_token = [&](std::size_t, const ChosenToken& token) {
      show(text.put(stream.put(static_cast<TokenId>(token.id))));
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
    : state_(std::make_unique<State>(ModelDirectory(model), options)) {}
Conversation::Conversation(const Conversation& other) : state_(std::make_unique<State>(*other.state_)) {}
Conversation::Conversation(Conversation&&) noexcept = default;
Conversation& Conversation::operator=(Conversation other) noexcept {
  state_ = std::move(other.state_);
  return *this;
}
Conversation::~Conversation() = default;

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
  check_turns(messages);
  const std::size_t first = begins_with_system(messages) ? 1 : 0;
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
  return state_->chat_template.prompt(messages, state_->chat_variables);
}

}  // namespace attend
