#include <attend/generation_queue.h>

#include "base/log.h"
#include "generation/continuous_batch.h"
#include "tasks/generating_model.h"
#include "tasks/prompt_texts.h"

#include <map>
#include <thread>

namespace attend {
namespace {

// What a request needs until its end.
struct Work {
  QueueRequest request;
  GenerationConfig config;
  PromptTexts reading;  // by `config`
  Prompt prompt = {};
  std::map<std::size_t, TextStream> streams = {};  // by text

  Work(QueueRequest asked, const GeneratingModel& of)
      : request(std::move(asked)), config(of.config), reading(of.model, of.tokenizers, config) {
    config.apply(request.settings);
    config.output_scores = config.output_scores || request.log_probabilities;
  }

  // The prompt is read when it is known that the settings make sense.
  void read() {
    prompt = reading.read({request.prompt}).front();
    prompt.adapter = request.adapter;
  }

  void take(std::size_t text, std::int64_t token) {
    TextStream& stream = streams.try_emplace(text, reading.stream(prompt)).first->second;
    const auto id = static_cast<TokenId>(token);
    request.on_token({text, id, stream.put(id)});
  }

  void end(const BatchResult& made) const {
    if (!request.on_end) return;
    QueueResult result{made.end, {}, made.error};
    for (const GeneratedSequence& sequence : made.texts)
      result.texts.push_back(
          generated_text(sequence, reading.text(prompt, sequence.ids), request.log_probabilities));
    try {
      request.on_end(result);
    } catch (const std::exception& error) {
      warn("a request's on_end: {}", error.what());
    } catch (...) {
      warn("a request's on_end threw what is no std::exception");
    }
  }
};

}  // namespace

struct GenerationQueue::State : GeneratingModel {
  ContinuousBatch batch;
  std::jthread steps;  // ends first

  State(const ModelDirectory& directory, const QueueOptions& options)
      : GeneratingModel(directory),
        batch(model,
              {.cache = {.bytes = options.cache_bytes.value_or(0)}, .batch_tokens = options.batch_tokens}),
        steps([this](const std::stop_token& stop) { batch.run(stop); }) {}
};

GenerationQueue::GenerationQueue(const ModelPath& model, const QueueOptions& options)
    : state_(std::make_unique<State>(ModelDirectory(model), options)) {}
GenerationQueue::~GenerationQueue() = default;

GenerationQueue::Ticket GenerationQueue::submit(QueueRequest request) {
  const auto work = std::make_shared<Work>(std::move(request), *state_);
  const auto settings =
      state_->batch.prepare(work->config, work->request.seed, state_->tokenizers.target.get());
  const ErrorScope scope(ErrorKind::input);
  work->read();
  BatchRequest asked{work->prompt, settings};
  if (work->request.on_token)
    asked.on_token = [work](std::size_t text, std::int64_t token) { work->take(text, token); };
  asked.on_end = [work](const BatchResult& result) { work->end(result); };
  return state_->batch.submit(std::move(asked));
}

void GenerationQueue::cancel(Ticket ticket) {
  state_->batch.cancel(ticket);
}

QueueStatus GenerationQueue::status() const {
  return state_->batch.status();
}

}  // namespace attend
