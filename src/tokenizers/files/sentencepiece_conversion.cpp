#include "tokenizers/files/sentencepiece_conversion.h"

#include "base/base64.h"
#include "base/error.h"
#include "tokenizers/text/metaspace.h"
#include "tokenizers/text/unicode.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace attend::tokenizers {
namespace {

using Family = SentencePieceFamily;
using Kind = SentencePieceFile::Kind;
using Type = SentencePieceFile::Type;
using Steps = Family::Steps;

Json replace(const char* kind, std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{kind, from}}}, {"content", to}};
}

Json metaspace(SpaceFields spaces, bool split = true) {
  return {{"type", "Metaspace"},
          {"replacement", space_letter},
          {"prepend_scheme", !spaces.prefix  ? "never"
                             : spaces.legacy ? "always"
                                             : "first"},
          {"split", split}};
}

// Whether characters that are no pieces become their bytes.
bool has_bytes(const Family& family) {
  return family.steps == Steps::plain || family.steps == Steps::kept;
}

Json normalizer(const Family& family, const SentencePieceFile& file, const Fields& config,
                SpaceFields spaces) {
  Json steps = Json::array();
  const auto add_rules = [&] {
    if (!file.charsmap.empty())
      steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", encode_base64(file.charsmap)}});
  };
  const auto strip = [&](bool left) {
    steps.push_back({{"type", "Strip"}, {"strip_left", left}, {"strip_right", true}});
  };
  const bool lower = config.flag({"do_lower_case"}, family.lowercases);
  switch (family.steps) {
    case Steps::plain:
      if (!spaces.legacy) return nullptr;
      if (spaces.prefix) steps.push_back({{"type", "Prepend"}, {"prepend", space_letter}});
      steps.push_back(replace("String", " ", space_letter));
      break;
    case Steps::kept:
      return replace("String", " ", space_letter);
    case Steps::cleaned:
      steps.push_back(replace("String", "``", "\""));
      steps.push_back(replace("String", "''", "\""));
      if (!config.flag({"keep_accents"}, false)) {
        steps.push_back({{"type", "NFKD"}});
        steps.push_back({{"type", "StripAccents"}});
      }
      if (lower) steps.push_back({{"type", "Lowercase"}});
      add_rules();
      steps.push_back(replace("Regex", " {2,}", " "));
      break;
    case Steps::punctuation:
      if (lower) steps.push_back({{"type", "Lowercase"}});
      strip(true);
      add_rules();
      steps.push_back(replace("Regex", " {2,}", " "));
      break;
    case Steps::spaces:
    case Steps::words:
    case Steps::sentencepiece:
      add_rules();
      strip(false);
      steps.push_back(replace("Regex", " {2,}", space_letter));
  }
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

Json pre_tokenizer(const Family& family, const Fields& config, SpaceFields spaces) {
  if (family.steps == Steps::plain) return spaces.legacy ? Json() : metaspace(spaces, false);
  if (family.steps == Steps::kept)
    return {{"type", "Split"},
            {"pattern", {{"String", " "}}},
            {"behavior", "MergedWithPrevious"},
            {"invert", false}};
  Json parts = Json::array();
  if (family.steps == Steps::punctuation && config.flag({"split_by_punct"}, false))
    parts.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
  if (family.steps == Steps::words) parts.push_back({{"type", "WhitespaceSplit"}});
  parts.push_back(metaspace(spaces));
  return {{"type", "Sequence"}, {"pretokenizers", parts}};
}

Json decoder(const Family& family, SpaceFields spaces) {
  if (!has_bytes(family)) return metaspace(spaces);
  Json steps =
      Json::array({replace("String", space_letter, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (spaces.prefix && family.steps == Steps::plain)
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", steps}};
}

// ALBERT and XLNet almost exclude pieces that end with a digit and a comma.
bool ends_with_digit_and_comma(const std::string& text) {
  if (text.size() < 2 || text.back() != ',') return false;
  return unicode::is(unicode::last(std::string_view(text).substr(0, text.size() - 1)).value, unicode::digit);
}

// Two pieces merge if their concatenation is a token. Tokens with higher scores merge first, then those with
// the longer first piece and the longer second piece, in characters; then in the order of the tokens.
void add_merges(const std::vector<ScoredToken>& tokens, const SentencePieceFile& file, ModelTables& tables,
                const std::string& source) {
  std::unordered_map<std::string_view, std::size_t> pieces;
  for (std::size_t i = 0; i < file.pieces.size(); ++i) pieces[file.pieces[i].text] = i;
  std::unordered_map<std::string_view, double> scores;
  for (const ScoredToken& token : tokens) scores[token.text] = token.score;
  struct Merge {
    std::string_view left, right;
    std::size_t left_piece, right_piece, left_size, right_size;
    double score;
  };
  std::vector<Merge> merges;
  for (const ScoredToken& token : tokens) {
    const auto score = scores.find(token.text);
    if (score == scores.end()) continue;  // it was there before
    const std::string_view text = token.text;
    const std::size_t size = unicode::count(text), first = merges.size();
    std::size_t begins = 1;  // characters
    for (std::size_t at = unicode::decode(text.data()).size; at < text.size();
         at += unicode::decode(text.data() + at).size, ++begins) {
      const auto left = pieces.find(text.substr(0, at)), right = pieces.find(text.substr(at));
      if (left != pieces.end() && right != pieces.end())
        merges.push_back(
            {left->first, right->first, left->second, right->second, begins, size - begins, score->second});
    }
    std::sort(merges.begin() + static_cast<std::ptrdiff_t>(first), merges.end(),
              [](const Merge& a, const Merge& b) {
                return std::pair(a.left_piece, a.right_piece) < std::pair(b.left_piece, b.right_piece);
              });
    scores.erase(score);
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tuple(a.score, a.left_size, a.right_size) > std::tuple(b.score, b.left_size, b.right_size);
  });
  std::vector<std::string_view> texts;
  for (const Merge& merge : merges) texts.insert(texts.end(), {merge.left, merge.right});
  tables.add_merges(texts, source);
  tables.has_merges = true;
}

}  // namespace

bool can_be_converted(const Family& family, const SentencePieceFile& file) {
  return family.steps != Steps::sentencepiece && (file.kind == Kind::unigram || file.kind == Kind::bpe);
}

TokenizerJson convert_sentencepiece(const Family& family, const SentencePieceFile& file,
                                    const TokenizerConfig& config, TextSide side, const std::string& source) {
  TokenizerJson result;
  std::vector<ScoredToken> tokens = scored_tokens(family, file, config);
  Vocabulary& vocabulary = result.tables.vocabulary;
  result.tables.has_vocabulary = true;
  constexpr double penalty = 100;
  if (family.steps == Steps::cleaned)
    for (ScoredToken& token : tokens)
      if (ends_with_digit_and_comma(token.text)) token.score -= penalty;
  if (family.steps == Steps::plain)
    for (std::size_t i = 0; i < std::min<std::size_t>(tokens.size(), 3); ++i) tokens[i].score = 0;
  for (const ScoredToken& token : tokens)
    vocabulary.add(token.text, static_cast<std::int64_t>(vocabulary.size()), source,
                   Vocabulary::Earlier::kept);

  std::vector<TokenizerConfig::Token> first;
  for (const SentencePieceFile::Piece& piece : file.pieces)
    if (piece.type == Type::control || piece.type == Type::user_defined)
      first.push_back({.text = piece.text,
                       .special = piece.type == Type::control ||
                                  std::ranges::find(family.marks, piece.text) != family.marks.end()});
  const Json added =
      config.added_tokens(TokenizerConfig::Kind::fast, first, special_tokens(family, config), vocabulary);
  auto by_role = config.tokens(family.roles);
  if (family.has_language()) by_role["language"] = language_token(family, config, side);

  const SpaceFields spaces = read_spaces(family, config.fields());
  const bool byte_fallback = has_bytes(family);
  const TokenId unknown = family.steps == Steps::plain ? 0 : unknown_id(family, file);
  Json model;
  if (file.kind == Kind::unigram) {
    for (const ScoredToken& token : tokens) result.tables.scores.push_back(token.score);
    model = {{"type", "Unigram"}, {"unk_id", unknown}, {"byte_fallback", byte_fallback}};
  } else {
    add_merges(tokens, file, result.tables, source);
    model = {{"type", "BPE"},
             {"unk_token", file.pieces[file.unknown].text},
             {"fuse_unk", true},
             {"byte_fallback", byte_fallback}};
  }
  const auto [single, pair] = family.templates(config.fields());
  result.fields = {
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer", normalizer(family, file, config.fields(), spaces)},
      {"pre_tokenizer", pre_tokenizer(family, config.fields(), spaces)},
      {"post_processor", template_processor(config.fill_in(single, by_role), config.fill_in(pair, by_role),
                                            added, &vocabulary, by_role.at("unk_token"))},
      {"decoder", decoder(family, spaces)},
      {"model", model}};
  return result;
}

}  // namespace attend::tokenizers
