#include "tokenizers/files/word_bpe_files.h"

#include "base/error.h"
#include "tokenizers/models/model_renamed.h"
#include "tokenizers/steps/moses.h"

namespace attend::tokenizers {
namespace {

void add_slow_tokens(const BpeFiles& files, TokenizerJson& result) {
  result.fields["added_tokens"] = added_tokens(files);
  result.slow = true;
  result.apart = files.config.tokens_apart(result.fields.at("added_tokens"), files.family.roles,
                                           files.vocabulary.vocabulary);
}

const std::string end_of_word = "</w>";

Json strip(const char* what, std::int32_t start, std::int32_t stop) {
  return {{"type", "Strip"}, {"content", what}, {"start", start}, {"stop", stop}};
}

// BPE with its own vocabulary: `symbols` and all results of the merges. outer_name(symbol) is a symbol's name
// in vocab.json; a symbol without a name there becomes the unknown token.
template <class OuterName>
std::unique_ptr<Model> make_outer_bpe(BpeFiles& files, const std::vector<std::string>& symbols,
                                      OuterName outer_name) {
  static const std::string unknown_name = "\n unknown";  // occurs in no merge
  Vocabulary& outer = files.vocabulary.vocabulary;
  const std::string& unknown = files.tokens.at("unk_token");
  const TokenId unknown_id = outer.find(unknown);
  if (unknown_id < 0) fail("{}: the unk_token '{}' is missing", files.config.fields().source(), unknown);

  ModelTables inner;
  inner.has_vocabulary = true;
  std::vector<TokenId> ids;
  const auto add = [&](const std::string& symbol, TokenId id) {
    if (inner.vocabulary.find(symbol) >= 0) return;
    inner.vocabulary.add(symbol, static_cast<std::int64_t>(inner.vocabulary.size()), files.merges_source);
    ids.push_back(id < 0 ? unknown_id : id);
  };
  add(unknown_name, unknown_id);
  for (const std::string& symbol : symbols) add(symbol, outer.find(outer_name(symbol)));
  for (const auto& [left, right] : files.merges)
    for (const std::string& symbol : {left, right, left + right}) add(symbol, outer.find(outer_name(symbol)));
  set_merges(inner, files);
  const Json fields = {{"type", "BPE"}, {"unk_token", unknown_name}, {"end_of_word_suffix", end_of_word}};
  return make_renamed(make_bpe(fields, std::move(inner), files.merges_source), std::move(outer),
                      std::move(ids));
}

std::vector<std::string> tokens_of(const Vocabulary& vocabulary) {
  std::vector<std::string> tokens;
  vocabulary.for_each([&](std::string_view token, TokenId) { tokens.emplace_back(token); });
  return tokens;
}

Json cut(const char* words) {
  return {{"type", "Split"}, {"pattern", {{"Regex", words}}}, {"behavior", "Removed"}, {"invert", true}};
}

}  // namespace

Json added_tokens(const BpeFiles& files) {
  std::vector<TokenizerConfig::Token> specials = files.config.specials(files.family.roles);
  for (const auto& token : files.config.additional_tokens().value_or(files.family.additional))
    specials.push_back(token);
  return files.config.added_tokens(files.family.kind, {}, specials, files.vocabulary.vocabulary);
}

void set_merges(ModelTables& tables, const BpeFiles& files) {
  std::vector<std::string_view> tokens;
  for (const auto& [left, right] : files.merges) tokens.insert(tokens.end(), {left, right});
  tables.add_merges(tokens, files.merges_source);
  tables.has_merges = true;
}

// GPT (Radford et al. 2018): BERT's words, lowercased, with a mark at the end of each.
TokenizerJson read_gpt(BpeFiles files) {
  TokenizerJson result;
  result.fields = {
      {"version", "1.0"},
      {"normalizer",
       {{"type", "BertNormalizer"},
        {"clean_text", true},
        {"handle_chinese_chars", true},
        {"strip_accents", nullptr},
        {"lowercase", true}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"decoder", {{"type", "BPEDecoder"}, {"suffix", "</w>"}}},
      {"model",
       {{"type", "BPE"}, {"unk_token", files.tokens.at("unk_token")}, {"end_of_word_suffix", "</w>"}}}};
  result.fields["added_tokens"] = added_tokens(files);
  result.tables = std::move(files.vocabulary);
  set_merges(result.tables, files);
  return result;
}

// CTRL (Keskar et al. 2019): the merges mark the end of a word, "</w>"; the vocabulary marks parts before the
// end, "@@".
TokenizerJson read_ctrl(BpeFiles files) {
  static const std::string more = "@@";
  TokenizerJson result;
  result.fields = {{"version", "1.0"},
                   {"pre_tokenizer", cut(R"(\S+\n?)")},
                   {"decoder",
                    {{"type", "Sequence"},
                     {"decoders",
                      {{{"type", "Replace"}, {"pattern", {{"Regex", R"(\z)"}}}, {"content", " "}},
                       {{"type", "Fuse"}},
                       strip(" ", 0, 1),
                       {{"type", "Replace"}, {"pattern", {{"String", "@@ "}}}, {"content", ""}},
                       strip(" ", INT32_MAX, INT32_MAX),
                       strip("\n", INT32_MAX, INT32_MAX),
                       strip(" ", INT32_MAX, INT32_MAX)}}}}};
  add_slow_tokens(files, result);
  std::vector<std::string> symbols;
  for (const std::string& token : tokens_of(files.vocabulary.vocabulary)) {
    symbols.push_back(token + end_of_word);
    if (token.size() > more.size() && token.ends_with(more))
      symbols.push_back(token.substr(0, token.size() - more.size()));
  }
  result.model = make_outer_bpe(files, symbols, [](const std::string& symbol) {
    return symbol.ends_with(end_of_word) ? symbol.substr(0, symbol.size() - end_of_word.size())
                                         : symbol + more;
  });
  return result;
}

// Roller et al. 2020 (arXiv:2004.13637): like CTRL, but lowercased, with spaces before punctuation, around
// apostrophes, and around the name of a line end. An apostrophe removes the line end after it.
TokenizerJson read_blenderbot_small(BpeFiles files) {
  const std::string source = files.config.fields().source();
  TokenizerJson result = read_ctrl(std::move(files));
  const auto replace = [](const char* kind, const char* from, const char* to) {
    return Json{{"type", "Replace"}, {"pattern", {{kind, from}}}, {"content", to}};
  };
  Json steps =
      Json::array({replace("Regex", R"((?<=[^\s'])\n)", " __newln__ "), replace("String", "'", " ' ")});
  for (const char* mark : {".", ",", "!", "?", "(", ")"})
    steps.push_back(replace("String", mark, (std::string(" ") + mark).c_str()));
  std::vector<std::unique_ptr<Normalizer>> normalizers;
  for (const Json& step : steps) normalizers.push_back(make_normalizer(step, source));
  normalizers.push_back(make_slow_lowercase(/*by_words=*/true));
  result.normalizer = make_sequence(std::move(normalizers));
  steps.push_back({{"type", "Lowercase"}});
  result.fields["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
  result.fields["pre_tokenizer"] = cut(R"(\S+)");
  result.pre_tokenizer = make_pre_tokenizer(result.fields["pre_tokenizer"], source);
  return result;
}

// XLM (Conneau and Lample 2019, arXiv:1901.07291): Moses's words. Some intermediate results of the merges are
// not in the vocabulary.
TokenizerJson read_xlm(BpeFiles files) {
  check_moses_language(files.config.fields());
  const bool lower = files.config.fields().flag({"do_lowercase_and_remove_accent"}, true);
  TokenizerJson result;
  result.fields = {{"version", "1.0"},
                   {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                   {"decoder",
                    {{"type", "Sequence"},
                     {"decoders",
                      {{{"type", "Replace"}, {"pattern", {{"String", end_of_word}}}, {"content", " "}},
                       {{"type", "Fuse"}},
                       strip(" ", INT32_MAX, INT32_MAX)}}}}};
  result.normalizer = make_moses_normalizer(
      {.lowercase = lower, .replace_wide = true, .drop_unprintable = true, .strip_accents = lower});
  result.pre_tokenizer = make_pre_tokenizer({{"type", "WhitespaceSplit"}}, files.config.fields().source());
  add_slow_tokens(files, result);
  const Json& added = result.fields.at("added_tokens");
  result.fields["post_processor"] = template_processor(
      files.config.fill_in("bos_token $A sep_token", files.tokens),
      files.config.fill_in("bos_token $A sep_token $B:1 sep_token:1", files.tokens), added);
  result.model = make_outer_bpe(files, tokens_of(files.vocabulary.vocabulary),
                                [](const std::string& symbol) { return symbol; });
  return result;
}

// BioGPT (Luo et al. 2022, arXiv:2210.10341): Moses's words, with hyphens split off and XML escapes.
TokenizerJson read_biogpt(BpeFiles files) {
  TokenizerJson result;
  result.fields = {{"version", "1.0"},
                   {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                   {"decoder", {{"type", "BPEDecoder"}, {"suffix", end_of_word}}}};
  result.normalizer =
      make_moses_normalizer({.clean_punctuation = false, .split_hyphens = true, .escape = true});
  result.pre_tokenizer = make_pre_tokenizer({{"type", "WhitespaceSplit"}}, files.config.fields().source());
  result.decoder = make_moses_decoder({.end_of_word = end_of_word});
  add_slow_tokens(files, result);
  result.fields["post_processor"] = template_processor(
      files.config.fill_in("sep_token $A", files.tokens),
      files.config.fill_in("sep_token $A sep_token $B", files.tokens), result.fields.at("added_tokens"));
  result.model = make_outer_bpe(files, tokens_of(files.vocabulary.vocabulary),
                                [](const std::string& symbol) { return symbol; });
  return result;
}

}  // namespace attend::tokenizers
