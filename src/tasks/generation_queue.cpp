#include <attend/generation_queue.h>

#include "base/log.h"
#include "generation/continuous_batch.h"
#include "models/pretrained_model.h"
#include "tasks/prompt_texts.h"

#include <map>
#include <thread>

namespace attend {
namespace {

// What a request needs until its end.
struct Work {
  QueueRequest request;
  GenerationConfig config;
  Prompt prompt;
  std::map<std::size_t, TextStream> streams;  // by text
};

PretrainedModel generating(const ModelDirectory& directory) {
  PretrainedModel model = PretrainedModel::load(directory, Purpose::inference);
  check_generates(model);
  return model;
}

QueueResult::End end_of(BatchResult::End end) {
  switch (end) {
    case BatchResult::End::finished:
      return QueueResult::End::finished;
    case BatchResult::End::cancelled:
      return QueueResult::End::cancelled;
    case BatchResult::End::failed:
      break;
  }
  return QueueResult::End::failed;
}

}  // namespace

struct GenerationQueue::State {
  PretrainedModel model;
  TokenizerPair tokenizers;
  GenerationConfig config;
  ContinuousBatch batch;
  std::jthread steps;  // ends first

  State(const ModelDirectory& directory, const QueueOptions& options)
      : model(generating(directory)),
        tokenizers(TokenizerPair::from_file(directory.path())),
        config(GenerationConfig::of(model)),
        batch(model,
              {.cache = {.bytes = options.cache_bytes.value_or(0)}, .batch_tokens = options.batch_tokens}),
        steps([this](const std::stop_token& stop) { batch.run(stop); }) {}

  void end(const Work& work, BatchResult made) const {
    if (!work.request.on_end) return;
    QueueResult result{end_of(made.end), {}, made.error};
    const PromptTexts reading(model, tokenizers, work.config);
    for (const GeneratedSequence& sequence : made.texts) {
      GeneratedText& text = result.texts.emplace_back();
      text.ids.assign(sequence.ids.begin(), sequence.ids.end());
      text.text = reading.text(work.prompt, sequence.ids);
      text.score = sequence.score;
      if (work.request.log_probabilities) text.log_probabilities = sequence.log_probabilities;
    }
    try {
      work.request.on_end(result);
    } catch (const std::exception& error) {
      warn("a request's on_end: {}", error.what());
    }
  }
};

GenerationQueue::GenerationQueue(const ModelPath& model, const QueueOptions& options)
    : state_(std::make_unique<State>(ModelDirectory(model), options)) {}
GenerationQueue::~GenerationQueue() = default;

GenerationQueue::Ticket GenerationQueue::submit(QueueRequest request) {
  const auto work = std::make_shared<Work>();
  work->request = std::move(request);
  work->config = state_->config;
  work->config.apply(Fields(parse_json(work->request.settings, "the settings"), "the settings"), true);
  work->config.output_scores = work->config.output_scores || work->request.log_probabilities;
  const auto settings =
      state_->batch.prepare(work->config, work->request.seed, state_->tokenizers.target.get());
  const ErrorScope scope(ErrorKind::input);
  const PromptTexts reading(state_->model, state_->tokenizers, work->config);
  work->prompt = reading.read({work->request.prompt}).front();
  work->prompt.adapter = work->request.adapter;
  BatchRequest asked{work->prompt, settings};
  State* const state = state_.get();
  if (work->request.on_token)
    asked.on_token = [state, work](std::size_t text, std::int64_t token) {
      const PromptTexts texts(state->model, state->tokenizers, work->config);
      TextStream& stream = work->streams.try_emplace(text, texts.stream(work->prompt)).first->second;
      const auto id = static_cast<TokenId>(token);
      work->request.on_token({text, id, stream.put(id)});
    };
  asked.on_end = [state, work](BatchResult result) { state->end(*work, std::move(result)); };
  return state_->batch.submit(std::move(asked));
}

void GenerationQueue::cancel(Ticket ticket) {
  state_->batch.cancel(ticket);
}

QueueStatus GenerationQueue::status() const {
  const BatchStatus now = state_->batch.status();
  return {now.running,   now.waiting, now.pages_in_use, now.most_pages,
          now.max_pages, now.steps,   now.preemptions};
}

}  // namespace attend
