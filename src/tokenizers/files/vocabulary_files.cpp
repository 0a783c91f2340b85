#include "tokenizers/files/vocabulary_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text_lines.h"
#include "base/utf8.h"
#include "sources/model_source.h"
#include "tokenizers/files/bpe_files.h"
#include "tokenizers/files/sentencepiece_files.h"
#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/files/tokenizer_files.h"
#include "tokenizers/files/word_files.h"

#include <algorithm>
#include <span>

namespace attend::tokenizers {
namespace {

constexpr Role bert_roles[] = {{"unk_token", "[UNK]"},
                               {"sep_token", "[SEP]"},
                               {"pad_token", "[PAD]"},
                               {"cls_token", "[CLS]"},
                               {"mask_token", "[MASK]"}};
// MPNet has BERT's words and RoBERTa's special tokens.
constexpr Role mpnet_roles[] = {{"bos_token", "<s>"},          {"eos_token", "</s>"},  {"unk_token", "[UNK]"},
                                {"sep_token", "</s>"},         {"pad_token", "<pad>"}, {"cls_token", "<s>"},
                                {"mask_token", "<mask>", true}};

// As in transformers, a token is a whole line, including spaces, and its id is the line's index. Line ends
// are those of Python's text files. Blank lines are tokens too.
TokenizerJson read_vocab_txt(const std::filesystem::path& directory, const TokenizerConfig& config) {
  if (config.family() == "RoFormer" || config.family() == "roformer") refuse_dictionary(directory);
  const std::filesystem::path path = directory / file_names::vocab_txt;
  const std::string source = path.string(), text = read_file(path);
  Vocabulary vocabulary;
  std::int64_t id = 0;
  for (std::string_view rest = without_byte_order_mark(text, source); !rest.empty(); ++id) {
    const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
    const std::string_view token = rest.substr(0, end);
    if (const auto at = find_invalid_utf8(token))
      fail("{}, line {}: invalid UTF-8 at byte {}", source, id + 1, *at);
    vocabulary.add(token, id, source);
    rest.remove_prefix(end);
    rest.remove_prefix(std::min<std::size_t>(rest.starts_with("\r\n") ? 2 : 1, rest.size()));
  }
  return bert_tokenizer(std::move(vocabulary), config);
}

}  // namespace

void refuse_dictionary(const std::filesystem::path& directory) {
  fail(
      "{}: RoFormerTokenizer finds Chinese words in jieba's dictionary, which is not part of Attend: give "
      "the "
      "model token ids, or a tokenizer.json without the tokenizer_class RoFormerTokenizer",
      directory.string());
}

TokenizerJson bert_tokenizer(Vocabulary given, const TokenizerConfig& config) {
  TokenizerJson result;
  Vocabulary& vocabulary = result.tables.vocabulary = std::move(given);
  result.tables.has_vocabulary = true;
  const bool mpnet = config.family() == "MPNet" || config.family() == "mpnet";
  const std::span<const Role> roles = mpnet ? std::span<const Role>(mpnet_roles) : bert_roles;
  const auto tokens = config.tokens(roles);
  const std::string &unknown = tokens.at("unk_token"), &begin = tokens.at("cls_token"),
                    &separator = tokens.at("sep_token");
  const std::string between = mpnet ? separator + " " + separator : separator;
  std::vector<TokenizerConfig::Token> specials = config.specials(roles);
  if (const auto more = config.additional_tokens())
    specials.insert(specials.end(), more->begin(), more->end());
  const Json added = config.added_tokens(TokenizerConfig::Kind::fast, {}, specials, vocabulary);
  const Fields& fields = config.fields();
  const bool strips = fields.has({"strip_accents"});
  result.fields = {
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer",
       {{"type", "BertNormalizer"},
        {"clean_text", true},
        {"handle_chinese_chars", fields.flag({"tokenize_chinese_chars"}, true)},
        {"strip_accents", strips ? Json(fields.flag({"strip_accents"})) : Json()},
        {"lowercase", fields.flag({"do_lower_case"}, true)}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor",
       template_processor(begin + " $A " + separator, begin + " $A " + between + " $B:1 " + separator + ":1",
                          added, &vocabulary)},
      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
      {"model",
       {{"type", "WordPiece"},
        {"unk_token", unknown},
        {"continuing_subword_prefix", "##"},
        {"max_input_chars_per_word", 100}}}};
  return result;
}

TokenizerJson read_vocabulary_files(const std::filesystem::path& directory, TextSide side) {
  const auto has = [&](const char* name) { return file_exists(directory / name); };
  if (const auto model = find_sentencepiece(directory, side)) return read_sentencepiece_files(*model, side);
  const TokenizerConfig config(directory);
  if (config.family() == "ByT5") return read_byt5(directory, config);
  if (reads_words(config) && (has(file_names::vocab_txt) || has(file_names::vocab_json) ||
                              has(file_names::vocab_pkl) || has(file_names::vocab_bin)))
    return read_word_files(directory, config);
  if (has(file_names::vocab_txt)) return read_vocab_txt(directory, config);
  if (has(file_names::vocab_json) && has(file_names::merges_txt)) return read_bpe_files(directory);
  fail("{}: {}", directory.string(), open_source(directory)->missing_tokenizer());
}

bool has_target_side(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return false;
  if (file_exists(path / file_names::tokenizer_json)) return has_target_language(path);
  const auto source = find_sentencepiece(path, TextSide::source);
  return source && (source != find_sentencepiece(path, TextSide::target) || has_target_language(path));
}

}  // namespace attend::tokenizers
