#include "tokenizers/sentencepiece_files.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "tokenizers/metaspace.h"
#include "tokenizers/sentencepiece.h"
#include "tokenizers/sentencepiece_families.h"
#include "tokenizers/tokenizer_config.h"
#include "tokenizers/tokenizer_files.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace attend::tokenizers {
namespace {

namespace fs = std::filesystem;
using Family = SentencePieceFamily;
using Type = SentencePieceFile::Type;

const Family& family_of(const TokenizerConfig& config, const fs::path& model) {
  // What transformers' own names of the files say.
  std::string name = config.family();
  if (name.empty() &&
      (model.filename() == file_names::source_spm || model.filename() == file_names::target_spm))
    name = "Marian";
  if (const Family* found = find_sentencepiece_family(name)) return *found;
  std::string known;
  for (const Family& family : sentencepiece_families())
    known += (known.empty() ? "" : ", ") + std::string(family.names[0]) + "Tokenizer";
  fail(
      "{}: the files beside it must say in tokenizer_config.json (tokenizer_class) or config.json "
      "(model_type) how it is used; found '{}', expected one of {}",
      model.string(), name, known);
}

PieceIds ids_in_file(const SentencePieceFile& file, const std::string& source) {
  PieceIds result;
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    result.vocabulary.add(file.pieces[i].text, static_cast<std::int64_t>(i), source);
    result.ids.push_back(static_cast<TokenId>(i));
  }
  result.unknown = static_cast<TokenId>(file.unknown);
  return result;
}

PieceIds ids_of_fairseq(const SentencePieceFile& file, const std::string& source) {
  static constexpr const char* first[] = {"<s>", "<pad>", "</s>", "<unk>"};
  PieceIds result;
  for (const char* token : first)
    result.vocabulary.add(token, static_cast<std::int64_t>(result.vocabulary.size()), source);
  result.unknown = result.vocabulary.find("<unk>");
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    TokenId id = result.vocabulary.find(file.pieces[i].text);
    if (i >= 3) {
      id = static_cast<TokenId>(i) + 1;
      result.vocabulary.add(file.pieces[i].text, id, source);
    }
    result.ids.push_back(id < 0 ? result.unknown : id);
  }
  return result;
}

PieceIds ids_of_vocab_json(const SentencePieceFile& file, const fs::path& path, const std::string& unknown) {
  PieceIds result;
  result.vocabulary = read_vocab_json(path).vocabulary;
  result.unknown = result.vocabulary.find(unknown);
  if (result.unknown < 0) fail("{}: the unk_token '{}' is missing", path.string(), unknown);
  for (const SentencePieceFile::Piece& piece : file.pieces) {
    const TokenId id = result.vocabulary.find(piece.text);
    result.ids.push_back(id < 0 ? result.unknown : id);
  }
  return result;
}

PieceIds ids_of(const Family& family, const SentencePieceFile& file, const TokenizerConfig& config,
                const fs::path& model, const std::string& unknown) {
  switch (family.ids) {
    case Family::Ids::file:
      return ids_in_file(file, model.string());
    case Family::Ids::fairseq:
      return ids_of_fairseq(file, model.string());
    case Family::Ids::vocab_json:
      break;
  }
  const bool separate =
      config.fields().flag({"separate_vocabs"}, false) && model.filename() == file_names::target_spm;
  const char* name = separate ? file_names::target_vocab_json : file_names::vocab_json;
  return ids_of_vocab_json(file, model.parent_path() / name, unknown);
}

std::vector<TokenizerConfig::Token> special_tokens(const Family& family, const TokenizerConfig& config,
                                                   TextSide side,
                                                   std::map<std::string, std::string>& tokens) {
  std::vector<TokenizerConfig::Token> list;
  for (const Role& role : family.roles) list.push_back({tokens.at(role.name), role.left_strip});
  const Fields& fields = config.fields();
  const std::int64_t sentinels =
      family.sentinels == 0 ? 0 : fields.integer({"extra_ids"}, family.sentinels, 0, 10000);
  for (std::int64_t i = sentinels; i-- > 0;)
    list.push_back({"<extra_id_" + std::to_string(i) + ">", true, true});
  if (family.has_languages) {
    const char* field = side == TextSide::target && fields.has({"tgt_lang"}) ? "tgt_lang" : "src_lang";
    const std::string set = fields.text({"language_codes"}, "m2m100"), language = fields.text({field}, "en");
    const auto languages = m2m_languages(set);
    if (std::find(languages.begin(), languages.end(), language) == languages.end())
      fail("{}: {} is '{}', which is no language of the set '{}'", fields.source(), field, language, set);
    for (const std::string_view name : languages) list.push_back({"__" + std::string(name) + "__"});
    tokens["language"] = "__" + language + "__";
  }
  return list;
}

// What a family does to the text before SentencePiece sees it, as normalizers of a tokenizer.json.
Json clean_up(const Family& family, const Fields& config) {
  const auto replace = [](const char* kind, const char* from, const char* to) {
    return Json{{"type", "Replace"}, {"pattern", {{kind, from}}}, {"content", to}};
  };
  const bool lower = config.flag({"do_lower_case"}, family.lowercases);
  Json steps = Json::array();
  // Letter by letter before NFKD, which makes capital letters of others, and then word by word.
  if (lower) steps.push_back({{"type", "Lowercase"}});
  if (family.cleans) {
    if (config.flag({"remove_space"}, true)) {
      steps.push_back(replace("Regex", R"([\s\x1C-\x1F]+)", " "));
      steps.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
    }
    steps.push_back(replace("String", "``", "\""));
    steps.push_back(replace("String", "''", "\""));
    if (!config.flag({"keep_accents"}, false)) {
      steps.push_back({{"type", "NFKD"}});
      steps.push_back({{"type", "StripAccents"}});
    }
    if (lower) steps.push_back({{"type", "Lowercase"}});
  }
  return steps;
}

// The nearest that a tokenizer.json can say.
Json normalizer_fields(Json steps, const SentencePieceFile& file) {
  if (!file.charsmap.empty())
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", encode_base64(file.charsmap)}});
  if (file.remove_extra_whitespaces) {
    steps.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
    steps.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  }
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

Json model_fields(const SentencePieceFile& file, const PieceIds& ids) {
  if (file.kind == SentencePieceFile::Kind::unigram)
    return {{"type", "Unigram"}, {"unk_id", ids.unknown}, {"byte_fallback", file.byte_fallback}};
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", ids.vocabulary.token(ids.unknown)},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", true},
          {"byte_fallback", file.byte_fallback},
          {"ignore_merges", false}};
}

Json metaspace(const SentencePieceFile& file) {
  return {{"type", "Metaspace"},
          {"replacement", space_letter},
          {"prepend_scheme", file.add_dummy_prefix ? "always" : "never"},
          {"split", true}};
}

// As a regular expression: each text, with nothing in it that has a meaning.
std::string any_of(const std::vector<std::string>& texts) {
  std::string pattern;
  for (const std::string& text : texts) {
    if (!pattern.empty()) pattern += '|';
    for (const char c : text) {
      if (std::ispunct(static_cast<unsigned char>(c)) != 0) pattern += '\\';
      pattern += c;
    }
  }
  return pattern;
}

// Behind each special token one space, in place of that of a word that follows: it is decoded as if it began
// the text.
Json set_spaces(const SentencePieceFile& file, const Json& added) {
  std::vector<std::string> specials;
  for (const Json& token : added)
    if (token.at("special").get<bool>()) specials.push_back(token.at("content").get<std::string>());
  const char* dropped = file.remove_extra_whitespaces ? " *" : file.add_dummy_prefix ? " ?" : "";
  return {{"type", "Replace"},
          {"pattern", {{"Regex", "(?<=" + any_of(specials) + ")" + dropped}}},
          {"content", " "}};
}

Json decoder(const Family& family, const SentencePieceFile& file, const Json& added) {
  using Spaces = Family::Spaces;
  if (!file.byte_fallback && family.spaces == Spaces::kept) return metaspace(file);
  const auto strip = [](std::int32_t start, std::int32_t stop) {
    return Json{{"type", "Strip"}, {"content", " "}, {"start", start}, {"stop", stop}};
  };
  Json steps =
      Json::array({{{"type", "Replace"}, {"pattern", {{"String", space_letter}}}, {"content", " "}}});
  if (file.byte_fallback) steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
  if (family.spaces == Spaces::set) steps.push_back(set_spaces(file, added));
  if (family.spaces != Spaces::kept)
    steps.push_back(strip(INT32_MAX, INT32_MAX));
  else if (file.add_dummy_prefix)
    steps.push_back(strip(1, 0));
  return {{"type", "Sequence"}, {"decoders", steps}};
}

void refuse_what_is_missing(const Fields& config) {
  if (config.flag({"split_by_punct"}, false))
    fail("{}: split_by_punct is true, only false is supported", config.source());
  if (!config.flag({"legacy"}, true))
    warn(
        "{}: legacy is false, but text behind a special token is read as the beginning of a word all the "
        "same",
        config.source());
}

}  // namespace

std::optional<fs::path> find_sentencepiece(const fs::path& directory, TextSide side) {
  if (const fs::path target = directory / file_names::target_spm;
      side == TextSide::target && file_exists(target))
    return target;
  for (const char* name : file_names::sentencepiece)
    if (file_exists(directory / name)) return directory / name;
  return {};
}

bool has_target_language(const fs::path& directory) {
  const TokenizerConfig config(directory);
  const Family* family = find_sentencepiece_family(config.family());
  return family != nullptr && family->has_languages && config.fields().has({"tgt_lang"});
}

TokenizerJson read_sentencepiece_files(const fs::path& model, TextSide side) {
  const std::string source = model.string();
  const TokenizerConfig config(model.parent_path());
  const Family& family = family_of(config, model);
  refuse_what_is_missing(config.fields());
  const SentencePieceFile file = read_sentencepiece(model);
  auto tokens = config.tokens(family.roles);
  PieceIds ids = ids_of(family, file, config, model, tokens.at("unk_token"));
  ids.split_digit_comma = family.cleans;

  const Json added = config.added_tokens(special_tokens(family, config, side, tokens), ids.vocabulary);

  const Json steps = clean_up(family, config.fields());
  std::vector<std::unique_ptr<Normalizer>> normalizers;
  for (const Json& step : steps) {
    const std::string type = step.at("type").get<std::string>();
    normalizers.push_back(type == "StripAccents"                        ? make_slow_strip_accents()
                          : type == "Lowercase" && !normalizers.empty() ? make_slow_lowercase()
                                                                        : make_normalizer(step, source));
  }
  normalizers.push_back(make_sentencepiece_normalizer(file, source));

  TokenizerJson result;
  Json fields = family.ids == Family::Ids::vocab_json ? Json() : model_fields(file, ids);
  result.fields = {{"version", "1.0"},
                   {"added_tokens", added},
                   {"normalizer", normalizer_fields(steps, file)},
                   {"pre_tokenizer", metaspace(file)},
                   {"post_processor", template_processor(config.fill_in(family.single, tokens),
                                                         config.fill_in(family.pair, tokens), added)},
                   {"decoder", decoder(family, file, added)}};
  if (family.has_language_codes) result.unknown_language_code = ids.unknown;
  result.normalizer = make_sequence(std::move(normalizers));
  result.model = make_sentencepiece_model(file, std::move(ids), std::move(fields), source);
  return result;
}

}  // namespace attend::tokenizers
