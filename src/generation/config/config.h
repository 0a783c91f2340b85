// What generation asks of a GenerationConfig (<attend/generation_config.h>), and how it is read.
#pragma once

#include <attend/generation_config.h>

#include "formats/json/json.h"

#include <string>
#include <vector>

namespace attend {

class PretrainedModel;

// The length of one text in tokens, including its prompt (with an encoder: the decoder's start token).
struct LengthLimits {
  std::int64_t prompt = 0, max = 0, min = 0;
};

// transformers' default for max_length.
constexpr std::int64_t default_max_length = 20;

// The defaults of a model: its generation_config.json or, without one, the fields of its config.json.
GenerationConfig generation_config_of(const PretrainedModel& model);

// Whose fields are read. A caller's must all be known and in range. In a model's file an unknown field is a
// warning, and a number out of range is an Error only once it has an effect (check_config).
enum class FieldsFrom { caller, model };
// Overrides every field in `fields`; null means the default. An Error for a value with a wrong type, and for
// a field that would change the result but is not supported.
void apply_fields(GenerationConfig& config, const Fields& fields, FieldsFrom from);
// Changes the config as a caller requests. An Error for a changed value that is out of range.
void apply_changes(GenerationConfig& config, const Configure& changes);

// An Error unless the fields fit each other and a vocabulary of this size.
void check_config(const GenerationConfig& config, std::int64_t vocabulary);

bool is_contrastive(const GenerationConfig& config);
// The number of continuations of one prompt that grow together.
std::int64_t texts_at_a_time(const GenerationConfig& config);
// Fills a rectangle of token ids after the end of a text.
std::int64_t padding_token(const GenerationConfig& config);
// For a prompt of this many tokens. `max_positions` limits only the default length, as in the original. An
// Error if the prompt leaves no room.
LengthLimits length_limits(const GenerationConfig& config, std::int64_t prompt, std::int64_t max_positions);
bool is_eos(const GenerationConfig& config, std::int64_t token);
// The start token of a decoder with an encoder. An Error if there is none.
std::int64_t start_token(const GenerationConfig& config);

}  // namespace attend
