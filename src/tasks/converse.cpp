// Conversations with a decoder, turn by turn.
#include <attend/tasks.h>

#include "base/error.h"
#include "base/log.h"
#include "generation/continuous_batch.h"
#include "generation/text_stream.h"
#include "tasks/chat/chat_turn.h"
#include "tasks/generating_model.h"

#include <algorithm>

namespace attend {
namespace {

struct Stopped {};  // thrown when the caller stops an answer

bool is_json(const std::string& text) {
  try {
    parse_json(text, "arguments");
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The calls of a message that have no results yet.
std::vector<ToolCall> calls_of(const ChatMessage& message) {
  std::vector<ToolCall> calls;
  if (message.role != "assistant" || message.fields.empty()) return calls;
  const Json fields = parse_json(message.fields, "a message");
  for (const Json& call : fields.value("tool_calls", Json::array())) {
    const Json& function = call.contains("function") ? call.at("function") : call;
    const Json arguments = function.value("arguments", Json::object());
    calls.push_back({function.value("name", ""),
                     arguments.is_string() ? arguments.get<std::string>() : arguments.dump(),
                     call.value("id", "")});
  }
  return calls;
}

}  // namespace

struct Conversation::State : GeneratingModel {
  ChatTemplate chat_template;
  Json chat_variables;
  ChatTurn turn;
  ContinuousBatch batch;  // one request at a time; keeps the KV cache
  std::function<void(const std::string& more)> on_reasoning;
  std::uint64_t seed;
  std::vector<ChatMessage> messages;
  std::vector<ToolCall> calls;  // of the last message
  AnswerFigures figures;
  std::size_t forgotten = 0;  // the number of oldest messages after the system message that are left out

  State(const ModelDirectory& directory, const ConversationOptions& options)
      : GeneratingModel(directory),
        chat_template(options.chat_template, directory.path()),
        chat_variables(read_chat_variables(options.chat_variables)),
        turn(chat_template, chat_variables),
        batch(model),
        on_reasoning(options.on_reasoning),
        seed(options.seed) {
    if (model.network()->is_encoder_decoder())
      fail("{}: a conversation takes a decoder such as GPT-2, found {}", directory.path().string(),
           model.architecture());
    config.max_length.reset();
    if (!config.max_new_tokens) config.max_new_tokens = 256;
    config.do_sample = true;
    config.temperature = 0.7;
    apply_changes(config, options.configure);
    if (config.num_return_sequences > 1)
      fail("num_return_sequences: a conversation has one answer at a time");
    if (!options.system.empty()) messages.push_back({"system", options.system});
  }

  // The same model and the same messages, with its own cache.
  State(const State& other)
      : GeneratingModel(other),
        chat_template(other.chat_template),
        chat_variables(other.chat_variables),
        turn(chat_template, chat_variables),
        batch(model),
        on_reasoning(other.on_reasoning),
        seed(other.seed),
        messages(other.messages),
        calls(other.calls),
        figures(other.figures),
        forgotten(other.forgotten) {}
  State& operator=(const State&) = delete;
  ~State() = default;

  std::int64_t max_tokens() const {
    Transformer network = model.network();
    return (network->decoder ? network->decoder : network->encoder)->max_positions();
  }

  std::size_t first() const { return begins_with_system(messages) ? 1 : 0; }

  // The index of the next question after message `place`; the number of messages if there is none.
  std::size_t next_question(std::size_t place) const {
    for (++place; place < messages.size() && messages[place].role != "user";) ++place;
    return place;
  }

  struct Read {
    std::string text;
    std::vector<std::int64_t> ids;
  };
  // The model's input: the last messages that leave enough room for an answer.
  Read prompt() {
    const std::int64_t max = max_tokens(), room = max - std::min(*config.max_new_tokens, max / 2);
    const std::size_t before = forgotten;
    for (;;) {
      std::vector<ChatMessage> seen(messages.begin(),
                                    messages.begin() + static_cast<std::ptrdiff_t>(first()));
      seen.insert(seen.end(), messages.begin() + static_cast<std::ptrdiff_t>(first() + forgotten),
                  messages.end());
      std::string text = turn.prompt(seen);
      const Encoding encoding =
          tokenizers.source->encode(text, {.special_tokens = false, .with_details = false});
      if (static_cast<std::int64_t>(encoding.ids.size()) <= room) {
        if (forgotten > before)
          warn("the model reads {} tokens: it sees nothing of the conversation's first {} messages any more",
               max, forgotten);
        return {std::move(text), {encoding.ids.begin(), encoding.ids.end()}};
      }
      // A question with its answer, and the calls between them.
      const std::size_t next = next_question(first() + forgotten);
      if (next >= messages.size())
        fail(
            "the question has {} tokens including its template, but the model reads {} and needs {} for the "
            "answer",
            encoding.ids.size(), max, max - room);
      forgotten = next - first();
    }
  }

  WholeAnswer answer(const OnAnswer& on_text) {
    const Read read = prompt();
    GenerationConfig config = this->config;
    const std::vector<std::string> endings = turn.set_form(config, *tokenizers.target, read.text);
    config.max_new_tokens =
        std::min(*config.max_new_tokens, max_tokens() - static_cast<std::int64_t>(read.ids.size()));
    TextStream stream(*tokenizers.target, {read.ids.begin(), read.ids.end()},
                      turn.shown_tokens(*tokenizers.target));
    AnswerReader reader(endings, turn.parser(read.text));
    WholeAnswer answer;
    const auto show = [&](const AnswerPieces& pieces) {
      answer.add(pieces);
      if (on_reasoning && !pieces.reasoning.empty()) on_reasoning(pieces.reasoning);
      if (on_text && !on_text(pieces.content)) throw Stopped();
    };
    const std::int64_t read_before = batch.status().tokens_read;
    BatchResult result;
    Prompt prompt;
    prompt.ids = read.ids;
    BatchRequest request{std::move(prompt), batch.prepare(config, seed++, tokenizers.target.get(),
                                                          /*rule=*/{}, StopStrings::Scope::new_text)};
    std::size_t made = 0;
    request.on_token = [&](std::size_t, const ChosenToken& token) {
      ++made;
      show(reader.put(stream.put(static_cast<TokenId>(token.id))));
    };
    request.on_end = [&](BatchResult end) { result = std::move(end); };
    batch.submit(std::move(request));
    while (batch.step()) {
    }
    try {
      if (result.error) std::rethrow_exception(result.error);
      if (config.num_beams > 1)
        for (const std::int64_t token : result.texts.front().ids) stream.add(static_cast<TokenId>(token));
      show(reader.put(stream.finish()));
      show(reader.finish());
      leave_out_incomplete(answer);
    } catch (const Stopped&) {
      answer.calls.clear();
    }
    if (!result.texts.empty()) made = result.texts.front().ids.size();
    figures = {.prompt_tokens = read.ids.size(),
               .tokens_read = static_cast<std::size_t>(batch.status().tokens_read - read_before),
               .new_tokens = made,
               .max_tokens = static_cast<std::size_t>(max_tokens()),
               .seconds_to_first = result.times.first_token,
               .seconds = result.times.end};
    return answer;
  }

  // A call that was cut off by the length limit cannot be made.
  static void leave_out_incomplete(WholeAnswer& answer) {
    const auto left_out =
        std::erase_if(answer.calls, [](const ToolCall& call) { return !is_json(call.arguments); });
    if (left_out > 0) warn("the answer ends within a call, which is left out: raise max_new_tokens");
  }

  // Answers the last messages. After an error, only the first `before` messages are kept.
  std::string answer_or_restore(std::size_t before, const OnAnswer& on_text) {
    const std::size_t forgotten_before = forgotten;
    try {
      WholeAnswer answer = this->answer(on_text);
      // Some templates expect ids of nine letters and digits.
      for (ToolCall& call : answer.calls)
        call.id =
            fmt::format("call{:05}", messages.size() + static_cast<std::size_t>(&call - answer.calls.data()));
      messages.push_back(answer_message(answer));
      calls = std::move(answer.calls);
      return std::move(answer.content);
    } catch (...) {
      messages.resize(before);
      forgotten = forgotten_before;
      throw;
    }
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
  if (!state.calls.empty())
    fail("the model waits for the result of {}: give it (answer_with_results), or take the question back",
         state.calls.front().name);
  const std::size_t before = state.messages.size();
  state.messages.push_back({"user", text});
  return state.answer_or_restore(before, on_text);
}

std::string Conversation::answer_with_results(const std::vector<std::string>& results,
                                              const OnAnswer& on_text) {
  State& state = *state_;
  if (results.size() != state.calls.size())
    fail("expected a result for each of {} calls, found {}", state.calls.size(), results.size());
  if (results.empty()) fail("the last answer calls no tool");
  const std::size_t before = state.messages.size();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ToolCall& call = state.calls[i];
    const Json message = {
        {"role", "tool"}, {"tool_call_id", call.id}, {"name", call.name}, {"content", results[i]}};
    state.messages.push_back({"tool", results[i], message.dump()});
  }
  return state.answer_or_restore(before, on_text);
}

const std::vector<ToolCall>& Conversation::calls() const {
  return state_->calls;
}

const AnswerFigures& Conversation::figures() const {
  return state_->figures;
}

const std::vector<ChatMessage>& Conversation::messages() const {
  return state_->messages;
}

void Conversation::set_messages(std::vector<ChatMessage> messages) {
  check_turns(messages);
  if (!messages.empty() && messages.back().role != "assistant" && messages.back().role != "system")
    fail("expected an answer to every message of user, found none to the last");
  state_->messages = std::move(messages);
  state_->calls = state_->messages.empty() ? std::vector<ToolCall>() : calls_of(state_->messages.back());
  state_->forgotten = 0;
}

void Conversation::set_system(const std::string& text) {
  std::vector<ChatMessage>& messages = state_->messages;
  if (begins_with_system(messages)) messages.erase(messages.begin());
  if (!text.empty()) messages.insert(messages.begin(), {"system", text});
}

bool Conversation::take_back() {
  State& state = *state_;
  std::size_t question = state.messages.size();
  while (question > state.first() && state.messages[question - 1].role != "user") --question;
  if (question == state.first()) return false;
  state.messages.resize(question - 1);
  state.calls.clear();
  state.forgotten = std::min(state.forgotten, state.messages.size() - state.first());
  return true;
}

std::string Conversation::prompt(const std::string& text) const {
  std::vector<ChatMessage> messages = state_->messages;
  messages.push_back({"user", text});
  return state_->turn.prompt(messages);
}

}  // namespace attend
