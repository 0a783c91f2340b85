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

}  // namespace

void GenerationConfig::check(std::int64_t vocabulary) const {
  check_number_of_texts(vocabulary);
  if (do_sample) check_sampling();
  if (mirostat.version != 0) check_mirostat();
  if (is_contrastive()) check_contrastive(vocabulary);
  if (num_beam_groups > 1)
    check_groups();
  else if (diversity_penalty != 0)
    fail("diversity_penalty: {} needs groups of beams; set num_beam_groups above 1", diversity_penalty);
  if (!force_words_ids.empty()) check_forced_words(vocabulary);
  if (form) check_form();
  if (guidance_scale != 1) check_guidance();
  if (watermark) check_watermark();
  if (output_top_scores > 0) check_output_scores();
  if (max_time) check_above(*max_time, 0, "max_time");
  check_factor(repetition_penalty, "repetition_penalty");
  check_range(presence_penalty, -kLargestChange, kLargestChange, "presence_penalty");
  check_range(frequency_penalty, -kLargestChange, kLargestChange, "frequency_penalty");
  check_factor(encoder_repetition_penalty, "encoder_repetition_penalty");
  check_min(dry.multiplier, 0, "dry_multiplier");
  check_above(dry.base, 0, "dry_base");
  if (!std::isfinite(length_penalty)) fail("length_penalty: expected a number, found {}", length_penalty);
  for (const auto& word : bad_words_ids) check_ids(word, vocabulary, "bad_words_ids");
  for (const SequenceBias& bias : sequence_bias) {
    check_ids(bias.tokens, vocabulary, "sequence_bias");
    check_range(bias.bias, -kLargestChange, kLargestChange, "sequence_bias");
  }
  if (exponential_decay_length_penalty && eos_token_id.empty())
    fail(
        "exponential_decay_length_penalty: it makes ends likelier, and there is no eos_token_id; set one or "
        "leave the penalty out");
  check_id(decoder_start_token_id, vocabulary, "decoder_start_token_id");
  check_id(forced_bos_token_id, vocabulary, "forced_bos_token_id");
  check_ids(forced_eos_token_id, vocabulary, "forced_eos_token_id");
}

void GenerationConfig::check_number_of_texts(std::int64_t vocabulary) const {
  if (prompt_lookup_num_tokens && (num_beams > 1 || num_return_sequences > 1))
    fail(
        "prompt_lookup_num_tokens: a look-up is for one text per prompt, found num_beams {} and "
        "num_return_sequences {}; leave the one or the other out",
        num_beams, num_return_sequences);
  if (return_alternatives) {
    if (num_return_sequences > vocabulary)
      fail("num_return_sequences: expected at most {} alternatives (the vocabulary), found {}", vocabulary,
           num_return_sequences);
    if (is_contrastive())
      fail("return_alternatives: contrastive search has none; leave out penalty_alpha or the alternatives");
    return;
  }
  if (num_beams > 1 && num_return_sequences > num_beams)
    fail("num_return_sequences: expected at most num_beams ({}), found {}", num_beams, num_return_sequences);
  if (num_beams == 1 && !do_sample && num_return_sequences > 1)
    fail(
        "num_return_sequences: {} texts need sampling, a beam search or return_alternatives; the likeliest "
        "next token gives only one",
        num_return_sequences);
}

void GenerationConfig::check_sampling() const {
  check_above(static_cast<float>(temperature), 0, "temperature",
              "; for the likeliest token each time, do not sample");
  check_range(top_p, 0, 1, "top_p");
  if (min_p) check_range(*min_p, 0, 1, "min_p");
  check_above(typical_p, 0, "typical_p");
  check_range(epsilon_cutoff, 0, 1, "epsilon_cutoff");
  check_range(eta_cutoff, 0, 1, "eta_cutoff");
  check_min(dynatemp_range, 0, "dynatemp_range");
  check_min(dynatemp_exponent, 0, "dynatemp_exponent");
  check_range(xtc_probability, 0, 1, "xtc_probability");
  check_range(xtc_threshold, 0, 1, "xtc_threshold");
}

void GenerationConfig::check_mirostat() const {
  check_above(mirostat.surprise, 0, "mirostat_tau");
  check_min(mirostat.rate, 0, "mirostat_eta");
  if (!do_sample || num_beams > 1)
    fail("mirostat: it is about tokens that are drawn one at a time; set do_sample and leave out num_beams");
  if (top_p < 1 || min_p || typical_p < 1 || epsilon_cutoff > 0 || eta_cutoff > 0 || xtc_probability > 0)
    fail(
        "mirostat: it rules out tokens itself; leave out top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff "
        "and xtc_probability");
}

void GenerationConfig::check_contrastive(std::int64_t vocabulary) const {
  check_range(penalty_alpha, 0, 1, "penalty_alpha");
  if (do_sample || num_beams > 1 || prompt_lookup_num_tokens)
    fail(
        "penalty_alpha: contrastive search neither draws tokens nor has beams or guesses; leave out "
        "do_sample, "
        "num_beams and prompt_lookup_num_tokens, or penalty_alpha");
  if (top_k < 2 || top_k > vocabulary)
    fail("top_k: contrastive search chooses among 2 to {} tokens (the vocabulary), found {}", vocabulary,
         top_k);
}

void GenerationConfig::check_groups() const {
  if (num_beams % num_beam_groups != 0)
    fail("num_beam_groups: expected a divisor of num_beams ({}), found {}", num_beams, num_beam_groups);
  check_above(diversity_penalty, 0, "diversity_penalty", "; without it all groups of beams find the same");
  if (do_sample) fail("num_beam_groups: groups of beams are not drawn; leave out do_sample or the groups");
  if (!stop_strings.empty())
    fail("num_beam_groups: groups of beams end at eos_token_id only; leave out stop_strings or the groups");
  if (output_scores)
    fail("num_beam_groups: groups of beams give no output_scores; leave out these or the groups");
}

void GenerationConfig::check_forced_words(std::int64_t vocabulary) const {
  if (num_beams == 1)
    fail(
        "force_words_ids: words are brought about by a beam search; set num_beams above 1, or leave them "
        "out");
  if (do_sample || num_beam_groups > 1 || !stop_strings.empty() || output_scores)
    fail(
        "force_words_ids: expected neither do_sample nor num_beam_groups, stop_strings or output_scores "
        "beside them; leave out these or the words");
  for (const ForcedWord& word : force_words_ids) {
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

void GenerationConfig::check_form() const {
  if (eos_token_id.empty())
    fail(
        "json_schema, regex, grammar: a text of a given form ends with a token that says so; set "
        "eos_token_id");
  if (is_contrastive() || return_alternatives || !force_words_ids.empty())
    fail(
        "json_schema, regex, grammar: expected neither penalty_alpha nor return_alternatives or "
        "force_words_ids beside them, which take tokens of no such text; leave out these or the form");
}

void GenerationConfig::check_guidance() const {
  check_range(guidance_scale, -kLargestChange, kLargestChange, "guidance_scale");
  // The original mixes up the beams' histories there, so there is no correct result to compare with.
  if (num_beams > 1 || is_contrastive())
    fail(
        "guidance_scale: expected neither num_beams nor penalty_alpha beside it; leave out these or the "
        "guidance");
}

void GenerationConfig::check_watermark() const {
  if (const auto* green = std::get_if<GreenListWatermark>(&*watermark)) {
    if (!(green->ratio > 0 && green->ratio < 1))
      fail("watermarking_config: greenlist_ratio: expected a number above 0 and below 1, found {}",
           green->ratio);
    check_range(green->bias, -kLargestChange, kLargestChange, "watermarking_config: bias");
  }
}

void GenerationConfig::check_output_scores() const {
  if (!output_scores) fail("output_top_scores: they are given beside output_scores; ask for these too");
  if (num_beams > 1 || is_contrastive() || return_alternatives)
    fail(
        "output_top_scores: expected a text that grows token by token; leave out num_beams, penalty_alpha "
        "and "
        "return_alternatives, or the likeliest tokens");
}

std::int64_t GenerationConfig::texts_at_a_time() const {
  if (return_alternatives) return num_return_sequences * num_beams;
  return std::max({num_beams, num_return_sequences, is_contrastive() ? top_k : 1});
}

std::int64_t GenerationConfig::padding() const {
  // As in the original: its beam search treats a padding id of 0 as absent, and ignores it without eos.
  if (num_beams > 1 && !ranks_without_ends())
    return eos_token_id.empty() ? -1 : pad_token_id.value_or(0) != 0 ? *pad_token_id : eos_token_id[0];
  return pad_token_id ? *pad_token_id : eos_token_id.empty() ? 0 : eos_token_id[0];
}

LengthLimits GenerationConfig::lengths(std::int64_t prompt, std::int64_t max_positions) const {
  LengthLimits limits;
  limits.prompt = prompt;
  limits.most = max_new_tokens ? prompt + *max_new_tokens
                : max_length   ? *max_length
                               : std::min(prompt + default_max_length, max_positions);
  limits.least = min_new_tokens ? prompt + *min_new_tokens : min_length;
  if (prompt >= limits.most)
    fail("the prompt has {} tokens, but at most {} are allowed with what follows; {}", prompt, limits.most,
         max_length && !max_new_tokens ? "raise max_length or set max_new_tokens" : "shorten it");
  return limits;
}

std::int64_t GenerationConfig::start() const {
  if (decoder_start_token_id) return *decoder_start_token_id;
  if (bos_token_id) return *bos_token_id;
  fail("decoder_start_token_id: the decoder needs a token to begin with, and none is given");
}

bool GenerationConfig::is_eos(std::int64_t token) const {
  return std::ranges::find(eos_token_id, token) != eos_token_id.end();
}

}  // namespace attend
