#include "tokenizers/vocabulary_files.h"

#include "base/error.h"
#include "base/file.h"

namespace attend::tokenizers {
namespace {

// tokenizer_config.json, or an empty object.
Json read_config(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "tokenizer_config.json";
  return std::filesystem::exists(path) ? read_json(path) : Json::object();
}

// A special token is a text, or an object with its "content".
std::string token_name(const Json& config, const char* field, const char* otherwise) {
  if (!config.contains(field)) return otherwise;
  const Json& value = config.at(field);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content") && value.at("content").is_string())
    return value.at("content").get<std::string>();
  return otherwise;
}

Json special_token(const Vocabulary& vocabulary, const std::string& token) {
  return {{"id", vocabulary.find(token)},
          {"content", token},
          {"single_word", false},
          {"lstrip", false},
          {"rstrip", false},
          {"normalized", false},
          {"special", true}};
}

Json special_piece(const std::string& token, int type) {
  return {{"SpecialToken", {{"id", token}, {"type_id", type}}}};
}
Json sequence_piece(const char* name, int type) {
  return {{"Sequence", {{"id", name}, {"type_id", type}}}};
}

// BERT: [CLS] A [SEP] B [SEP].
TokenizerJson read_vocab_txt(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "vocab.txt";
  const Json config = read_config(directory);
  TokenizerJson result;
  Vocabulary& vocabulary = result.tables.vocabulary;
  result.tables.has_vocabulary = true;
  for (const std::string& line : read_lines(path)) {
    const std::size_t end = line.find_last_not_of(" \t\r") + 1;
    vocabulary.add(std::string_view(line).substr(0, end), static_cast<std::int64_t>(vocabulary.size()),
                   path.string());
  }
  const std::string unknown = token_name(config, "unk_token", "[UNK]"),
                    begin = token_name(config, "cls_token", "[CLS]"),
                    separator = token_name(config, "sep_token", "[SEP]");
  Json added = Json::array(), specials = Json::object();
  for (const std::string& token : {token_name(config, "pad_token", "[PAD]"), unknown, begin, separator,
                                   token_name(config, "mask_token", "[MASK]")})
    if (vocabulary.find(token) >= 0) added.push_back(special_token(vocabulary, token));
  for (const std::string& token : {begin, separator}) {
    if (vocabulary.find(token) < 0) fail("{}: the special token '{}' is missing", path.string(), token);
    specials[token] = {{"id", token}, {"ids", {vocabulary.find(token)}}, {"tokens", {token}}};
  }
  const Json single = {special_piece(begin, 0), sequence_piece("A", 0), special_piece(separator, 0)};
  Json pair = single;
  pair.push_back(sequence_piece("B", 1));
  pair.push_back(special_piece(separator, 1));
  const bool lowercase = config.value("do_lower_case", true);
  result.fields = {
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer",
       {{"type", "BertNormalizer"},
        {"clean_text", true},
        {"handle_chinese_chars", config.value("tokenize_chinese_chars", true)},
        {"strip_accents", config.contains("strip_accents") ? config.at("strip_accents") : Json()},
        {"lowercase", lowercase}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor",
       {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", specials}}},
      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
      {"model",
       {{"type", "WordPiece"},
        {"unk_token", unknown},
        {"continuing_subword_prefix", "##"},
        {"max_input_chars_per_word", 100}}}};
  return result;
}

// GPT-2: byte-level BPE, nothing added.
TokenizerJson read_vocab_json(const std::filesystem::path& directory) {
  const std::filesystem::path vocabulary_path = directory / "vocab.json",
                              merges_path = directory / "merges.txt";
  const Json config = read_config(directory);
  TokenizerJson result = read_tokenizer_json("{\"model\":{\"vocab\":" + read_file(vocabulary_path) + "}}",
                                             vocabulary_path.string());
  std::size_t number = 0;
  for (const std::string& line : read_lines(merges_path)) {
    ++number;
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    result.tables.add_merge_line(line, merges_path.string());
  }
  result.tables.has_merges = true;
  const bool prefix = config.value("add_prefix_space", false);
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}};
  Json added = Json::array();
  if (const std::string end = token_name(config, "eos_token", "<|endoftext|>");
      result.tables.vocabulary.find(end) >= 0)
    added.push_back(special_token(result.tables.vocabulary, end));
  result.fields = {
      {"version", "1.0"},
      {"added_tokens", added},
      {"pre_tokenizer", byte_level},
      {"post_processor", {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", false}}},
      {"decoder", byte_level},
      {"model", {{"type", "BPE"}}}};
  return result;
}

}  // namespace

TokenizerJson read_vocabulary_files(const std::filesystem::path& directory) {
  const auto has = [&](const char* name) { return std::filesystem::exists(directory / name); };
  if (has("vocab.txt")) return read_vocab_txt(directory);
  if (has("vocab.json") && has("merges.txt")) return read_vocab_json(directory);
  for (const char* name :
       {"source.spm", "spiece.model", "sentencepiece.bpe.model", "spm.model", "tokenizer.model"})
    if (has(name))
      fail("{}: holds {}, a SentencePiece model, which is not supported yet; tokenizer.json is",
           directory.string(), name);
  fail("{}: found no tokenizer.json, vocab.txt, or vocab.json with merges.txt", directory.string());
}

}  // namespace attend::tokenizers
