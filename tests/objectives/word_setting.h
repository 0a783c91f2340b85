// A directory with a small model whose tokens are letters of words ("a", "##b"), and the inputs of an
// objective that come from it.
#pragma once

#include "formats/json/json.h"
#include "objectives/base/registry.h"
#include "temporary_directory.h"

namespace attend {

constexpr std::int64_t kPad = 0, kUnknown = 1, kCls = 2, kSep = 3, kMask = 4, kFirstLetter = 5, kLetters = 20;
constexpr std::int64_t kVocabulary = kFirstLetter + 2 * kLetters;
inline bool continues_word(std::int64_t id) {
  return id >= kFirstLetter + kLetters;
}

// A tokenizer.json of letters; a pair of texts has the token types 0 and 1.
inline Json letter_tokenizer() {
  Json vocabulary = {
      {"[PAD]", kPad}, {"[UNK]", kUnknown}, {"[CLS]", kCls}, {"[SEP]", kSep}, {"[MASK]", kMask}};
  for (std::int64_t i = 0; i < kLetters; ++i) {
    const std::string letter(1, static_cast<char>('a' + i));
    vocabulary[letter] = kFirstLetter + i;
    vocabulary["##" + letter] = kFirstLetter + kLetters + i;
  }
  const auto special = [](const char* name, int type) {
    return Json{{"SpecialToken", {{"id", name}, {"type_id", type}}}};
  };
  const auto text = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  const auto entry = [](const char* name, std::int64_t id) {
    return Json{{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  };
  return {
      {"version", "1.0"},
      {"added_tokens", Json::array()},
      {"pre_tokenizer", {{"type", "Whitespace"}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", {special("[CLS]", 0), text("A", 0), special("[SEP]", 0)}},
        {"pair", {special("[CLS]", 0), text("A", 0), special("[SEP]", 0), text("B", 1), special("[SEP]", 1)}},
        {"special_tokens", {{"[CLS]", entry("[CLS]", kCls)}, {"[SEP]", entry("[SEP]", kSep)}}}}},
      {"model",
       {{"type", "WordPiece"},
        {"unk_token", "[UNK]"},
        {"continuing_subword_prefix", "##"},
        {"max_input_chars_per_word", 100},
        {"vocab", vocabulary}}}};
}

// Writes a tiny new model of `family` with the letters as its vocabulary.
inline std::filesystem::path write_letter_model(const TemporaryDirectory& directory, const std::string& name,
                                                std::string_view family, const Json& changes = {},
                                                std::string_view preset = "tiny") {
  Json config = find_family(family).fresh_config(preset);
  config["vocab_size"] = kVocabulary;
  config["pad_token_id"] = kPad;
  for (const auto& [field, value] : changes.items()) config[field] = value;
  const std::filesystem::path path = directory.path() / name;
  PretrainedModel::fresh(Fields(config, "config.json"), 5).save(path);
  directory.file(name + "/tokenizer.json", letter_tokenizer().dump());
  return path;
}

// Random words of one to `most` letters.
inline std::string random_sentence(Random& random, std::int64_t words, std::uint64_t most = 1) {
  std::string text;
  for (std::int64_t i = 0; i < words; ++i) {
    if (i > 0) text += ' ';
    for (std::uint64_t n = 1 + random.below(most); n > 0; --n)
      text += static_cast<char>('a' + random.below(kLetters));
  }
  return text;
}

struct WordSetting {
  TemporaryDirectory directory;
  Recipe recipe;
  std::optional<ModelDirectory> model;
  ModelSpec spec;
  TokenizerPair tokenizers;
  std::vector<std::string> files;

  WordSetting(std::string_view family, Head head, const Json& changes = {}) {
    const std::filesystem::path path = write_letter_model(directory, "model", family, changes);
    model.emplace(path);
    spec = find_family(family).spec(model->config(), architecture_for(find_family(family), head));
    tokenizers = TokenizerPair::from_file(path);
  }
  void add_file(const std::string& name, std::string_view text) {
    files.push_back(directory.file(name, text).string());
  }
  Setting setting() const { return {recipe, *model, spec, tokenizers, files, false, {}}; }
};

}  // namespace attend
