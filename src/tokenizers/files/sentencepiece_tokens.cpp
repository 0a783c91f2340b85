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

}  // namespace

std::vector<ScoredToken> scored_tokens(const Family& family, const SentencePieceFile& file,
                                       const TokenizerConfig& config) {
  std::vector<ScoredToken> tokens;
  std::size_t first = 0;
  if (family.ids == Family::Ids::fairseq) {
    tokens = {{"<s>"}, {"<pad>"}, {"</s>"}, {"<unk>"}};
    first = 3;
  } else if (family.ids == Family::Ids::camembert) {
    tokens = {{"<s>NOTUSED"}, {"<pad>"}, {"</s>NOTUSED"}, {"<unk>"}, {"<unk>NOTUSED", -100}};
    first = 1;
  }
  for (std::size_t i = first; i < file.pieces.size(); ++i)
    tokens.push_back({file.pieces[i].text, double{file.pieces[i].score}});
  for (const std::string_view language : family.languages) tokens.push_back({std::string(language)});
  if (first > 0) tokens.push_back({"<mask>"});
  for (std::int64_t i = sentinel_count(family, config); i-- > 0;) tokens.push_back({sentinel(i)});
  return tokens;
}

PieceIds piece_ids(const Family& family, const SentencePieceFile& file, const TokenizerConfig& config,
                   const std::filesystem::path& model, const std::string& unknown) {
  if (family.ids == Family::Ids::vocab_json) {
    const bool separate =
        config.fields().flag({"separate_vocabs"}, false) && model.filename() == file_names::target_spm;
    const char* name = separate ? file_names::target_vocab_json : file_names::vocab_json;
    PieceIds result = ids_of_vocab_json(file, model.parent_path() / name, unknown);
    // Languages are no added tokens unless the directory lists them.
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
  // The first pieces of the others are tokens that they have in front of all.
  const std::size_t first = family.ids == Family::Ids::fairseq     ? 3
                            : family.ids == Family::Ids::camembert ? 1
                                                                   : 0;
  const std::size_t shift = family.ids == Family::Ids::fairseq ? 1 : first * 4;
  result.unknown = first == 0 ? static_cast<TokenId>(file.unknown) : 3;
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    const TokenId id =
        i < first ? result.vocabulary.find(file.pieces[i].text) : static_cast<TokenId>(i + shift);
    result.ids.push_back(id < 0 ? result.unknown : id);
  }
  return result;
}

std::vector<TokenizerConfig::Token> special_tokens(const Family& family, const TokenizerConfig& config) {
  std::vector<TokenizerConfig::Token> tokens = config.specials(family.roles), more;
  for (const std::string_view text : family.additional) more.push_back({std::string(text)});
  if (auto own = config.additional_tokens()) more = std::move(*own);
  const auto is_sentinel = [](const TokenizerConfig::Token& token) {
    return token.text.find("<extra_id_") != token.text.npos;
  };
  if (std::none_of(more.begin(), more.end(), is_sentinel))
    for (std::int64_t i = 0; i < sentinel_count(family, config); ++i) more.push_back({sentinel(i)});
  for (const std::string_view language : family.languages) more.push_back({std::string(language)});
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

std::string language_token(const Family& family, const TokenizerConfig& config, TextSide side) {
  const Fields& fields = config.fields();
  const char* field = side == TextSide::target && fields.has({"tgt_lang"}) ? "tgt_lang" : "src_lang";
  const std::string language = fields.text({field}, family.has_languages ? "en" : "en_XX");
  const std::string set = fields.text({"language_codes"}, "m2m100");
  const auto languages = family.has_languages ? m2m_languages(set) : family.languages;
  if (std::find(languages.begin(), languages.end(), language) == languages.end())
    fail("{}: {} is '{}', expected one of {}'s {} languages", fields.source(), field, language,
         family.has_languages ? set : std::string(family.names[0]), languages.size());
  return family.has_languages ? "__" + language + "__" : language;
}

}  // namespace attend::tokenizers
