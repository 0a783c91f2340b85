#include "tokenizers/files/sentencepiece_files.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "tokenizers/files/sentencepiece_conversion.h"
#include "tokenizers/files/sentencepiece_families.h"
#include "tokenizers/files/sentencepiece_tokens.h"
#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/files/tokenizer_files.h"
#include "tokenizers/sentencepiece/sentencepiece.h"
#include "tokenizers/text/metaspace.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace attend::tokenizers {
namespace {

namespace fs = std::filesystem;
using Family = SentencePieceFamily;
using Type = SentencePieceFile::Type;

const Family& family_of(const TokenizerConfig& config, const fs::path& model) {
  // Known from transformers' own names of the files.
  std::string name = config.family();
  if (name.empty() &&
      (model.filename() == file_names::source_spm || model.filename() == file_names::target_spm))
    name = "Marian";
  if (const Family* found = find_sentencepiece_family(name)) return *found;
  std::string known;
  for (const Family& family : sentencepiece_families())
    known += (known.empty() ? "" : ", ") + std::string(family.names[0]) + "Tokenizer";
  fail(
      "{}: tokenizer_config.json (tokenizer_class) or config.json (model_type) next to it must name its "
      "family; found '{}', expected one of {}",
      model.string(), name, known);
}

bool lowercases(const Family& family, const Fields& config) {
  return config.flag({"do_lower_case"}, family.lowercases);
}

// A family's changes to the text before SentencePiece, as normalizers of a tokenizer.json.
Json clean_up(const Family& family, const Fields& config) {
  const auto replace = [](const char* kind, const char* from, const char* to) {
    return Json{{"type", "Replace"}, {"pattern", {{kind, from}}}, {"content", to}};
  };
  const bool lower = lowercases(family, config);
  Json steps = Json::array();
  // Letter by letter before NFKD, which turns other characters into capital letters, and then word by word.
  if (lower) steps.push_back({{"type", "Lowercase"}});
  if (family.steps == Family::Steps::cleaned) {
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

// The closest normalizer that a tokenizer.json can express.
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

// The closest decoder that a tokenizer.json can express.
Json decoder_fields(const SentencePieceFile& file) {
  if (!file.byte_fallback) return metaspace(file);
  Json steps = Json::array({{{"type", "Replace"}, {"pattern", {{"String", space_letter}}}, {"content", " "}},
                            {{"type", "ByteFallback"}},
                            {{"type", "Fuse"}}});
  if (file.add_dummy_prefix)
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", steps}};
}

std::unique_ptr<Decoder> make_decoder(const Family& family, const SentencePieceFile& file,
                                      const Fields& config, const Json& added) {
  PieceJoining joining = family.joining;
  const SpaceFields spaces = read_spaces(family, config);
  joining.drops_first_space = spaces.can_be_told && spaces.prefix;
  if (family.steps == Family::Steps::plain) {
    joining.before_run = spaces.legacy;
    joining.space_behind_first = spaces.prefix;
  }
  std::set<std::string> specials;
  for (const Json& token : added)
    if (token.at("special").get<bool>()) specials.insert(token.at("content").get<std::string>());
  return make_piece_decoder(file, joining, std::move(specials));
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
  if (family == nullptr || !family->has_language()) return false;
  // The side of PLBART's targets has no language if tgt_lang does not name one.
  return config.fields().has({"tgt_lang"}) ||
         (family->base_languages > 0 &&
          (config.fields().has({"src_lang"}) || !family->has_base_languages(config.fields())));
}

void set_language(TokenizerJson& json, const fs::path& directory, TextSide side) {
  const TokenizerConfig config(directory);
  const Family* family = find_sentencepiece_family(config.family());
  if (family == nullptr || family->languages.empty() || !json.fields.contains("added_tokens")) return;
  auto tokens = config.tokens(family->roles);
  tokens["language"] = language_token(*family, config, side);
  const auto [single, pair] = family->templates(config.fields());
  json.fields["post_processor"] =
      template_processor(config.fill_in(single, tokens), config.fill_in(pair, tokens),
                         json.fields.at("added_tokens"), &json.tables.vocabulary, tokens.at("unk_token"));
}

TokenizerJson read_sentencepiece_files(const fs::path& model, TextSide side) {
  const std::string source = model.string();
  const TokenizerConfig config(model.parent_path());
  const Family& family = family_of(config, model);
  SentencePieceFile file = read_sentencepiece(model);
  if (can_be_converted(family, file)) return convert_sentencepiece(family, file, config, side, source);
  auto tokens = config.tokens(family.roles);
  PieceIds ids = piece_ids(family, file, config, model, tokens.at("unk_token"));
  ids.split_digit_comma = family.steps == Family::Steps::cleaned;

  // Added tokens are numbered after the source's vocabulary, for both sides.
  const Vocabulary encoder = family.ids == Family::Ids::vocab_json
                                 ? read_vocab_json(model.parent_path() / file_names::vocab_json).vocabulary
                                 : ids.vocabulary;
  const Json added =
      config.added_tokens(TokenizerConfig::Kind::slow, {}, special_tokens(family, config), encoder);
  if (family.has_language()) tokens["language"] = language_token(family, config, side);
  const Json steps = clean_up(family, config.fields());
  std::vector<std::unique_ptr<Normalizer>> normalizers;
  for (const Json& step : steps) {
    const std::string type = step.at("type").get<std::string>();
    normalizers.push_back(type == "StripAccents" ? make_slow_strip_accents()
                          : type == "NFKD"       ? make_form_normalizer(unicode::Form::python_nfkd)
                          : type == "Lowercase"  ? make_slow_lowercase(/*by_words=*/!normalizers.empty())
                                                 : make_normalizer(step, source));
  }
  auto [single, pair] = family.templates(config.fields());
  if (family.closes_once) single = "$A eos_token", pair = "$A eos_token $B eos_token";
  TokenizerJson result;
  Json fields = family.ids == Family::Ids::vocab_json ? Json() : model_fields(file, ids);
  result.fields = {
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer", normalizer_fields(steps, file)},
      {"pre_tokenizer", metaspace(file)},
      {"post_processor", template_processor(config.fill_in(single, tokens), config.fill_in(pair, tokens),
                                            added, &ids.vocabulary, tokens.at("unk_token"))},
      {"decoder", decoder_fields(file)}};
  result.slow = true;
  if (lowercases(family, config.fields())) result.lowercase = make_slow_lowercase(/*by_words=*/false);
  if (family.has_languages)  // M2M-100's tokenizer numbers languages itself and ignores the ids of added
                             // tokens with their names
    result.fields["post_processor"]["special_tokens"][tokens.at("language")]["ids"] = {
        ids.vocabulary.find(tokens.at("language"))};
  if (family.closes_once)
    result.closes_once =
        result.fields["post_processor"]["special_tokens"][tokens.at("eos_token")]["ids"][0].get<TokenId>();
  result.apart = config.tokens_apart(added, family.roles, encoder);
  for (std::size_t id = file.pieces.size(); family.sentinels > 0 && id < ids.vocabulary.size(); ++id)
    result.apart.emplace(ids.vocabulary.token(static_cast<TokenId>(id)));
  if (family.between_parts != nullptr) {
    for (const Json& token : added) result.apart.insert(token.at("content").get<std::string>());
    result.between_parts = family.between_parts;
    result.closing = {family.closing.begin(), family.closing.end()};
  }
  if (family.has_language_codes) {
    result.unknown_language_code = ids.unknown;
    for (const Json& token : added)
      if (token.at("special").get<bool>() && token.at("content") != tokens.at("unk_token"))
        result.marked.insert(token.at("id").get<TokenId>());
  }
  const SpaceFields spaces = read_spaces(family, config.fields());
  const bool newer = spaces.can_be_told && !spaces.legacy;
  if (newer) file.add_dummy_prefix = false;
  auto rules = make_sentencepiece_normalizer(file, source);
  if (newer) rules = make_newer_spaces(std::move(rules), tokens.at("unk_token"), spaces.prefix);
  if (family.steps == Family::Steps::punctuation && config.fields().flag({"split_by_punct"}, false))
    result.pre_tokenizer = make_punctuated_pre_tokenizer(std::move(rules));
  else
    normalizers.push_back(std::move(rules));
  result.normalizer = make_sequence(std::move(normalizers));
  result.decoder = make_decoder(family, file, config.fields(), added);
  result.model = make_sentencepiece_model(file, std::move(ids), std::move(fields), source);
  return result;
}

}  // namespace attend::tokenizers
