// The part of a continuous batch that any thread may call: requests are checked before they are accepted.
#include "base/log.h"
#include "generation/batch_job.h"

#include <algorithm>

namespace attend {
ContinuousBatch::ContinuousBatch(const PretrainedModel& model, const BatchOptions& options)
    : architecture_(model.architecture()),
      check_adapter_([model](std::optional<std::int64_t> number) { model.with_adapter(number); }),
      batch_tokens_(options.batch_tokens),
      prompt_step_tokens_(options.prompt_step_tokens),
      max_queue_seconds_(options.max_queue_seconds) {
  check_generates(model);
  const Transformer network = model.network();
  source_ = (network->encoder ? network->encoder : network->decoder)->embeddings;
  target_ = (network->decoder ? network->decoder : network->encoder)->embeddings;
  if (batch_tokens_ < 1) fail("batch tokens: expected at least 1, found {}", batch_tokens_);
  if (constexpr std::int64_t min = BatchOptions::kMinPromptStepTokens;
      prompt_step_tokens_ != 0 && prompt_step_tokens_ < min)
    fail("prompt tokens per step: expected at least {}, found {}", min, prompt_step_tokens_);
  decoder_ = std::make_unique<GuidedDecoder>(make_decoder(model, options.cache));
  if (options.assistant.model) assistant_ = std::make_unique<Assistant>(network, options.assistant);
  status_.max_pages = decoder_->max_pages();
}

std::shared_ptr<const SearchSettings> ContinuousBatch::prepare(const GenerationConfig& config,
                                                               std::uint64_t seed, const Tokenizer* tokenizer,
                                                               ScoreRule rule,
                                                               StopStrings::Scope stops) const {
  check_config(config, target_->spec().vocabulary);
  if ((assistant_ || is_contrastive(config)) && !decoder_->scores_several())
    fail("{} reads its text again at every step: expected no assistant and no penalty_alpha", architecture_);
  if (assistant_ && (texts_at_a_time(config) > 1 || config.prompt_lookup_num_tokens))
    fail(
        "an assistant guesses for one text per prompt; leave it out, or num_beams, num_return_sequences, "
        "return_alternatives, prompt_lookup_num_tokens and penalty_alpha");
  if (config.guidance_scale != 1 && (decoder_->has_encoder() || !decoder_->scores_several()))
    fail("guidance_scale: expected a decoder-only model with a KV cache, found {}", architecture_);
  std::shared_ptr<const Grammar> grammar;
  if (config.form) {
    if (!tokenizer) fail("json_schema, regex, grammar: they need the model's tokenizer, and none was given");
    grammar = std::make_shared<const Grammar>(*config.form, *tokenizer, target_->spec().vocabulary,
                                              config.eos_token_id);
  }
  SearchSettings settings{config, LogitsProcessors(config, std::move(grammar), std::move(rule)), seed,
                          StopStrings(config.stop_strings, tokenizer, stops)};
  // Draft tokens change no result, and if every step reads the whole text they save nothing.
  if (!decoder_->scores_several()) settings.config.prompt_lookup_num_tokens.reset();
  if (decoder_->has_encoder()) settings.start = {start_token(config)};
  return std::make_shared<const SearchSettings>(std::move(settings));
}

ContinuousBatch::Ticket ContinuousBatch::submit(BatchRequest request) {
  const ErrorScope scope(ErrorKind::input);
  auto job = std::make_unique<Job>(std::move(request));
  const Prompt& prompt = job->request.prompt;
  check_adapter_(prompt.adapter);
  decoder_->check(prompt);
  if (assistant_) assistant_->check(prompt);
  if (!prompt.written.empty() && !decoder_->has_encoder())
    fail("a decoder without an encoder goes on with its prompt: what its text begins with belongs there");
  const GenerationConfig& config = job->config();
  const std::vector<std::int64_t>& start = job->request.settings->start;
  job->source = prompt.row.empty() ? prompt.ids : prompt.row;
  job->tokens = !decoder_->has_encoder() ? job->source : prompt.written.empty() ? start : prompt.written;
  job->first = decoder_->has_encoder() || decoder_->reads_padding() ? job->tokens : std::span(prompt.ids);
  if (source_) source_->check_ids(decoder_->has_encoder() ? std::span(prompt.ids) : job->first);
  target_->check_ids(job->first);

  if (config.guidance_scale != 1) {
    job->negative = prompt.negative.empty() ? std::vector{prompt.ids.back()} : prompt.negative;
    decoder_->check({job->negative, {}, {}});
    target_->check_ids(job->negative);
  }

  const std::int64_t positions = target_->max_positions();
  job->limits = length_limits(config, static_cast<std::int64_t>(job->tokens.size()), positions);
  job->max_new = job->limits.max - job->limits.prompt;
  // A contrastive search reads its last token too.
  const std::int64_t last_read = is_contrastive(config) ? 1 : 0;
  const std::size_t longest = std::max(job->first.size(), job->negative.size());
  const std::int64_t room = decoder_->room(static_cast<std::int64_t>(longest)) - last_read;
  if (room < 1) fail("it leaves no room for another token among the model's positions");
  const std::int64_t guesses =
      assistant_ ? config.num_assistant_tokens : config.prompt_lookup_num_tokens.value_or(0);
  job->texts = texts_at_a_time(config);
  job->rows = job->texts + guesses;
  job->in_pieces = prompt_step_tokens_ > 0 && job->negative.empty() && !is_contrastive(config) &&
                   decoder_->reads_in_pieces(prompt);
  const bool cut = job->max_new > room;
  job->max_new = std::min(job->max_new, room);

  // Other searches do not read the last token. A branch with draft tokens reads up to five times as many
  // additional tokens.
  const std::int64_t pages = job->pages(*decoder_, job->max_new - 1 + last_read) +
                             (guesses > 0 ? PagedCache::pages_of(5 * guesses) + 1 : 0);
  if (decoder_->max_pages() > 0 && pages > decoder_->max_pages())
    fail(
        "with up to {} new tokens it may need keys and values of {} tokens, but there is memory for {}; ask "
        "for fewer tokens or texts, or give it more memory",
        job->max_new, pages * PagedCache::kPageRows, decoder_->max_pages() * PagedCache::kPageRows);

  const std::lock_guard lock(mutex_);
  if (closed_) throw Error("the requests' batch has ended and takes no more", ErrorKind::call);
  if (cut && !std::exchange(warned_, true)) warn("texts end at the {} tokens the model can hold", positions);
  job->ticket = ++last_ticket_;
  submitted_.emplace(job->ticket, std::move(job));
  news_.notify_one();
  return last_ticket_;
}

void ContinuousBatch::cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  cancelled_.push_back(ticket);
  news_.notify_one();
}

QueueStatus ContinuousBatch::status() const {
  const std::lock_guard lock(mutex_);
  QueueStatus status = status_;
  status.waiting += submitted_.size();
  for (const auto& [ticket, job] : submitted_) status.waiting_tokens += job->request.prompt.ids.size();
  return status;
}

}  // namespace attend
