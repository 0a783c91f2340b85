#include <attend/generation_queue.h>

#include "generation/continuous_batch.h"
#include "tasks/chat/chat_turn.h"
#include "tasks/generating_model.h"
#include "tasks/languages.h"
#include "tasks/texts/prompt_texts.h"

#include <map>
#include <thread>

namespace attend {
namespace {

// The state of a request until its end.
struct Work {
  QueueRequest request;
  GenerationConfig config;
  PromptTexts reading;  // according to `config`
  const Languages& languages;
  std::optional<std::int64_t> source_language;
  std::vector<std::string> endings;  // stop strings that are not shown
  std::optional<ChatTurn> turn;      // for conversations
  std::string turn_prompt;
  Prompt prompt = {};
  struct Text {
    TextStream stream;
    AnswerReader shown;
  };
  std::map<std::size_t, Text> texts = {};

  Work(QueueRequest asked, const GeneratingModel& of, const Languages& known,
       const ChatTemplate* chat_template)
      : request(std::move(asked)),
        config(of.config),
        reading(of.model, of.tokenizers, config),
        languages(known) {
    apply_changes(config, request.configure);
    source_language = languages.choose({request.source_language, request.target_language}, config);
    config.output_scores = config.output_scores || request.log_probabilities;
    if (request.log_probabilities) config.output_top_scores = static_cast<std::int64_t>(request.likeliest);
    reading.begin_with(request.prefix);
    reading.lead_away_from(request.negative_prompt);
    if (chat_template)
      begin_turn(*chat_template, *of.tokenizers.target);
    else if (!request.shows_stop)
      endings = config.stop_strings;
  }

  void begin_turn(const ChatTemplate& chat_template, const Tokenizer& tokenizer) {
    const ErrorScope scope(ErrorKind::input);
    turn.emplace(chat_template, read_chat_variables(request.chat_variables), request.tool_choice,
                 request.parallel_tool_calls);
    if (chat_template.is_plain()) {
      const std::vector<ChatMessage> messages = turn->readable(request.messages);
      check_turns(messages);
      if (messages.back().role != "user") fail("expected a last message of user, to be answered");
    }
    turn_prompt = turn->prompt(request.messages);
    endings = turn->set_form(config, tokenizer, turn_prompt);
    reading.show(turn->shown_tokens(tokenizer));
  }

  bool is_conversation() const { return !request.messages.empty(); }

  // The prompt is read after the settings have been checked.
  void read() {
    if (turn)
      prompt = reading.read({turn_prompt}, /*special_tokens=*/false).front();
    else if (!request.ids.empty())
      prompt = reading.read(request.ids);
    else
      prompt = reading.read({request.prompt}).front();
    if (source_language) languages.write_source(prompt.ids, *source_language);
    prompt.adapter = request.adapter;
  }

  AnswerReader reader() const {
    return {endings, turn ? std::optional(turn->parser(turn_prompt)) : std::nullopt};
  }
  Text begin() const { return {reading.stream(prompt), reader()}; }

  void take(std::size_t number, const ChosenToken& token) {
    auto found = texts.find(number);
    if (found == texts.end()) found = texts.emplace(number, begin()).first;  // this decodes the prompt
    Text& text = found->second;
    const auto id = static_cast<TokenId>(token.id);
    AnswerPieces pieces = text.shown.put(text.stream.put(id));
    request.on_token({number, id, std::move(pieces.content), token.log_probability,
                      token_scores(token.likeliest), std::move(pieces.reasoning), std::move(pieces.calls)});
  }

  GeneratedText text(const GeneratedSequence& made) const {
    GeneratedText text =
        generated_text(made, reading.text(prompt, made.ids), config, request.log_probabilities);
    AnswerReader shown = reader();
    WholeAnswer answer;
    answer.add(shown.put(text.text));
    answer.add(shown.finish());
    text.text = std::move(answer.content);
    text.reasoning = std::move(answer.reasoning);
    text.calls = std::move(answer.calls);
    return text;
  }

  // Texts are decoded here, which may also fail.
  QueueResult result(const BatchResult& made) const {
    QueueResult result{made.end, {}, made.error, prompt.ids.size(), made.times};
    try {
      for (const GeneratedSequence& sequence : made.texts) result.texts.push_back(text(sequence));
    } catch (...) {
      result.end = QueueEnd::failed;
      result.texts.clear();
      result.error = std::current_exception();
    }
    return result;
  }

  // If a text does not show its stop string, a stop string that begins in the prompt cannot end it.
  StopStrings::Scope stops() const {
    return is_conversation() || !request.shows_stop ? StopStrings::Scope::new_text
                                                    : StopStrings::Scope::whole_text;
  }
};

}  // namespace

struct GenerationQueue::State : GeneratingModel {
  Languages languages;
  std::optional<ChatTemplate> chat_template;
  std::string no_conversations;  // why conversations are not supported
  ContinuousBatch batch;
  std::int64_t max_prompt_tokens;
  std::jthread steps;  // destroyed first

  State(const ModelDirectory& directory, const QueueOptions& options)
      : GeneratingModel(directory),
        languages(tokenizers, directory.path()),
        batch(model, {.cache = {.bytes = options.cache_bytes.value_or(0)},
                      .batch_tokens = options.batch_tokens,
                      .prompt_step_tokens = options.prompt_step_tokens,
                      .max_queue_seconds = options.max_queue_seconds}),
        max_prompt_tokens(options.max_prompt_tokens) {
    read_template(options.chat_template, directory.path());
    steps = std::jthread([this](const std::stop_token& stop) {
      batch.run(stop);
      batch.close();
    });
  }

  void read_template(const std::string& given, const std::filesystem::path& directory) {
    if (model.network()->is_encoder_decoder()) {
      no_conversations = "a conversation takes a decoder such as GPT-2, found " + model.architecture();
      return;
    }
    try {
      chat_template.emplace(given, directory);
    } catch (const Error& error) {
      if (!given.empty()) throw;
      no_conversations = error.what();
    }
  }
};

GenerationQueue::GenerationQueue(const ModelPath& model, const QueueOptions& options)
    : state_(std::make_unique<State>(ModelDirectory(model), options)) {}
// While the queue's thread ends, its callbacks may still call the queue, so the queue must still be complete.
GenerationQueue::~GenerationQueue() {
  state_->steps.request_stop();
  state_->steps.join();
}

GenerationQueue::Ticket GenerationQueue::submit(QueueRequest request) {
  const ChatTemplate* chat_template = nullptr;
  if (!request.messages.empty()) {
    if (!state_->chat_template) fail("{}", state_->no_conversations);
    if (!request.prompt.empty() || !request.ids.empty()) fail("expected a prompt or messages, found both");
    chat_template = &*state_->chat_template;
  }
  const auto work = std::make_shared<Work>(std::move(request), *state_, state_->languages, chat_template);
  const auto settings =
      state_->batch.prepare(work->config, work->request.seed, state_->tokenizers.target.get(),
                            /*rule=*/{}, work->stops());
  const ErrorScope scope(ErrorKind::input);
  work->read();
  if (const std::int64_t max = state_->max_prompt_tokens, found = std::ssize(work->prompt.ids);
      max > 0 && found > max)
    fail("the prompt has {} tokens: expected at most {}", found, max);
  BatchRequest asked{work->prompt, settings};
  if (work->request.on_token)
    asked.on_token = [work](std::size_t text, const ChosenToken& token) { work->take(text, token); };
  if (work->request.on_end)
    asked.on_end = [work](const BatchResult& made) { work->request.on_end(work->result(made)); };
  return state_->batch.submit(std::move(asked));
}

const std::string& GenerationQueue::no_conversations() const {
  return state_->no_conversations;
}

void GenerationQueue::cancel(Ticket ticket) {
  state_->batch.cancel(ticket);
}

QueueStatus GenerationQueue::status() const {
  return state_->batch.status();
}

}  // namespace attend
