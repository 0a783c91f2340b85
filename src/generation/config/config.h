// Generation settings: the fields of a generation_config.json, with the names, defaults and meaning of
// transformers 4.57.6 (generation/configuration_utils.py).
#pragma once

#include "formats/json.h"
#include "generation/config/watermark.h"
#include "generation/forms/grammar.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attend {

class PretrainedModel;

// When a beam search stops: as soon as it has num_beams finished texts (yes); when the best unfinished text,
// at its present length, is worse than all of them (no); when it could not become better at any length
// (never).
enum class EarlyStopping { no, yes, never };

// How long one text becomes, in tokens, its prompt (in a decoder with an encoder: the start token) included.
struct LengthLimits {
  std::int64_t prompt = 0, most = 0, least = 0;
};

// Added to the score of the last of `tokens` where the others stand in front of it.
struct SequenceBias {
  std::vector<std::int64_t> tokens;
  double bias = 0;
};

// `start` tokens after the prompt the score of an end begins to grow, by `factor` to the power of the tokens
// since.
struct ExponentialDecay {
  std::int64_t start = 0;
  double factor = 1;
};

// llama.cpp's "don't repeat yourself": a token that would go on with a repetition of n tokens, n >=
// allowed_length, loses multiplier * base ^ (n - allowed_length).
struct DryPenalty {
  double multiplier = 0;  // 0: none of all this
  double base = 1.75;
  std::int64_t allowed_length = 2;
  std::int64_t range = -1;                         // so many tokens back; -1: all
  std::vector<std::int64_t> sequence_breaker_ids;  // a repetition does not reach over one of these
};

// llama.cpp's mirostat: tokens are drawn so that their surprise, in bits, stays near one value.
struct MirostatTarget {
  std::int64_t version = 0;  // 1 or 2; 0: none of all this
  double surprise = 5;
  double rate = 0.1;  // how fast it learns what to rule out
};

// A word of which one of these phrases must come.
using ForcedWord = std::vector<std::vector<std::int64_t>>;

// What transformers takes for max_length where nothing is said.
constexpr std::int64_t default_max_length = 20;

struct GenerationConfig {
  // Lengths in tokens. max_length and min_length count the prompt, max_new_tokens and min_new_tokens do not
  // and win over them. With no maximum at all: 20 new tokens.
  std::optional<std::int64_t> max_length, max_new_tokens;
  std::int64_t min_length = 0;
  std::optional<std::int64_t> min_new_tokens;
  std::vector<std::string> stop_strings;  // a text ends with the token that completes one of them
  std::optional<double> max_time;         // in seconds: after them every text ends with its next token

  bool do_sample = false;                 // draw tokens; otherwise take the likeliest
  std::int64_t num_beams = 1;             // texts kept at a time; 1: no beam search
  std::int64_t num_return_sequences = 1;  // results per prompt; at most num_beams in a beam search

  // Sampling only.
  double temperature = 1;   // logits are divided by it
  std::int64_t top_k = 50;  // only the likeliest k tokens may be drawn; 0: all
  double top_p = 1;  // only the likeliest tokens that together have probability top_p (Holtzman et al. 2019)
  std::optional<double> min_p;  // only tokens with this share of the likeliest one's probability
  double typical_p = 1;         // only the most typical tokens that together have this probability
  double epsilon_cutoff = 0;    // only tokens of at least this probability
  double eta_cutoff = 0;        // the same, and less where the distribution is flat
  // Fields that transformers has not but llama.cpp has. With a range above 0 the temperature lies between
  // temperature - range (one token is certain) and temperature + range (all are equally likely), by
  // (entropy / its maximum) ^ exponent. XTC: with xtc_probability, of the tokens at or above xtc_threshold
  // only the least likely may be drawn.
  double dynatemp_range = 0, dynatemp_exponent = 1;
  double xtc_probability = 0, xtc_threshold = 0.1;
  MirostatTarget mirostat;  // mirostat, mirostat_tau, mirostat_eta; in place of all that rules out tokens

  // Above 0, without sampling: contrastive search among the likeliest top_k tokens. What a token is likely
  // counts 1 - penalty_alpha, its likeness to what has been said penalty_alpha.
  double penalty_alpha = 0;

  // So many tokens are guessed at a time, by what followed the last max_matching_ngram_size tokens (or fewer)
  // before; not in a beam search. The texts are the same as without, and come faster where they repeat
  // themselves.
  std::optional<std::int64_t> prompt_lookup_num_tokens;
  std::int64_t max_matching_ngram_size = 2;
  std::int64_t num_assistant_tokens = 20;  // the same, where a smaller model guesses

  // Beam search only. A finished text's score is its log-probability / (new tokens ^ length_penalty).
  double length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::no;
  // Above 1: so many groups of beams, each of which loses diversity_penalty for a token each time a group
  // before it has chosen that token in the same step.
  std::int64_t num_beam_groups = 1;
  double diversity_penalty = 0;
  std::vector<ForcedWord> force_words_ids;  // all of them must come, in whatever order

  // Of tokens that have occurred: the logit is divided by it if positive, else multiplied (Keskar et al.
  // 2019).
  double repetition_penalty = 1;
  // Subtracted from the logit of a token of the new text: once, and as often as it has come. (OpenAI's
  // fields)
  double presence_penalty = 0, frequency_penalty = 0;
  double encoder_repetition_penalty = 1;  // the inverse, of the tokens of the source (or the prompt)
  DryPenalty dry;                         // dry_multiplier, dry_base and so on; as the others of llama.cpp
  std::int64_t no_repeat_ngram_size = 0;  // no n-gram of this size comes twice; 0: any may
  std::int64_t encoder_no_repeat_ngram_size = 0;         // no n-gram of the source (or the prompt) comes
  std::vector<std::vector<std::int64_t>> bad_words_ids;  // sequences that must not come
  std::vector<SequenceBias> sequence_bias;               // of single tokens: a logit bias
  std::vector<std::int64_t> suppress_tokens;             // that never come
  std::vector<std::int64_t> begin_suppress_tokens;       // that do not come first
  std::optional<ExponentialDecay> exponential_decay_length_penalty;
  // What the whole text must be: the field json_schema, regex or grammar, which llama.cpp and vLLM have and
  // transformers has not.
  std::optional<TextForm> form;
  // Other than 1: how much what the prompt makes likely counts against what a negative prompt does
  // (Prompt::negative): log-probabilities become negative + guidance_scale * (given - negative). Of a decoder
  // that stands alone, not in a beam search. (Sanchez et al. 2023, arXiv:2306.17806)
  double guidance_scale = 1;
  std::optional<Watermark> watermark;  // watermarking_config
  bool remove_invalid_values = false;  // NaN scores count as 0, infinite ones as the largest number
  bool renormalize_logits = false;     // make logits log-probabilities again after all the above

  // num_return_sequences texts that begin differently: with the likeliest tokens that may come next, in their
  // order. Each is then what the other fields make of the prompt with that token. A token that is the only
  // possible one is no beginning yet. (CTranslate2's option; transformers has none.)
  bool return_alternatives = false;

  bool output_scores = false;  // also give the log-probability of every token
  // Above 0: also those of the likeliest tokens in its place, so many. Of texts that grow token by token.
  std::int64_t output_top_scores = 0;
  // Of run_generate() (generation/tensors.h) only: also every layer's attention weights, and its result.
  bool output_attentions = false, output_hidden_states = false;

  // Special tokens.
  std::vector<std::int64_t> eos_token_id;  // each of them ends a text
  std::optional<std::int64_t> pad_token_id, bos_token_id;
  std::optional<std::int64_t> decoder_start_token_id;  // what a decoder with an encoder begins with; else bos
  std::optional<std::int64_t> forced_bos_token_id;     // the second token, whatever the logits say
  std::vector<std::int64_t> forced_eos_token_id;       // the last possible token

  // The defaults of a model: its generation_config.json or, in its place, the fields of its config.json.
  static GenerationConfig of(const PretrainedModel& model);

  // The names of all fields that apply() knows and that have an effect.
  static std::vector<std::string> field_names();

  // Overrides every field that `fields` names; null means the default. Error for a value of a wrong type or
  // out of range, and for a field that would change the result but is not supported yet. `strict`: also for a
  // field that nobody knows, which is otherwise a warning.
  void apply(const Fields& fields, bool strict);
  // The same, strictly, with what a caller wrote: a JSON object.
  void apply(const std::string& settings);

  // Error unless the fields make sense together, and with a vocabulary of this size.
  void check(std::int64_t vocabulary) const;

  bool is_contrastive() const { return penalty_alpha != 0; }
  // How many continuations of one prompt are in work together.
  std::int64_t texts_at_a_time() const;
  // Fills a rectangle of token ids after the end of a text.
  std::int64_t padding() const;
  // For a prompt of this many tokens. `max_positions` bounds only the default length, as in the original.
  // Error if the prompt leaves no room.
  LengthLimits lengths(std::int64_t prompt, std::int64_t max_positions) const;
  bool is_eos(std::int64_t token) const;
  // What a decoder with an encoder begins with. Error if nothing is given.
  std::int64_t start() const;

 private:
  void check_number_of_texts(std::int64_t vocabulary) const;
  void check_sampling() const;
  void check_mirostat() const;
  void check_contrastive(std::int64_t vocabulary) const;
  void check_groups() const;
  void check_forced_words(std::int64_t vocabulary) const;
  void check_form() const;
  void check_guidance() const;
  void check_watermark() const;
  void check_output_scores() const;
  // Is the search one of transformers' older ones, whose ranking keeps texts without their ends?
  bool ranks_without_ends() const { return num_beam_groups > 1 || !force_words_ids.empty(); }
  // apply() but for unknown fields, which it returns. `known`: if given, gets the names of all it knows.
  std::vector<std::string> read(const Fields& fields, std::vector<std::string>* known = nullptr);
};

}  // namespace attend
