// How text is to be generated: the fields of a generation_config.json, with the names, defaults and meaning
// of transformers 4.57.6 (generation/configuration_utils.py).
#pragma once

#include "formats/json.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace attend {

class Model;

// When a beam search stops: as soon as it has num_beams finished texts (yes); when the best unfinished text,
// at its present length, is worse than all of them (no); when it could not become better at any length
// (never).
enum class EarlyStopping { no, yes, never };

// How long one text becomes, in tokens, its prompt (in a decoder with an encoder: the start token) included.
struct LengthLimits {
  std::int64_t prompt = 0, most = 0, least = 0;
};

struct GenerationConfig {
  // Lengths in tokens. max_length and min_length count the prompt, max_new_tokens and min_new_tokens do not
  // and win over them. With no maximum at all: 20 new tokens.
  std::optional<std::int64_t> max_length, max_new_tokens;
  std::int64_t min_length = 0;
  std::optional<std::int64_t> min_new_tokens;

  bool do_sample = false;                 // draw tokens; otherwise take the likeliest
  std::int64_t num_beams = 1;             // texts kept at a time; 1: no beam search
  std::int64_t num_return_sequences = 1;  // results per prompt; at most num_beams in a beam search

  // Sampling only.
  double temperature = 1;   // logits are divided by it
  std::int64_t top_k = 50;  // only the likeliest k tokens may be drawn; 0: all
  double top_p = 1;  // only the likeliest tokens that together have probability top_p (Holtzman et al. 2019)

  // Beam search only. A finished text's score is its log-probability / (new tokens ^ length_penalty).
  double length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::no;

  // Of tokens that have occurred: the logit is divided by it if positive, else multiplied (Keskar et al.
  // 2019).
  double repetition_penalty = 1;
  std::int64_t no_repeat_ngram_size = 0;                 // no n-gram of this size comes twice; 0: any may
  std::vector<std::vector<std::int64_t>> bad_words_ids;  // sequences that must not come
  bool renormalize_logits = false;  // make logits log-probabilities again after all the above

  // Special tokens.
  std::vector<std::int64_t> eos_token_id;  // each of them ends a text
  std::optional<std::int64_t> pad_token_id, bos_token_id;
  std::optional<std::int64_t> decoder_start_token_id;  // what a decoder with an encoder begins with; else bos
  std::optional<std::int64_t> forced_bos_token_id;     // the second token, whatever the logits say
  std::vector<std::int64_t> forced_eos_token_id;       // the last possible token

  // Fields that were set, change what is drawn, and are not supported yet: an Error only when sampling.
  std::set<std::string> unsupported_for_sampling;

  // The defaults of a model: its generation_config.json or, in its place, the fields of its config.json.
  static GenerationConfig of(const Model& model);

  // Overrides every field that `fields` names; null means the default. Error for a value of a wrong type or
  // out of range, and for a field that would change the result but is not supported yet. `strict`: also for a
  // field that nobody knows, which is otherwise a warning.
  void apply(const Fields& fields, bool strict);

  // Error unless the fields make sense together, and with a vocabulary of this size.
  void check(std::int64_t vocabulary) const;

  // What stands behind the end of a text in a rectangle of token ids.
  std::int64_t padding() const;
  // For a prompt of this many tokens. `max_positions` bounds only the default length, as in the original.
  // Error if the prompt leaves no room.
  LengthLimits lengths(std::int64_t prompt, std::int64_t max_positions) const;
  bool is_eos(std::int64_t token) const;
};

}  // namespace attend
