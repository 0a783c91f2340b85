// The fields of config.json that follow from a CTranslate2 model's shapes and numbers, for each family.
#pragma once

#include "formats/ctranslate2.h"
#include "formats/json.h"

#include <cstdint>
#include <string>

namespace attend::ctranslate2 {

inline constexpr const char *source_table = "encoder/embeddings_0/weight",
                            *target_table = "decoder/embeddings/weight",
                            *output_scale = "decoder/scale_outputs";

// Is the head over the vocabulary the decoder's table?
bool is_tied(const CTranslate2& file);
// Is a feed-forward layer the product of two, as in newer T5?
bool is_gated(const CTranslate2& file);

// Without tokens' ids. `settings` is CTranslate2's own config.json. Error for what the family cannot say:
// parts that differ and are one field, positions that are computed otherwise.
Json marian_fields(const CTranslate2& file, const Fields& settings);
Json m2m_100_fields(const CTranslate2& file, const Fields& settings);
Json bart_fields(const CTranslate2& file, const Fields& settings);
Json t5_fields(const CTranslate2& file, const Fields& settings);
Json gpt2_fields(const CTranslate2& file, const Fields& settings);
Json bert_fields(const CTranslate2& file, const Fields& settings);

}  // namespace attend::ctranslate2
