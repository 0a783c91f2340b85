#include "tokenizers/bpe_files.h"

#include "base/error.h"
#include "base/file.h"
#include "tokenizers/model_renamed.h"
#include "tokenizers/moses.h"
#include "tokenizers/tokenizer_config.h"
#include "tokenizers/tokenizer_files.h"

#include <algorithm>
#include <array>
#include <vector>

namespace attend::tokenizers {
namespace {

namespace fs = std::filesystem;

struct Family;
struct Files {
  const Family& family;
  const TokenizerConfig& config;
  ModelTables vocabulary;                                   // without merges
  std::vector<std::pair<std::string, std::string>> merges;  // in the order of merges.txt
  std::string merges_source;
  std::map<std::string, std::string> tokens;  // by role
};

struct Family {
  std::vector<std::string_view> names;  // of tokenizer classes and model types
  std::vector<Role> roles;
  const char *single, *pair;  // roles and texts; empty: nothing is added
  TokenizerJson (*read)(Files files);
  std::vector<std::string_view> additional = {};  // special tokens unless the directory has such a list
};

TokenizerJson read_byte_level(Files files);
TokenizerJson read_gpt(Files files);
TokenizerJson read_ctrl(Files files);
TokenizerJson read_xlm(Files files);

const std::vector<Family>& families() {
  static const std::vector<Role> gpt2 = {
      {"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}, {"unk_token", "<|endoftext|>"}};
  static const std::vector<Role> roberta = {
      {"bos_token", "<s>"},   {"eos_token", "</s>"}, {"unk_token", "<unk>"},        {"sep_token", "</s>"},
      {"pad_token", "<pad>"}, {"cls_token", "<s>"},  {"mask_token", "<mask>", true}};
  static const std::vector<Role> deberta = {
      {"bos_token", "[CLS]"}, {"eos_token", "[SEP]"}, {"unk_token", "[UNK]"},        {"sep_token", "[SEP]"},
      {"pad_token", "[PAD]"}, {"cls_token", "[CLS]"}, {"mask_token", "[MASK]", true}};
  static const std::vector<Role> xlm = {{"bos_token", "<s>"},  {"unk_token", "<unk>"},
                                        {"sep_token", "</s>"}, {"pad_token", "<pad>"},
                                        {"cls_token", "</s>"}, {"mask_token", "<special1>"}};
  static const std::vector<Family> all = {
      {{"GPT2", "gpt2", "gpt_neo", "gptj", ""}, gpt2, "", "", read_byte_level},
      {{"Roberta", "roberta", "Bart", "bart", "Longformer", "longformer"},
       roberta,
       "cls_token $A sep_token",
       "cls_token $A sep_token sep_token $B sep_token",
       read_byte_level},
      {{"Deberta", "deberta"},
       deberta,
       "cls_token $A sep_token",
       "cls_token $A sep_token $B:1 sep_token:1",
       read_byte_level},
      {{"OpenAIGPT", "openai-gpt"}, {{"unk_token", "<unk>"}}, "", "", read_gpt},
      {{"CTRL", "ctrl"}, {{"unk_token", "<unk>"}}, "", "", read_ctrl},
      {{"XLM", "xlm"},
       xlm,
       "bos_token $A sep_token",
       "bos_token $A sep_token $B:1 sep_token:1",
       read_xlm,
       {"<special0>", "<special1>", "<special2>", "<special3>", "<special4>", "<special5>", "<special6>",
        "<special7>", "<special8>", "<special9>"}}};
  return all;
}

const Family& family_of(const TokenizerConfig& config, const fs::path& directory) {
  std::string known;
  for (const Family& family : families()) {
    if (std::find(family.names.begin(), family.names.end(), config.family()) != family.names.end())
      return family;
    known += (known.empty() ? "" : ", ") + std::string(family.names[0]) + "Tokenizer";
  }
  fail("{}: vocab.json and merges.txt of '{}' cannot be read, expected one of {}; a tokenizer.json can",
       directory.string(), config.family(), known);
}

// `counted`: XLM's have a third column, how often each was seen.
std::vector<std::pair<std::string, std::string>> read_merges(const fs::path& path, bool counted) {
  std::vector<std::pair<std::string, std::string>> merges;
  std::size_t number = 0;
  for (std::string line : read_lines(path)) {
    ++number;
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const std::size_t space = line.find(' ');
    if (counted && space != line.npos) line.resize(std::min(line.find(' ', space + 1), line.size()));
    if (space == 0 || space == line.npos || space + 1 == line.size() ||
        line.find(' ', space + 1) != line.npos)
      fail("{}: line {} is '{}', expected two tokens and a space between them", path.string(), number, line);
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

// added_tokens and post_processor, where the family has them. `otherwise` is the post-processor where it adds
// nothing.
void add_special_tokens(const Files& files, const Vocabulary& vocabulary, const Json& otherwise,
                        Json& fields) {
  std::vector<TokenizerConfig::Token> specials;
  for (const Role& role : files.family.roles)
    // GPT-2's end of text is the only token it adds, and a vocabulary of one's own may lack it.
    if (const std::string& token = files.tokens.at(role.name);
        *files.family.single != '\0' || vocabulary.find(token) >= 0)
      specials.push_back({token, role.left_strip});
  if (!files.config.names_additional_tokens())
    for (const std::string_view token : files.family.additional) specials.push_back({std::string(token)});
  fields["added_tokens"] = files.config.added_tokens(specials, vocabulary);
  fields["post_processor"] = otherwise;
  if (*files.family.single == '\0') return;
  const Json added =
      template_processor(files.config.fill_in(files.family.single, files.tokens),
                         files.config.fill_in(files.family.pair, files.tokens), fields["added_tokens"]);
  fields["post_processor"] = added;
  if (!otherwise.is_null())
    fields["post_processor"] = {{"type", "Sequence"}, {"processors", {otherwise, added}}};
}

void set_merges(ModelTables& tables, const Files& files) {
  std::vector<std::string_view> tokens;
  for (const auto& [left, right] : files.merges) tokens.insert(tokens.end(), {left, right});
  tables.add_merges(tokens, files.merges_source);
  tables.has_merges = true;
}

TokenizerJson read_byte_level(Files files) {
  const bool prefix = files.config.fields().flag({"add_prefix_space"}, false);
  const auto byte_level = [prefix](bool trim) {
    return Json{
        {"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", trim}, {"use_regex", true}};
  };
  TokenizerJson result;
  result.fields = {{"version", "1.0"},
                   {"pre_tokenizer", byte_level(true)},
                   {"decoder", byte_level(true)},
                   {"model", {{"type", "BPE"}}}};
  // What adds special tokens trims the offsets too.
  add_special_tokens(files, files.vocabulary.vocabulary, byte_level(*files.family.single != '\0'),
                     result.fields);
  result.tables = std::move(files.vocabulary);
  set_merges(result.tables, files);
  return result;
}

// GPT (Radford et al. 2018): BERT's words, lower-cased, and a mark at the end of each.
TokenizerJson read_gpt(Files files) {
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
  const std::string& source = files.config.fields().source();
  std::vector<std::unique_ptr<Normalizer>> steps;
  steps.push_back(make_slow_drop_other());
  steps.push_back(make_normalizer(result.fields.at("normalizer"), source));
  result.normalizer = make_sequence(std::move(steps));
  result.pre_tokenizer = make_pre_tokenizer(result.fields.at("pre_tokenizer"), source);
  add_special_tokens(files, files.vocabulary.vocabulary, nullptr, result.fields);
  result.tables = std::move(files.vocabulary);
  set_merges(result.tables, files);
  return result;
}

const std::string end_of_word = "</w>";

// BPE with a vocabulary of its own: `symbols` and all that the merges make. outer_name(symbol) is what a
// symbol is called in vocab.json; what is not there is the unknown token.
template <class OuterName>
std::unique_ptr<Model> make_outer_bpe(Files& files, const std::vector<std::string>& symbols,
                                      OuterName outer_name) {
  static const std::string unknown_name = "\n unknown";  // in no merge
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
  for (TokenId id = 0; id < vocabulary.end_id(); ++id)
    if (vocabulary.contains(id)) tokens.emplace_back(vocabulary.token(id));
  return tokens;
}

// CTRL (Keskar et al. 2019): the merges mark the end of a word, "</w>"; the vocabulary marks what is not the
// end, "@@".
TokenizerJson read_ctrl(Files files) {
  static const std::string more = "@@";
  TokenizerJson result;
  result.fields = {
      {"version", "1.0"},
      {"pre_tokenizer",
       {{"type", "Split"}, {"pattern", {{"Regex", R"(\S+\n?)"}}}, {"behavior", "Removed"}, {"invert", true}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {{{"type", "Replace"}, {"pattern", {{"Regex", R"(\z)"}}}, {"content", " "}},
          {{"type", "Fuse"}},
          {{"type", "Replace"}, {"pattern", {{"String", "@@ "}}}, {"content", ""}},
          {{"type", "Strip"}, {"content", " "}, {"start", 0}, {"stop", 1}}}}}}};
  add_special_tokens(files, files.vocabulary.vocabulary, nullptr, result.fields);
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

// XLM (Conneau and Lample 2019, arXiv:1901.07291): Moses's words. Not all that the merges make on their way
// is in the vocabulary.
TokenizerJson read_xlm(Files files) {
  check_moses_language(files.config.fields());
  const bool lower = files.config.fields().flag({"do_lowercase_and_remove_accent"}, true);
  TokenizerJson result;
  result.fields = {{"version", "1.0"},
                   {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                   {"decoder", {{"type", "BPEDecoder"}, {"suffix", end_of_word}}}};
  result.normalizer = make_moses_normalizer(
      {.lowercase = lower, .replace_wide = true, .drop_unprintable = true, .strip_accents = lower});
  result.pre_tokenizer = make_pre_tokenizer({{"type", "WhitespaceSplit"}}, files.config.fields().source());
  add_special_tokens(files, files.vocabulary.vocabulary, nullptr, result.fields);
  result.model = make_outer_bpe(files, tokens_of(files.vocabulary.vocabulary),
                                [](const std::string& symbol) { return symbol; });
  return result;
}

}  // namespace

TokenizerJson read_bpe_files(const fs::path& directory) {
  const TokenizerConfig config(directory);
  const fs::path merges = directory / file_names::merges_txt;
  const Family& family = family_of(config, directory);
  return family.read({family, config, read_vocab_json(directory / file_names::vocab_json),
                      read_merges(merges, family.read == read_xlm), merges.string(),
                      config.tokens(family.roles)});
}

}  // namespace attend::tokenizers
