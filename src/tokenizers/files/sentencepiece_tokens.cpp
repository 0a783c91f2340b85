#include "tokenizers/files/sentencepiece_tokens.h"

#include "base/error.h"
#include "tokenizers/files/json_tables.h"
#include "tokenizers/files/tokenizer_files.h"

#include <algorithm>

namespace attend::tokenizers {
namespace {

using Family = SentencePieceFamily;

std::int64_t sentinel_count(const Family& family, const TokenizerConfig& config) {
  return family.sentinels == 0 ? 0 : config.fields().integer({"extra_ids"}, family.sentinels, 0, 10000);
}

std::string sentinel(std::int64_t number) {
  return "<extra_id_" + std::to_string(number) + ">";
}

// The tokens before the pieces: how many of the file's first pieces they replace, and the difference between
// the id and the index of a piece.
struct Front {
  std::size_t first = 0, shift = 0;
};
constexpr std::size_t pegasus_shift = 103;

Front front_of(const Family& family) {
  switch (family.ids) {
    case Family::Ids::fairseq:
      return {3, 1};
    case Family::Ids::camembert:
      return {1, 4};
    case Family::Ids::pegasus:
      return {2, pegasus_shift};
    case Family::Ids::gemma:
      return {3, 0};
    default:
      return {};
  }
}

PieceIds ids_of_vocab_json(const SentencePieceFile& file, const std::filesystem::path& path,
                           const std::string& unknown) {
  PieceIds result;
  result.vocabulary = read_vocab_json(path).vocabulary;
  result.finds_texts = true;
  result.unknown = result.vocabulary.find(unknown);
  if (result.unknown < 0) fail("{}: the unk_token '{}' is missing", path.string(), unknown);
  for (const SentencePieceFile::Piece& piece : file.pieces) {
    const TokenId id = result.vocabulary.find(piece.text);
    result.ids.push_back(id < 0 ? result.unknown : id);
  }
  return result;
}

// Pegasus extends its list of special tokens from its current size on.
void fill_up_unknowns(std::vector<TokenizerConfig::Token>& tokens) {
  const std::string mask = "<mask_1>";
  if (std::ranges::find(tokens, mask, &TokenizerConfig::Token::text) == tokens.end())
    tokens.insert(tokens.begin(), TokenizerConfig::Token{mask});
  for (std::size_t i = tokens.size(); i + 1 < pegasus_shift; ++i)
    tokens.push_back({"<unk_" + std::to_string(i) + ">"});
}

}  // namespace

std::vector<ScoredToken> scored_tokens(const Family& family, const SentencePieceFile& file,
                                       const TokenizerConfig& config) {
  std::vector<ScoredToken> tokens;
  if (family.ids == Family::Ids::fairseq) {
    tokens = {{"<s>"}, {"<pad>"}, {"</s>"}, {"<unk>"}};
  } else if (family.ids == Family::Ids::camembert) {
    tokens = {{"<s>NOTUSED"}, {"<pad>"}, {"</s>NOTUSED"}, {"<unk>"}, {"<unk>NOTUSED", -100}};
  } else if (family.ids == Family::Ids::pegasus) {
    const std::int64_t offset = config.fields().integer({"offset"}, pegasus_shift);
    if (offset != pegasus_shift)
      fail("{}: offset: only {} is supported, found {}", config.fields().source(), pegasus_shift, offset);
    tokens = {{config.token("pad_token", "<pad>")},
              {config.token("eos_token", "</s>")},
              {"<mask_1>"},
              {config.token("mask_token", "<mask_2>")}};
    for (std::size_t i = 2; i < pegasus_shift; ++i)
      tokens.push_back({"<unk_" + std::to_string(i) + ">", -100});
  }
  if (family.ids == Family::Ids::gemma)
    tokens = {{config.token("pad_token", "<pad>")},
              {config.token("eos_token", "<eos>")},
              {config.token("bos_token", "<bos>")}};
  for (std::size_t i = front_of(family).first; i < file.pieces.size(); ++i)
    tokens.push_back({file.pieces[i].text, double{file.pieces[i].score}});
  if (family.ids == Family::Ids::gemma && std::ranges::find(tokens, "\t", &ScoredToken::text) == tokens.end())
    if (const auto byte = std::ranges::find(tokens, "<0x09>", &ScoredToken::text); byte != tokens.end())
      *byte = {"\t"};  // older files lack it
  if (family.numbers_languages)
    for (const std::string_view language : family.languages_of(config.fields()))
      tokens.push_back({std::string(language)});
  for (const std::string_view token : family.behind_of(config.fields()))
    tokens.push_back({std::string(token)});
  for (std::int64_t i = sentinel_count(family, config); i-- > 0;) tokens.push_back({sentinel(i)});
  return tokens;
}

TokenId unknown_id(const Family& family, const SentencePieceFile& file) {
  const bool fairseq = family.ids == Family::Ids::fairseq || family.ids == Family::Ids::camembert;
  return fairseq ? 3 : static_cast<TokenId>(file.unknown + front_of(family).shift);
}

PieceIds piece_ids(const Family& family, const SentencePieceFile& file, const TokenizerConfig& config,
                   const std::filesystem::path& model, const std::string& unknown) {
  if (family.ids == Family::Ids::vocab_json) {
    const bool separate =
        config.fields().flag({"separate_vocabs"}, false) && model.filename() == file_names::target_spm;
    const char* name = separate ? file_names::target_vocab_json : file_names::vocab_json;
    PieceIds result = ids_of_vocab_json(file, model.parent_path() / name, unknown);
    // Languages are not added tokens unless the directory lists them.
    if (family.has_languages)
      for (const std::string_view code : m2m_languages(config.fields().text({"language_codes"}, "m2m100")))
        result.vocabulary.add("__" + std::string(code) + "__",
                              std::max<std::int64_t>(result.vocabulary.end_id(), 0), model.string(),
                              Vocabulary::Earlier::kept);
    return result;
  }
  PieceIds result;
  for (const ScoredToken& token : scored_tokens(family, file, config))
    result.vocabulary.add(token.text, static_cast<std::int64_t>(result.vocabulary.size()), model.string(),
                          Vocabulary::Earlier::kept);
  const auto [first, shift] = front_of(family);
  result.unknown = unknown_id(family, file);
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    const TokenId id =
        i < first ? result.vocabulary.find(file.pieces[i].text) : static_cast<TokenId>(i + shift);
    result.ids.push_back(id < 0 ? result.unknown : id);
  }
  return result;
}

std::vector<TokenizerConfig::Token> special_tokens(const Family& family, const TokenizerConfig& config) {
  std::vector<TokenizerConfig::Token> tokens = config.specials(family.roles), more;
  auto own = config.additional_tokens();
  if (own) more = std::move(*own);
  if (!own || family.keeps_additional)
    for (const std::string_view text : family.additional)
      if (std::ranges::find(more, text, &TokenizerConfig::Token::text) == more.end())
        more.push_back({std::string(text)});
  if (own && family.ids == Family::Ids::pegasus) fill_up_unknowns(more);
  const auto is_sentinel = [](const TokenizerConfig::Token& token) {
    return token.text.find("<extra_id_") != token.text.npos;
  };
  if (std::none_of(more.begin(), more.end(), is_sentinel))
    for (std::int64_t i = 0; i < sentinel_count(family, config); ++i) more.push_back({sentinel(i)});
  for (const std::string_view language : family.languages_of(config.fields()))
    more.push_back({std::string(language)});
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

namespace {

// PLBART's "java" for the token "__java__"; empty: this side has no language.
std::string base_language_token(const Family& family, const Fields& fields, TextSide side) {
  const bool target = side == TextSide::target, base = family.has_base_languages(fields);
  const char* field = target ? "tgt_lang" : "src_lang";
  std::string language = fields.text({field}, base || target ? "" : "en_XX");
  if (language.empty()) return language;
  if (!language.starts_with("__")) language = "__" + language + "__";
  const auto languages = family.languages_of(fields);
  if (std::ranges::find(languages, language) == languages.end())
    fail("{}: {} is '{}', expected one of {}'s {} languages", fields.source(), field, language,
         family.names[0], languages.size());
  return language;
}

}  // namespace

std::string language_token(const Family& family, const TokenizerConfig& config, TextSide side) {
  const Fields& fields = config.fields();
  if (family.base_languages > 0) return base_language_token(family, fields, side);
  const char* field = side == TextSide::target && fields.has({"tgt_lang"}) ? "tgt_lang" : "src_lang";
  const std::string language = fields.text({field}, family.has_languages ? "en" : family.usual_language);
  const std::string set = fields.text({"language_codes"}, "m2m100");
  const auto languages = family.has_languages ? m2m_languages(set) : family.languages;
  if (std::find(languages.begin(), languages.end(), language) == languages.end())
    fail("{}: {} is '{}', expected one of {}'s {} languages", fields.source(), field, language,
         family.has_languages ? set : std::string(family.names[0]), languages.size());
  return family.has_languages ? "__" + language + "__" : language;
}

}  // namespace attend::tokenizers
