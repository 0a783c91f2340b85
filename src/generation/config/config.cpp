#include "generation/config/config.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace attend {
namespace {

void check_ids(std::span<const std::int64_t> ids, std::int64_t vocabulary, const char* name) {
  for (const std::int64_t id : ids)
    if (id < 0 || id >= vocabulary)
      fail("{}: {} is outside the model's vocabulary of {} tokens", name, id, vocabulary);
}

void check_range(double value, double min, double max, const char* name) {
  if (!(value >= min && value <= max))
    fail("{}: expected a number from {} to {}, found {}", name, min, max, value);
}

void check_id(const std::optional<std::int64_t>& id, std::int64_t vocabulary, const char* name) {
  if (id) check_ids({&*id, 1}, vocabulary, name);
}

void check_min(double value, double min, const char* name) {
  if (!(value >= min) || !std::isfinite(value))
    fail("{}: expected a number of at least {}, found {}", name, min, value);
}

// `least` itself is not allowed.
void check_above(double value, double min, const char* name, const char* hint = "") {
  if (!(value > min) || !std::isfinite(value))
    fail("{}: expected a number above {}, found {}{}", name, min, value, hint);
}

// Scores are float32. A larger setting could turn a finite score into an infinite one.
constexpr double kLargestChange = 1e30, kSmallestFactor = 1e-30;

// For settings that multiply or divide scores.
void check_factor(double value, const char* name) {
  check_above(value, 0, name);
  if (value < kSmallestFactor || value > kLargestChange)
    fail("{}: expected a number from {} to {}, found {}", name, kSmallestFactor, kLargestChange, value);
}

void check_number_of_texts(const GenerationConfig& config, std::int64_t vocabulary) {
  if (config.prompt_lookup_num_tokens && (config.num_beams > 1 || config.num_return_sequences > 1))
    fail(
        "prompt_lookup_num_tokens: expected one text per prompt, found num_beams {} and num_return_sequences "
        "{}; leave out one or the other",
        config.num_beams, config.num_return_sequences);
  if (config.return_alternatives) {
    if (config.num_return_sequences > vocabulary)
      fail("num_return_sequences: expected at most {} alternatives (the vocabulary), found {}", vocabulary,
           config.num_return_sequences);
    if (is_contrastive(config))
      fail(
          "return_alternatives: contrastive search has none; leave out penalty_alpha or return_alternatives");
    return;
  }
  if (config.num_beams > 1 && config.num_return_sequences > config.num_beams)
    fail("num_return_sequences: expected at most num_beams ({}), found {}", config.num_beams,
         config.num_return_sequences);
  if (config.num_beams == 1 && !config.do_sample && config.num_return_sequences > 1)
    fail(
        "num_return_sequences: {} texts need sampling, a beam search or return_alternatives; greedy decoding "
        "gives only one",
        config.num_return_sequences);
}

void check_sampling(const GenerationConfig& config) {
  check_above(static_cast<float>(config.temperature), 0, "temperature",
              "; for the likeliest token each time, do not sample");
  check_range(config.top_p, 0, 1, "top_p");
  if (config.min_p) check_range(*config.min_p, 0, 1, "min_p");
  check_above(config.typical_p, 0, "typical_p");
  check_range(config.epsilon_cutoff, 0, 1, "epsilon_cutoff");
  check_range(config.eta_cutoff, 0, 1, "eta_cutoff");
  check_min(config.dynatemp_range, 0, "dynatemp_range");
  check_min(config.dynatemp_exponent, 0, "dynatemp_exponent");
  check_range(config.xtc_probability, 0, 1, "xtc_probability");
  check_range(config.xtc_threshold, 0, 1, "xtc_threshold");
}

void check_mirostat(const GenerationConfig& config) {
  check_above(config.mirostat.surprise, 0, "mirostat_tau");
  check_min(config.mirostat.rate, 0, "mirostat_eta");
  if (!config.do_sample || config.num_beams > 1)
    fail("mirostat: tokens must be sampled one at a time; set do_sample and leave out num_beams");
  if (config.top_p < 1 || config.min_p || config.typical_p < 1 || config.epsilon_cutoff > 0 ||
      config.eta_cutoff > 0 || config.xtc_probability > 0)
    fail(
        "mirostat: it excludes tokens itself; leave out top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff "
        "and xtc_probability");
}

void check_contrastive(const GenerationConfig& config, std::int64_t vocabulary) {
  check_range(config.penalty_alpha, 0, 1, "penalty_alpha");
  if (config.do_sample || config.num_beams > 1 || config.prompt_lookup_num_tokens)
    fail(
        "penalty_alpha: contrastive search works without sampling, beams and draft tokens; leave out "
        "do_sample, num_beams and prompt_lookup_num_tokens, or penalty_alpha");
  if (config.top_k < 2 || config.top_k > vocabulary)
    fail("top_k: contrastive search chooses among 2 to {} tokens (the vocabulary), found {}", vocabulary,
         config.top_k);
}

void check_groups(const GenerationConfig& config) {
  if (config.num_beams % config.num_beam_groups != 0)
    fail("num_beam_groups: expected a divisor of num_beams ({}), found {}", config.num_beams,
         config.num_beam_groups);
  check_above(config.diversity_penalty, 0, "diversity_penalty",
              "; without it all groups of beams find the same");
  if (config.do_sample)
    fail("num_beam_groups: groups of beams are not sampled; leave out do_sample or num_beam_groups");
  if (!config.stop_strings.empty())
    fail(
        "num_beam_groups: groups of beams end only at eos_token_id; leave out stop_strings or "
        "num_beam_groups");
  if (config.output_scores)
    fail("num_beam_groups: groups of beams return no scores; leave out output_scores or num_beam_groups");
}

void check_forced_words(const GenerationConfig& config, std::int64_t vocabulary) {
  if (config.num_beams == 1)
    fail("force_words_ids: only a beam search can force words; set num_beams above 1, or leave them out");
  if (config.do_sample || config.num_beam_groups > 1 || !config.stop_strings.empty() || config.output_scores)
    fail(
        "force_words_ids: not together with do_sample, num_beam_groups, stop_strings or output_scores; leave "
        "out these or the words");
  for (const ForcedWord& word : config.force_words_ids) {
    if (word.empty() || std::ranges::any_of(word, &std::vector<std::int64_t>::empty))
      fail("force_words_ids: expected phrases of at least one token");
    for (const auto& phrase : word) check_ids(phrase, vocabulary, "force_words_ids");
    for (const auto& phrase : word)
      for (const auto& other : word)
        if (&phrase != &other && std::ranges::mismatch(phrase, other).in2 == other.end())
          fail(
              "force_words_ids: of two phrases for one word, one is the beginning of the other; leave out "
              "the longer one");
  }
}

void check_form(const GenerationConfig& config) {
  if (config.eos_token_id.empty())
    fail("json_schema, regex, grammar: a text of a required form ends with an end token; set eos_token_id");
  if (is_contrastive(config) || config.return_alternatives || !config.force_words_ids.empty())
    fail(
        "json_schema, regex, grammar: not together with penalty_alpha, return_alternatives or "
        "force_words_ids, which ignore the form; leave out these or the form");
}

void check_guidance(const GenerationConfig& config) {
  check_range(config.guidance_scale, -kLargestChange, kLargestChange, "guidance_scale");
  // The original mixes up the beams' histories there, so there is no correct result to compare with.
  if (config.num_beams > 1 || is_contrastive(config))
    fail("guidance_scale: not together with num_beams or penalty_alpha; leave out these or guidance_scale");
}

void check_watermark(const GenerationConfig& config) {
  if (const auto* green = std::get_if<GreenListWatermark>(&*config.watermark)) {
    if (!(green->ratio > 0 && green->ratio < 1))
      fail("watermarking_config: greenlist_ratio: expected a number above 0 and below 1, found {}",
           green->ratio);
    check_range(green->bias, -kLargestChange, kLargestChange, "watermarking_config: bias");
  }
}

void check_output_scores(const GenerationConfig& config) {
  if (!config.output_scores) fail("output_top_scores: they need output_scores; set it too");
  if (config.num_beams > 1 || is_contrastive(config) || config.return_alternatives)
    fail(
        "output_top_scores: only for texts that grow token by token; leave out num_beams, penalty_alpha and "
        "return_alternatives, or output_top_scores");
}

// Whether the search is one of transformers' older ones, whose ranking stores texts without their end tokens.
bool ranks_without_ends(const GenerationConfig& config) {
  return config.num_beam_groups > 1 || !config.force_words_ids.empty();
}

}  // namespace

void check_config(const GenerationConfig& config, std::int64_t vocabulary) {
  check_number_of_texts(config, vocabulary);
  if (config.do_sample) check_sampling(config);
  if (config.mirostat.version != 0) check_mirostat(config);
  if (is_contrastive(config)) check_contrastive(config, vocabulary);
  if (config.num_beam_groups > 1)
    check_groups(config);
  else if (config.diversity_penalty != 0)
    fail("diversity_penalty: {} needs groups of beams; set num_beam_groups above 1",
         config.diversity_penalty);
  if (!config.force_words_ids.empty()) check_forced_words(config, vocabulary);
  if (config.form) check_form(config);
  if (config.guidance_scale != 1) check_guidance(config);
  if (config.watermark) check_watermark(config);
  if (config.output_top_scores > 0) check_output_scores(config);
  if (config.max_time) check_above(*config.max_time, 0, "max_time");
  check_factor(config.repetition_penalty, "repetition_penalty");
  check_range(config.presence_penalty, -kLargestChange, kLargestChange, "presence_penalty");
  check_range(config.frequency_penalty, -kLargestChange, kLargestChange, "frequency_penalty");
  check_factor(config.encoder_repetition_penalty, "encoder_repetition_penalty");
  check_min(config.dry.multiplier, 0, "dry_multiplier");
  check_above(config.dry.base, 0, "dry_base");
  if (!std::isfinite(config.length_penalty))
    fail("length_penalty: expected a number, found {}", config.length_penalty);
  for (const auto& word : config.bad_words_ids) check_ids(word, vocabulary, "bad_words_ids");
  for (const SequenceBias& bias : config.sequence_bias) {
    check_ids(bias.tokens, vocabulary, "sequence_bias");
    check_range(bias.bias, -kLargestChange, kLargestChange, "sequence_bias");
  }
  if (config.exponential_decay_length_penalty && config.eos_token_id.empty())
    fail(
        "exponential_decay_length_penalty: it makes end tokens likelier, but there is no eos_token_id; set "
        "one, or leave out the penalty");
  check_id(config.decoder_start_token_id, vocabulary, "decoder_start_token_id");
  check_id(config.forced_bos_token_id, vocabulary, "forced_bos_token_id");
  check_ids(config.forced_eos_token_id, vocabulary, "forced_eos_token_id");
}

bool is_contrastive(const GenerationConfig& config) {
  return config.penalty_alpha != 0;
}

std::int64_t texts_at_a_time(const GenerationConfig& config) {
  if (config.return_alternatives) return config.num_return_sequences * config.num_beams;
  return std::max({config.num_beams, config.num_return_sequences, is_contrastive(config) ? config.top_k : 1});
}

std::int64_t padding_token(const GenerationConfig& config) {
  // As in the original: its beam search treats a padding id of 0 as absent, and ignores it without eos.
  if (config.num_beams > 1 && !ranks_without_ends(config))
    return config.eos_token_id.empty()            ? -1
           : config.pad_token_id.value_or(0) != 0 ? *config.pad_token_id
                                                  : config.eos_token_id[0];
  return config.pad_token_id           ? *config.pad_token_id
         : config.eos_token_id.empty() ? 0
                                       : config.eos_token_id[0];
}

LengthLimits length_limits(const GenerationConfig& config, std::int64_t prompt, std::int64_t max_positions) {
  LengthLimits limits;
  limits.prompt = prompt;
  limits.max = config.max_new_tokens ? prompt + *config.max_new_tokens
               : config.max_length   ? *config.max_length
                                     : std::min(prompt + default_max_length, max_positions);
  limits.min = config.min_new_tokens ? prompt + *config.min_new_tokens : config.min_length;
  if (prompt >= limits.max)
    fail("the prompt has {} tokens, but prompt and new tokens together may be at most {}; {}", prompt,
         limits.max,
         config.max_length && !config.max_new_tokens ? "raise max_length or set max_new_tokens"
                                                     : "shorten it");
  return limits;
}

std::int64_t start_token(const GenerationConfig& config) {
  if (config.decoder_start_token_id) return *config.decoder_start_token_id;
  if (config.bos_token_id) return *config.bos_token_id;
  fail("decoder_start_token_id: the decoder needs a start token; set decoder_start_token_id or bos_token_id");
}

bool is_eos(const GenerationConfig& config, std::int64_t token) {
  return std::ranges::find(config.eos_token_id, token) != config.eos_token_id.end();
}

}  // namespace attend
