// The fields of config.json that follow from a CTranslate2 model's shapes and numbers, for each family.
#pragma once

#include "formats/json/json.h"
#include "sources/ctranslate2/ctranslate2.h"

#include <cstdint>
#include <string>

namespace attend::ctranslate2 {

inline constexpr const char *source_table = "encoder/embeddings_0/weight",
                            *target_table = "decoder/embeddings/weight",
                            *output_scale = "decoder/scale_outputs";

// Whether the language model head is the decoder's table.
bool is_tied(const CTranslate2& file);
// Whether a feed-forward layer is the product of two, as in newer T5.
bool is_gated(const CTranslate2& file);

// Without token ids. `settings` is CTranslate2's own config.json. An Error for what the family's config
// cannot express: layers that differ, or other position encodings.
Json marian_fields(const CTranslate2& file, const Fields& settings);
Json m2m_100_fields(const CTranslate2& file, const Fields& settings);
Json bart_fields(const CTranslate2& file, const Fields& settings);
Json t5_fields(const CTranslate2& file, const Fields& settings);
Json gpt2_fields(const CTranslate2& file, const Fields& settings);
Json bert_fields(const CTranslate2& file, const Fields& settings);

}  // namespace attend::ctranslate2
