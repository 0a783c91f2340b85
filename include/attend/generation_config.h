// How text is generated: the fields of a generation_config.json, with the names, defaults and meaning of
// transformers 4.57.6 (generation/configuration_utils.py). A call changes those of its model:
//
//   generator.generate(texts, {.configure = [](attend::GenerationConfig& config) {
//                                config.num_beams = 4;
//                                config.max_new_tokens = 60;
//                              }});
#pragma once

#include <attend/export.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace attend {
inline namespace v1 {

// When a beam search stops: as soon as it has num_beams finished texts (yes); when the best unfinished text,
// at its current length, is worse than all of them (no); when it could not become better at any length
// (never).
enum class EarlyStopping { no, yes, never };

// Added to the score of the last of `tokens` if the others come directly before it.
struct SequenceBias {
  std::vector<std::int64_t> tokens;
  double bias = 0;
};

// From `start` tokens after the prompt on, the score of an end token grows by `factor` to the power of the
// tokens since.
struct ExponentialDecay {
  std::int64_t start = 0;
  double factor = 1;
};

// llama.cpp's "don't repeat yourself": a token that would continue a repetition of n tokens, n >=
// allowed_length, loses multiplier * base ^ (n - allowed_length).
struct DryPenalty {
  double multiplier = 0;  // 0: off
  double base = 1.75;
  std::int64_t allowed_length = 2;
  std::int64_t range = -1;                         // this many tokens back; -1: all
  std::vector<std::int64_t> sequence_breaker_ids;  // a repetition does not extend across these
};

// llama.cpp's mirostat: tokens are drawn so that their surprise, in bits, stays near a target.
struct MirostatTarget {
  std::int64_t version = 0;  // 1 or 2; 0: off
  double surprise = 5;
  double rate = 0.1;  // how fast the cutoff adapts
};

// A word: one of these phrases must occur.
using ForcedWord = std::vector<std::vector<std::int64_t>>;

// The required form of a whole text, without its prompt.
struct TextForm {
  enum class Kind {
    json_schema,  // https://json-schema.org
    regex,        // of ECMAScript, for the whole text
    grammar,      // EBNF as llama.cpp's GBNF: rules "name ::= ..."; "root" is the whole text
    // XGrammar's structural tags: free text in which certain texts begin other forms. Special tokens that the
    // tag names may come; of all others, only those that end a text.
    structural_tag,
  };
  Kind kind = Kind::json_schema;
  std::string text;

  bool operator==(const TextForm&) const = default;
};

// Invisible watermarks in generated text: the preceding tokens and a key determine which tokens are favoured,
// and anyone with the key can count them later (tasks.h, WatermarkDetector). Both kinds match transformers,
// including torch's random numbers.

// Kirchenbauer et al. 2023 (arXiv:2306.04634): at each position a part of the vocabulary is green, and the
// scores of those tokens are raised.
struct GreenListWatermark {
  double ratio = 0.25;  // the green part of the vocabulary, above 0 and below 1
  double bias = 2;      // added to a green token's score
  std::int64_t key = 15485863;
  // "selfhash" (their Algorithm 3): the green tokens depend on the last context_width tokens, including the
  // candidate, so each candidate is checked separately. Otherwise ("lefthash", Algorithm 2) they depend on
  // the token before.
  bool by_candidate = false;
  std::int64_t context_width = 1;
};

// SynthID-Text (Dathathri et al. 2024, Nature 634): the last ngram_length tokens and each key determine a
// bit; a tournament with one round per key favours tokens with ones. Only generated tokens count, and a
// position whose context has occurred before is not marked.
struct SynthIdWatermark {
  std::int64_t ngram_length = 0;
  std::vector<std::int64_t> keys;
  std::int64_t context_history = 1024;  // number of positions that are remembered
  std::int64_t table_seed = 0, table_size = 65536;
  bool skip_first_ngrams = false;  // no mark before there are ngram_length - 1 tokens
  bool uniform = false;            // for experiments: all tokens are equally likely, and the model's scores
                                   // are ignored
};

using Watermark = std::variant<GreenListWatermark, SynthIdWatermark>;

struct ATTEND_API GenerationConfig {
  // Lengths in tokens. max_length and min_length include the prompt; max_new_tokens and min_new_tokens do
  // not, and have priority. Without any maximum: 20 new tokens.
  std::optional<std::int64_t> max_length, max_new_tokens;
  std::int64_t min_length = 0;
  std::optional<std::int64_t> min_new_tokens;
  std::vector<std::string> stop_strings;  // a text ends with the token that completes one of them
  std::optional<double> max_time;         // in seconds: afterwards every text ends with its next token

  bool do_sample = false;                 // draw tokens; otherwise take the likeliest
  std::int64_t num_beams = 1;             // texts that are kept at a time; 1: no beam search
  std::int64_t num_return_sequences = 1;  // results per prompt; at most num_beams in a beam search

  // Sampling only.
  double temperature = 1;   // logits are divided by it
  std::int64_t top_k = 50;  // only the likeliest k tokens may be drawn; 0: all
  double top_p = 1;  // only the likeliest tokens that together have probability top_p (Holtzman et al. 2019)
  std::optional<double> min_p;  // only tokens with this share of the likeliest one's probability
  double typical_p = 1;         // only the most typical tokens that together have this probability
  double epsilon_cutoff = 0;    // only tokens of at least this probability
  double eta_cutoff = 0;        // the same, and less where the distribution is flat
  // Fields that llama.cpp has and transformers does not. With a range above 0 the temperature varies between
  // temperature - range (one token is certain) and temperature + range (all are equally likely), by (entropy
  // / its maximum) ^ exponent. XTC: with probability xtc_probability, only the least likely of the tokens at
  // or above xtc_threshold may be drawn.
  double dynatemp_range = 0, dynatemp_exponent = 1;
  double xtc_probability = 0, xtc_threshold = 0.1;
  MirostatTarget mirostat;  // mirostat, mirostat_tau, mirostat_eta; replaces everything else that excludes
                            // tokens

  // Above 0, without sampling: contrastive search among the likeliest top_k tokens. A token's probability has
  // the weight 1 - penalty_alpha, its similarity to earlier tokens penalty_alpha.
  double penalty_alpha = 0;

  // The number of draft tokens per step, taken from what followed earlier occurrences of the last
  // max_matching_ngram_size tokens (or fewer); not in a beam search. The texts are the same as without, and
  // faster if they repeat themselves.
  std::optional<std::int64_t> prompt_lookup_num_tokens;
  std::int64_t max_matching_ngram_size = 2;
  std::int64_t num_assistant_tokens = 20;  // the number of draft tokens per step of a draft model

  // Beam search only. A finished text's score is its log-probability / (new tokens ^ length_penalty).
  double length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::no;
  // Above 1: the number of groups of beams. A token loses diversity_penalty each time an earlier group has
  // chosen it in the same step.
  std::int64_t num_beam_groups = 1;
  double diversity_penalty = 0;
  std::vector<ForcedWord> force_words_ids;  // all of them must occur, in any order

  // For tokens that have occurred: the logit is divided by it if positive, else multiplied (Keskar et al.
  // 2019).
  double repetition_penalty = 1;
  // Subtracted from the logit of tokens in the new text: once, and once per occurrence. (OpenAI's fields)
  double presence_penalty = 0, frequency_penalty = 0;
  double encoder_repetition_penalty = 1;  // the inverse of repetition_penalty, for tokens of the source (or
                                          // the prompt)
  DryPenalty dry;                         // dry_multiplier, dry_base and so on; llama.cpp's, like those above
  std::int64_t no_repeat_ngram_size = 0;  // no n-gram of this size occurs twice; 0: no limit
  std::int64_t encoder_no_repeat_ngram_size = 0;         // no n-gram of the source (or the prompt) occurs
  std::vector<std::vector<std::int64_t>> bad_words_ids;  // sequences that must not occur
  std::vector<SequenceBias> sequence_bias;               // for single tokens: a logit bias
  std::vector<std::int64_t> suppress_tokens;             // tokens that must not occur
  std::vector<std::int64_t> begin_suppress_tokens;       // tokens that must not come first
  std::optional<ExponentialDecay> exponential_decay_length_penalty;
  // The required form of the whole text: the field json_schema, regex or grammar, which llama.cpp and vLLM
  // have and transformers does not.
  std::optional<TextForm> form;
  // If not 1: the weight of the prompt against a negative prompt (Prompt::negative); log-probabilities become
  // negative + guidance_scale * (given - negative). For a decoder without an encoder, not in a beam search.
  // (Sanchez et al. 2023, arXiv:2306.17806)
  double guidance_scale = 1;
  std::optional<Watermark> watermark;  // watermarking_config
  bool remove_invalid_values = false;  // NaN scores become 0, infinite ones the largest number
  bool renormalize_logits = false;     // make logits log-probabilities again after everything above

  // num_return_sequences texts that begin differently: with the likeliest next tokens, in order. Each
  // continues as the other fields say for the prompt with that token. A token without an alternative does not
  // count as a beginning. (CTranslate2's option; transformers has none.)
  bool return_alternatives = false;

  bool output_scores = false;  // also return the log-probability of every token
  // Above 0: also those of this many of the likeliest tokens at each position. Only for texts that grow token
  // by token.
  std::int64_t output_top_scores = 0;
  // Only for `attend generate --outputs`: also every layer's attention weights, and its output.
  bool output_attentions = false, output_hidden_states = false;

  // Special tokens.
  std::vector<std::int64_t> eos_token_id;  // each of them ends a text
  std::optional<std::int64_t> pad_token_id, bos_token_id;
  std::optional<std::int64_t> decoder_start_token_id;  // a decoder with an encoder starts with it; absent:
                                                       // bos
  std::optional<std::int64_t> forced_bos_token_id;     // the second token, independent of the logits
  std::vector<std::int64_t> forced_eos_token_id;       // the last possible token

  // Sets the fields of a JSON object, with the names above and transformers' (watermarking_config,
  // mirostat_tau, json_schema ...); null means the default. Throws Error for an unknown field, a wrong type,
  // a value out of range, and a field that would change the result but is not supported.
  void apply(const std::string& json);
};

// Changes a model's config for one call. If a changed value is out of range, the call throws Error.
using Configure = std::function<void(GenerationConfig& config)>;
// The same from JSON: with_fields(R"({"num_beams": 4})").
ATTEND_API Configure with_fields(std::string json);

}  // namespace v1
}  // namespace attend
