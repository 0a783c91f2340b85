// Operations on whole encodings: cutting, joining, truncating, padding. All of them leave unused fields
// empty.
#pragma once

#include <attend/tokenizer.h>

namespace attend::tokenizers {

// The fields that are filled in: the ids; or the inputs of models, which are ids, type_ids and
// attention_mask; or everything.
enum class Details { ids, types, all };

// Appends one token of a template.
void append_special(Encoding& encoding, TokenId id, const std::string& token, std::int32_t type,
                    Details details);

// Appends `more` to `encoding`. All combinations of overflowing pieces are formed, and these contain pieces
// again, exactly as in `tokenizers`.
void append(Encoding& encoding, const Encoding& more);

void drop_last(Encoding& encoding);

// Keeps `max_length` tokens; the rest becomes `overflowing`, in pieces that share `stride` tokens.
void truncate(Encoding& encoding, std::size_t max_length, std::size_t stride,
              Truncation::Direction direction);

// Truncates one sequence, or two together, to `max_length` tokens. `slow`, like transformers' slow
// tokenizers: takes one token after another from the longer text, and leaves a text unchanged that is too
// short for only_first or only_second.
void truncate(Encoding& first, Encoding* second, const Truncation& truncation, std::size_t max_length,
              bool slow = false);

// The length to which `padding` pads encodings, if the longest has `longest` tokens.
std::size_t padded_length(const Padding& padding, std::size_t longest);
void pad(Encoding& encoding, std::size_t length, const Padding& padding, Details details);

}  // namespace attend::tokenizers
