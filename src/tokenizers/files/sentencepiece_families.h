// How families use a SentencePiece model: ids, special tokens, templates. Each family is a row of data.
#pragma once

#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/sentencepiece/sentencepiece.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

struct SentencePieceFamily {
  enum class Ids {
    file,        // the index in the file
    fairseq,     // <s> <pad> </s> <unk>, then the file's pieces from the fourth on
    camembert,   // <s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED, then those from the second on
    pegasus,     // <pad> </s> <mask_1> <mask_2> <unk_2> to <unk_102>, then those from the third on
    gemma,       // pad_token, eos_token, bos_token, then those from the fourth on
    vocab_json,  // those in vocab.json
  };
  // Processing of the text before the model.
  enum class Steps {
    // transformers has no fast tokenizer: the file's rules, like SentencePiece
    sentencepiece,
    spaces,       // the file's rules, then spaces
    words,        // Pegasus: the same, and all separators of words count as spaces
    cleaned,      // ALBERT and XLNet: quotes, accents, lowercasing, the file's rules
    punctuation,  // DeBERTa-v2: lowercasing, the file's rules, punctuation separated
    plain,        // Llama: no rules
    kept,         // Gemma: no rules, and no space before the text
  };

  std::vector<std::string_view> names;  // of tokenizer classes and model types
  std::vector<Role> roles;
  // In the format of TokenizerConfig::fill_in: "$A eos_token".
  const char *single, *pair;
  // The same if legacy_behaviour is set; null: the field is not used (only NLLB has it).
  const char *legacy_single = nullptr, *legacy_pair = nullptr;
  Ids ids = Ids::file;
  Steps steps = Steps::spaces;
  bool lowercases = false;                        // the default of do_lower_case
  std::vector<std::string_view> additional = {};  // special tokens, unless the directory has its own list
  bool keeps_additional = false;                  // they are added to the directory's list
  std::vector<std::string_view> after = {};       // tokens with the ids after the pieces and languages
  std::span<const std::string_view> languages =
      {};  // the languages of mBART, NLLB and PLBART, which are special tokens; the source's is "language"
  const char* usual_language = "en_XX";
  // PLBART: unless language_codes is "multi", only the first of them exist, the tokens of `after` also
  // exist, and the template of a side without a language has no language token.
  std::size_t base_languages = 0;
  bool numbers_languages = true;  // their ids directly follow the pieces; else they are added tokens
  // Special tokens that the model's file has as ordinary ones.
  std::vector<std::string_view> marks = {};
  int sentinels = 0;                // T5's <extra_id_0> and so on
  bool has_languages = false;       // M2M-100's __en__ and so on; the source language's comes before the text
  bool has_language_codes = false;  // Marian's >>fr<<, which vocab.json lists
  // If transformers has no fast tokenizer of the model:
  bool closes_once = false;  // eos_token follows each text, unless the text ends with it (T5)
  PieceJoining joining = {};
  // If in addition every added token is a separate part of decoded text, not only those without a role: the
  // text between parts, and the tokens with nothing before them.
  const char* between_parts = nullptr;  // null: no separate parts
  std::vector<std::string_view> closing = {};

  // The templates for one text and for two.
  std::pair<std::string, std::string> templates(const Fields& config) const;
  bool has_language() const { return has_languages || !languages.empty(); }
  bool has_base_languages(const Fields& config) const;
  std::span<const std::string_view> languages_of(const Fields& config) const;
  std::span<const std::string_view> behind_of(const Fields& config) const;
};

std::span<const SentencePieceFamily> sentencepiece_families();
const SentencePieceFamily* find_sentencepiece_family(std::string_view name);  // null: none

// Settings of the spaces before pieces that only directories of Llama and T5 have.
struct SpaceFields {
  bool can_be_told = false;
  bool prefix = true;  // a text begins with a space
  bool legacy = true;  // and so does the text after a special token
};
SpaceFields read_spaces(const SentencePieceFamily& family, const Fields& config);

// The languages of M2M-100, in the order of their ids; `set` is "m2m100" or "wmt21".
std::span<const std::string_view> m2m_languages(std::string_view set);

}  // namespace attend::tokenizers
