#include "tokenizers/files/word_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/python_text.h"
#include "base/utf8.h"
#include "formats/tensors/pickled_tensors.h"
#include "tokenizers/files/tokenizer_files.h"
#include "tokenizers/steps/moses.h"

namespace attend::tokenizers {
namespace {

// One word per line, ignoring the rest of the line; only the first occurrence of a word counts.
ModelTables read_word_list(const std::filesystem::path& path) {
  ModelTables tables;
  tables.has_vocabulary = true;
  std::size_t number = 0;
  for (const std::string& line : read_lines(path)) {
    ++number;
    if (const auto at = find_invalid_utf8(line))
      fail("{}, line {}: invalid UTF-8 at byte {}", path.string(), number, *at);
    const std::vector<std::string_view> words = split_words(line);
    if (words.empty()) fail("{}, line {}: expected a word, found nothing", path.string(), number);
    if (tables.vocabulary.find(words[0]) < 0)
      tables.vocabulary.add(words[0], static_cast<std::int64_t>(tables.vocabulary.size()), path.string());
  }
  return tables;
}

// The format that TransfoXLTokenizer saves: its words are the list idx2sym.
ModelTables read_word_pickle(const std::filesystem::path& path) {
  ModelTables tables;
  tables.has_vocabulary = true;
  const auto lists = read_pickled_lists(path);
  const auto words = lists.find("idx2sym");
  if (words == lists.end()) fail("{}: expected a list of words, idx2sym, found none", path.string());
  std::int64_t id = 0;
  for (const std::string& word : words->second) tables.vocabulary.add(word, id++, path.string());
  return tables;
}

// The first of the files that exists.
std::filesystem::path words_of(const std::filesystem::path& directory) {
  using namespace file_names;
  for (const char* name : {vocab_pkl, vocab_bin, vocab_txt})
    if (file_exists(directory / name)) return directory / name;
  return directory / vocab_json;
}

}  // namespace

bool reads_words(const TokenizerConfig& config) {
  return config.family() == "TransfoXL" || config.family() == "transfo-xl";
}

// Dai et al. 2019 (arXiv:1901.02860): Moses's words, with hyphens and numbers split as in WikiText-103.
TokenizerJson read_word_files(const std::filesystem::path& directory, const TokenizerConfig& config) {
  const std::filesystem::path path = words_of(directory);
  check_moses_language(config.fields());
  TokenizerJson result;
  result.tables = path.filename() == file_names::vocab_txt    ? read_word_list(path)
                  : path.filename() == file_names::vocab_json ? read_vocab_json(path)
                                                              : read_word_pickle(path);
  const Vocabulary& vocabulary = result.tables.vocabulary;
  const char* unknown = vocabulary.find("<UNK>") >= 0 ? "<UNK>" : "<unk>";
  if (vocabulary.find(unknown) < 0) fail("{}: expected a word <unk> or <UNK>, found neither", path.string());
  static constexpr Role roles[] = {{"eos_token", "<eos>"}, {"unk_token", "<unk>"}};
  std::vector<TokenizerConfig::Token> specials = config.specials(roles);
  const auto more = config.additional_tokens().value_or(std::vector<TokenizerConfig::Token>{{"<formula>"}});
  specials.insert(specials.end(), more.begin(), more.end());
  const bool lower = config.fields().flag({"lower_case"}, false);
  const auto replace = [](const char* from, const char* to) {
    return Json{{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
  };
  result.fields = {
      {"version", "1.0"},
      {"added_tokens", config.added_tokens(TokenizerConfig::Kind::slow, {}, specials, vocabulary)},
      {"normalizer", lower ? Json{{"type", "Lowercase"}} : Json()},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {{{"type", "Replace"}, {"pattern", {{"Regex", R"(\z)"}}}, {"content", " "}},
          {{"type", "Fuse"}},
          replace(" @,@ ", ","),
          replace(" @.@ ", "."),
          replace(" @-@ ", "-"),
          {{"type", "Strip"}, {"content", " "}, {"start", 0}, {"stop", 1}}}}}},
      {"model", {{"type", "WordLevel"}, {"unk_token", unknown}}}};
  for (const Json& token : result.fields.at("added_tokens"))
    result.tables.added_words[token.at("content").get<std::string>()] =
        static_cast<TokenId>(std::min<std::int64_t>(token.at("id").get<std::int64_t>(), Vocabulary::max_id));
  result.slow = true;
  if (lower) result.lowercase = make_slow_lowercase(/*by_words=*/false);
  result.apart = config.tokens_apart(result.fields.at("added_tokens"), roles, vocabulary);
  result.decoder = make_moses_decoder({.join_numbers = true});
  result.normalizer =
      make_moses_normalizer({.lowercase = lower, .split_hyphens = true, .split_numbers = true});
  result.pre_tokenizer = make_pre_tokenizer({{"type", "WhitespaceSplit"}}, config.fields().source());
  return result;
}

}  // namespace attend::tokenizers
