#include "generation/scores/processors.h"

#include "generation/scores/form_processors.h"
#include "generation/scores/repetition_processors.h"
#include "generation/scores/temperature_processors.h"
#include "generation/scores/token_processors.h"
#include "generation/scores/truncation_processors.h"
#include "generation/scores/watermark_processors.h"

#include <algorithm>

namespace attend {

Tensor tensor_of(std::span<float> scores) {
  return ops::from_memory(scores.data(), {static_cast<std::int64_t>(scores.size())}, kFloat);
}

LogitsProcessors::LogitsProcessors(const GenerationConfig& config, std::shared_ptr<const Grammar> grammar,
                                   ScoreRule rule) {
  const auto add = [this](Processor processor) { processors_.push_back(std::move(processor)); };
  const std::vector<std::int64_t>& ends = config.eos_token_id;
  // Not in the original. Before those that force a token, which is then the only one.
  if (grammar) add(text_form(grammar, config.forced_bos_token_id.has_value()));
  if (!config.sequence_bias.empty()) add(sequence_bias(config.sequence_bias));
  if (config.num_beam_groups > 1) add(diversity_penalty(config.diversity_penalty));
  if (config.encoder_repetition_penalty != 1)
    add(encoder_repetition_penalty(config.encoder_repetition_penalty));
  if (config.repetition_penalty != 1) add(repetition_penalty(config.repetition_penalty));
  if (config.presence_penalty != 0 || config.frequency_penalty != 0)  // not in the original
    add(presence_and_frequency_penalty(config.presence_penalty, config.frequency_penalty));
  if (config.no_repeat_ngram_size > 0) add(no_repeat_ngram(config.no_repeat_ngram_size));
  if (config.encoder_no_repeat_ngram_size > 0)
    add(encoder_no_repeat_ngram(config.encoder_no_repeat_ngram_size));
  if (!config.bad_words_ids.empty()) add(bad_words(config.bad_words_ids, ends));
  if (!ends.empty() && (config.min_length > 0 || config.min_new_tokens.value_or(0) > 0))
    add(min_length(ends));
  if (config.forced_bos_token_id) add(forced_second(*config.forced_bos_token_id));
  if (!config.forced_eos_token_id.empty()) add(forced_last(config.forced_eos_token_id));
  if (config.remove_invalid_values) add(remove_invalid_values());
  if (config.exponential_decay_length_penalty)
    add(exponential_decay_length_penalty(*config.exponential_decay_length_penalty, ends));
  if (!config.suppress_tokens.empty()) add(suppress_tokens(config.suppress_tokens));
  if (!config.begin_suppress_tokens.empty())
    add(begin_suppress_tokens(config.begin_suppress_tokens, config.forced_bos_token_id.has_value()));
  const bool may_leave_nothing = grammar || rule;
  if (rule) add(own_rule(std::move(rule)));
  if (config.dry.multiplier != 0) add(dry(config.dry));  // not in the original
  if (may_leave_nothing && config.num_beams == 1) add(something_left());
  if (config.do_sample) {
    // A beam search continues with beams that do not end, so each must have more tokens left than there are
    // end tokens.
    const std::size_t keep = config.num_beams == 1 ? 1 : std::max<std::size_t>(2, 1 + ends.size());
    if (config.dynatemp_range > 0)  // not in the original
      add(dynamic_temperature(config.temperature, config.dynatemp_range, config.dynatemp_exponent));
    else if (config.temperature != 1)
      add(temperature(config.temperature));
    if (config.top_k > 0 && config.mirostat.version == 0)
      add(top_k(static_cast<std::size_t>(config.top_k), keep));
    if (config.top_p < 1) add(top_p(config.top_p, keep));
    if (config.min_p) add(min_p(*config.min_p, keep));
    if (config.typical_p < 1) add(typical_p(config.typical_p, keep));
    if (config.epsilon_cutoff > 0) add(epsilon_cutoff(config.epsilon_cutoff, keep));
    if (config.eta_cutoff > 0) add(eta_cutoff(config.eta_cutoff, keep));
    if (config.xtc_probability > 0)
      add(xtc(config.xtc_probability, config.xtc_threshold));  // not in the original
  }
  if (config.watermark) add(put_watermark(*config.watermark));
  if (config.renormalize_logits) add(renormalize());
}

}  // namespace attend
