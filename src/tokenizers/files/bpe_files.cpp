#include "tokenizers/files/bpe_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "tokenizers/files/gguf_cuts.h"
#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/files/tokenizer_files.h"
#include "tokenizers/files/word_bpe_files.h"
#include "tokenizers/text/byte_level.h"

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
TokenizerJson read_qwen2(BpeFiles files);
TokenizerJson read_whisper(BpeFiles files);

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
  static const std::vector<Role> qwen2 = {
      {"eos_token", "<|endoftext|>"}, {"unk_token", "<|endoftext|>"}, {"pad_token", "<|endoftext|>"}};
  static const std::vector<Role> unknown = {{"unk_token", "<unk>"}};
  static const std::vector<BpeFamily> all = {
      {{"GPT2", "gpt2", "gpt_neo", "gptj", "opt", "CodeGen", "codegen", ""}, Kind::fast, gpt2, read_gpt2},
      {{"Qwen2", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe"}, Kind::fast, qwen2, read_qwen2},
      {{"Whisper", "whisper"}, Kind::fast, gpt2, read_whisper},
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
  Json processor = post_processor(added);  // it may look tokens up in the vocabulary
  ModelTables tables = std::move(files.vocabulary);
  set_merges(tables, files);
  return byte_level_bpe(std::move(tables), added, std::move(processor),
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

// Bai et al. 2023 (arXiv:2309.16609): composed characters, and each digit apart.
TokenizerJson read_qwen2(BpeFiles files) {
  const Json added = added_tokens(files);
  ModelTables tables = std::move(files.vocabulary);
  set_merges(tables, files);
  TokenizerJson result = byte_level_bpe(std::move(tables), added, byte_level_offsets(), false);
  set_cut(*find_cut("qwen2"), result.fields);
  return result;
}

// Radford et al. 2022 (arXiv:2212.04356): marks of what is heard come before the text.
TokenizerJson read_whisper(BpeFiles files) {
  const Fields& fields = files.config.fields();
  for (const char* name : {"language", "task"})
    if (fields.has({name})) fail("{}: {}: only a tokenizer.json can name one", fields.source(), name);
  std::string begin = "<|startoftranscript|> ";
  if (!fields.flag({"predict_timestamps"}, false)) begin += "<|notimestamps|> ";
  const std::string& end = files.tokens.at("eos_token");
  return read_byte_level(files, [&](const Json& added) {
    return template_processor(begin + "$A " + end, begin + "$A $B:1 " + end + ":1", added,
                              &files.vocabulary.vocabulary, files.tokens.at("unk_token"));
  });
}

// From byte-level letters to text, without bytes that are no UTF-8.
class ValidBytesDecoder : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string bytes, text;
    for (const std::string& token : tokens) bytes += in_the_middle(token);
    std::string_view rest = bytes;
    while (const auto at = find_invalid_utf8(rest)) {
      text += rest.substr(0, *at);
      rest.remove_prefix(*at + 1);
    }
    tokens = {text += rest};
  }
  std::string in_the_middle(std::string token) const override {
    return letters_->in_the_middle(std::move(token));
  }

 private:
  std::unique_ptr<Decoder> letters_ = make_decoder({{"type", "ByteLevel"}}, "ByT5");
};

}  // namespace

// A token for each byte, after three special tokens (Xue et al. 2021, arXiv:2105.13626).
TokenizerJson read_byt5(const fs::path& directory, const TokenizerConfig& config) {
  static constexpr Role roles[] = {{"pad_token", "<pad>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}};
  constexpr std::int64_t usual_extra_ids = 125, max_extra_ids = 10000;
  const auto tokens = config.tokens(roles);
  ModelTables tables;
  tables.has_vocabulary = tables.has_merges = true;
  const auto add = [&](std::string_view text) {
    tables.vocabulary.add(text, static_cast<std::int64_t>(tables.vocabulary.size()), directory.string());
  };
  for (const Role& role : roles) add(tokens.at(role.name));
  for (int byte = 0; byte < 256; ++byte) add(byte_level_letter(static_cast<unsigned char>(byte)));

  std::vector<TokenizerConfig::Token> specials = config.specials(roles);
  for (TokenizerConfig::Token& token : specials)
    if (!token.has_flags) token.left_strip = token.right_strip = true;
  if (const auto own = config.additional_tokens())
    specials.insert(specials.end(), own->begin(), own->end());
  else
    for (std::int64_t i = 0; i < config.fields().integer({"extra_ids"}, usual_extra_ids, 0, max_extra_ids);
         ++i)
      specials.push_back({"<extra_id_" + std::to_string(i) + ">"});
  const Json added = config.added_tokens(TokenizerConfig::Kind::slow, {}, specials, tables.vocabulary);
  std::set<std::string> apart = config.tokens_apart(added, roles, tables.vocabulary);
  const std::string& end = tokens.at("eos_token");
  Json closing = template_processor("$A " + end, "$A " + end + " $B " + end, added, &tables.vocabulary,
                                    tokens.at("unk_token"));
  TokenizerJson result = byte_level_bpe(std::move(tables), added, std::move(closing), false);
  result.fields["pre_tokenizer"]["use_regex"] = false;
  result.slow = true;
  result.closes_once = result.fields["post_processor"]["special_tokens"][end]["ids"][0].get<TokenId>();
  result.apart = std::move(apart);
  result.decoder = std::make_unique<ValidBytesDecoder>();
  return result;
}

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
