// What happens to whole encodings: cutting, joining, truncating, padding. All of these leave empty what is
// not filled in.
#pragma once

#include <attend/tokenizer.h>

namespace attend::tokenizers {

// What is filled in: the ids; with them type_ids and attention_mask, what models read; everything.
enum class Details { ids, types, all };

// One token that a template adds.
void append_special(Encoding& encoding, TokenId id, const std::string& token, std::int32_t type,
                    Details details);

// `more` behind `encoding`. Overflowing pieces are combined each with each, and those hold pieces again,
// exactly as in `tokenizers`.
void append(Encoding& encoding, const Encoding& more);

void drop_last(Encoding& encoding);

// Keeps `max_length` tokens; the rest becomes `overflowing`, in pieces that share `stride` tokens.
void truncate(Encoding& encoding, std::size_t max_length, std::size_t stride,
              Truncation::Direction direction);

// Truncates one sequence, or two together, to `max_length` tokens. `slow`: as transformers' slow tokenizers
// do, which take one token after the other away from the longer text, and leave a text that is too short for
// what only_first or only_second asks.
void truncate(Encoding& first, Encoding* second, const Truncation& truncation, std::size_t max_length,
              bool slow = false);

// The length that `padding` gives to encodings whose longest has `longest` tokens.
std::size_t padded_length(const Padding& padding, std::size_t longest);
void pad(Encoding& encoding, std::size_t length, const Padding& padding, Details details);

}  // namespace attend::tokenizers
