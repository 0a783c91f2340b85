#include "tokenizers/files/bpe_files.h"

#include "base/error.h"
#include "base/file.h"
#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/files/tokenizer_files.h"
#include "tokenizers/files/word_bpe_files.h"

#include <algorithm>
#include <array>
#include <vector>

namespace attend::tokenizers {
namespace {

namespace fs = std::filesystem;

TokenizerJson read_gpt2(BpeFiles files);
TokenizerJson read_roberta(BpeFiles files);
TokenizerJson read_deberta(BpeFiles files);
TokenizerJson read_blenderbot(BpeFiles files);

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
  static const std::vector<Role> biogpt = {{"bos_token", "<s>"},
                                           {"eos_token", "</s>"},
                                           {"unk_token", "<unk>"},
                                           {"sep_token", "</s>"},
                                           {"pad_token", "<pad>"}};
  static const std::vector<Role> blenderbot_small = {{"bos_token", "__start__"},
                                                     {"eos_token", "__end__"},
                                                     {"unk_token", "__unk__"},
                                                     {"pad_token", "__null__"}};
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
      {{"BlenderbotSmall", "blenderbot-small"}, Kind::slow, blenderbot_small, read_blenderbot_small},
      {{"BioGpt", "biogpt"}, Kind::slow, biogpt, read_biogpt, true},
      {{"XLM", "xlm"},
       Kind::slow,
       xlm,
       read_xlm,
       true,
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

// `counted`: a third column has the number of occurrences.
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

// `post_processor`: of the added tokens.
template <class PostProcessor>
TokenizerJson read_byte_level(BpeFiles& files, PostProcessor post_processor) {
  const Json added = added_tokens(files);
  ModelTables tables = std::move(files.vocabulary);
  set_merges(tables, files);
  return byte_level_bpe(std::move(tables), added, post_processor(added),
                        files.config.fields().flag({"add_prefix_space"}, false));
}

TokenizerJson read_gpt2(BpeFiles files) {
  const bool begins = files.config.fields().flag({"add_bos_token"}, false);
  const std::string& begin = files.tokens.at("bos_token");
  return read_byte_level(files, [&](const Json& added) {
    return begins ? template_processor(begin + " $A", begin + " $A $B:1", added) : byte_level_offsets();
  });
}

TokenizerJson read_roberta(BpeFiles files) {
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

TokenizerJson read_deberta(BpeFiles files) {
  return read_byte_level(files, [&](const Json& added) {
    return template_processor("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", added,
                              &files.vocabulary.vocabulary, files.tokens.at("unk_token"));
  });
}

// Roller et al. 2020 (arXiv:2004.13637): only the end is marked.
TokenizerJson read_blenderbot(BpeFiles files) {
  return read_byte_level(files, [&](const Json& added) {
    return template_processor("$A " + files.tokens.at("eos_token"), "$A $B:1", added,
                              &files.vocabulary.vocabulary, files.tokens.at("unk_token"));
  });
}

}  // namespace

Json byte_level_offsets() {
  return {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}, {"use_regex", true}};
}

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
                      read_merges(merges, family.has_counts), merges.string(), config.tokens(family.roles)});
}

}  // namespace attend::tokenizers
