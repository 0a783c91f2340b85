#include "tokenizers/files/bpe_files.h"

#include "base/error.h"
#include "base/file.h"
#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/files/tokenizer_files.h"
#include "tokenizers/models/model_renamed.h"
#include "tokenizers/steps/moses.h"

#include <algorithm>
#include <array>
#include <vector>

namespace attend::tokenizers {
namespace {

namespace fs = std::filesystem;

struct BpeFamily;
struct Files {
  const BpeFamily& family;
  const TokenizerConfig& config;
  ModelTables vocabulary;                                   // without merges
  std::vector<std::pair<std::string, std::string>> merges;  // in the order of merges.txt
  std::string merges_source;
  std::map<std::string, std::string> tokens;  // by role
};

struct BpeFamily {
  std::vector<std::string_view> names;  // of tokenizer classes and model types
  TokenizerConfig::Kind kind;
  std::vector<Role> roles;
  TokenizerJson (*read)(Files files);
  std::vector<TokenizerConfig::Token> additional = {};  // unless the directory has such a list
};

TokenizerJson read_gpt2(Files files);
TokenizerJson read_roberta(Files files);
TokenizerJson read_deberta(Files files);
TokenizerJson read_blenderbot(Files files);
TokenizerJson read_gpt(Files files);
TokenizerJson read_ctrl(Files files);
TokenizerJson read_xlm(Files files);

const std::vector<BpeFamily>& bpe_families() {
  using Kind = TokenizerConfig::Kind;
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
  static const std::vector<Role> unknown = {{"unk_token", "<unk>"}};
  static const std::vector<BpeFamily> all = {
      {{"GPT2", "gpt2", "gpt_neo", "gptj", "opt", "CodeGen", "codegen", ""}, Kind::fast, gpt2, read_gpt2},
      {{"Roberta", "roberta", "Bart", "bart", "Longformer", "longformer", "data2vec-text",
        "roberta-prelayernorm"},
       Kind::fast,
       roberta,
       read_roberta},
      {{"Blenderbot", "blenderbot"}, Kind::fast, roberta, read_blenderbot},
      {{"Deberta", "deberta"}, Kind::fast, deberta, read_deberta},
      {{"OpenAIGPT", "openai-gpt"}, Kind::fast, unknown, read_gpt},
      {{"CTRL", "ctrl"}, Kind::slow, unknown, read_ctrl},
      {{"XLM", "xlm"},
       Kind::slow,
       xlm,
       read_xlm,
       {{"<special0>"},
        {"<special1>"},
        {"<special2>"},
        {"<special3>"},
        {"<special4>"},
        {"<special5>"},
        {"<special6>"},
        {"<special7>"},
        {"<special8>"},
        {"<special9>"}}}};
  return all;
}

const BpeFamily& bpe_family_of(const TokenizerConfig& config, const fs::path& directory) {
  std::string known;
  for (const BpeFamily& family : bpe_families()) {
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

Json added_tokens(const Files& files) {
  std::vector<TokenizerConfig::Token> specials = files.config.specials(files.family.roles);
  for (const auto& token : files.config.additional_tokens().value_or(files.family.additional))
    specials.push_back(token);
  return files.config.added_tokens(files.family.kind, {}, specials, files.vocabulary.vocabulary);
}

void add_slow_tokens(const Files& files, TokenizerJson& result) {
  result.fields["added_tokens"] = added_tokens(files);
  result.slow = true;
  result.apart = files.config.tokens_apart(result.fields.at("added_tokens"), files.family.roles,
                                           files.vocabulary.vocabulary);
}

void set_merges(ModelTables& tables, const Files& files) {
  std::vector<std::string_view> tokens;
  for (const auto& [left, right] : files.merges) tokens.insert(tokens.end(), {left, right});
  tables.add_merges(tokens, files.merges_source);
  tables.has_merges = true;
}

// `post_processor`: of the added tokens.
template <class PostProcessor>
TokenizerJson read_byte_level(Files& files, PostProcessor post_processor) {
  const Json added = added_tokens(files);
  ModelTables tables = std::move(files.vocabulary);
  set_merges(tables, files);
  return byte_level_bpe(std::move(tables), added, post_processor(added),
                        files.config.fields().flag({"add_prefix_space"}, false));
}

TokenizerJson read_gpt2(Files files) {
  const bool begins = files.config.fields().flag({"add_bos_token"}, false);
  const std::string& begin = files.tokens.at("bos_token");
  return read_byte_level(files, [&](const Json& added) {
    return begins ? template_processor(begin + " $A", begin + " $A $B:1", added)
                  : Json{{"type", "ByteLevel"}, {"trim_offsets", false}};
  });
}

TokenizerJson read_roberta(Files files) {
  const Fields& fields = files.config.fields();
  return read_byte_level(files, [&](const Json& added) {
    const auto named = [&](const char* role) {
      for (const Json& token : added)
        if (token.at("content") == files.tokens.at(role))
          return Json::array({token.at("content"), token.at("id")});
      fail("{}: the directory has no {}", fields.source(), role);
    };
    return Json{{"type", "RobertaProcessing"},
                {"sep", named("sep_token")},
                {"cls", named("cls_token")},
                {"trim_offsets", fields.flag({"trim_offsets"}, true)},
                {"add_prefix_space", fields.flag({"add_prefix_space"}, false)}};
  });
}

TokenizerJson read_deberta(Files files) {
  return read_byte_level(files, [&](const Json& added) {
    return template_processor("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", added,
                              &files.vocabulary.vocabulary, files.tokens.at("unk_token"));
  });
}

// Roller et al. 2020 (arXiv:2004.13637): only the end is marked.
TokenizerJson read_blenderbot(Files files) {
  return read_byte_level(files, [&](const Json& added) {
    return template_processor("$A " + files.tokens.at("eos_token"), "$A $B:1", added,
                              &files.vocabulary.vocabulary, files.tokens.at("unk_token"));
  });
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
  result.fields["added_tokens"] = added_tokens(files);
  result.tables = std::move(files.vocabulary);
  set_merges(result.tables, files);
  return result;
}

const std::string end_of_word = "</w>";

Json strip(const char* what, std::int32_t start, std::int32_t stop) {
  return {{"type", "Strip"}, {"content", what}, {"start", start}, {"stop", stop}};
}

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
  vocabulary.for_each([&](std::string_view token, TokenId) { tokens.emplace_back(token); });
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

// XLM (Conneau and Lample 2019, arXiv:1901.07291): Moses's words. Not all that the merges make on their way
// is in the vocabulary.
TokenizerJson read_xlm(Files files) {
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

}  // namespace

TokenizerJson byte_level_bpe(ModelTables tables, const Json& added_tokens, Json post_processor,
                             bool add_prefix_space) {
  const auto byte_level = [](bool prefix) {
    return Json{
        {"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", true}};
  };
  TokenizerJson result;
  result.fields = {{"version", "1.0"},
                   {"added_tokens", added_tokens},
                   {"pre_tokenizer", byte_level(add_prefix_space)},
                   {"post_processor", std::move(post_processor)},
                   {"decoder", byte_level(true)},
                   {"model", {{"type", "BPE"}}}};
  result.tables = std::move(tables);
  return result;
}

TokenizerJson read_bpe_files(const fs::path& directory) {
  const TokenizerConfig config(directory);
  const fs::path merges = directory / file_names::merges_txt;
  const BpeFamily& family = bpe_family_of(config, directory);
  return family.read({family, config, read_vocab_json(directory / file_names::vocab_json),
                      read_merges(merges, family.read == read_xlm), merges.string(),
                      config.tokens(family.roles)});
}

}  // namespace attend::tokenizers
