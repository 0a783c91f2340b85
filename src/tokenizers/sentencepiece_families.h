// How families use a SentencePiece model: ids, special tokens, templates. Each is a row of data.
#pragma once

#include "tokenizers/tokenizer_config.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

struct SentencePieceFamily {
  enum class Ids {
    file,        // the place in the file
    fairseq,     // <s> <pad> </s> <unk>, then the file's pieces from the fourth on
    vocab_json,  // what vocab.json says
  };

  std::vector<std::string_view> names;  // of tokenizer classes and model types
  std::vector<Role> roles;
  // As TokenizerConfig::fill_in wants them: "$A eos_token".
  const char *single, *pair;
  Ids ids = Ids::file;
  bool cleans = false;              // ALBERT's clean-up of white space, quotes and accents
  bool lowercases = false;          // where do_lower_case says nothing
  int sentinels = 0;                // T5's <extra_id_0> and so on
  bool has_languages = false;       // M2M-100's __en__ and so on, the source's in front of the text
  bool has_language_codes = false;  // Marian's >>fr<<, which vocab.json lists
  // Decoded text: has spaces at its ends as they come, has none there, or has moreover one space behind each
  // special token.
  enum class Spaces { kept, stripped, set } spaces = Spaces::kept;
};

std::span<const SentencePieceFamily> sentencepiece_families();
const SentencePieceFamily* find_sentencepiece_family(std::string_view name);  // null: there is none

// The languages of M2M-100, in the order of their ids; `set` is "m2m100" or "wmt21".
std::span<const std::string_view> m2m_languages(std::string_view set);

}  // namespace attend::tokenizers
