// Everything that an objective needs in tests: a directory with a small tokenizer, texts, a tiny model.
#pragma once

#include "base/file.h"
#include "models/derived/fresh.h"
#include "objectives/base/registry.h"
#include "objectives/base/trainee.h"
#include "temporary_directory.h"

namespace attend {

class SmallSetting {
 public:
  // Words are tokens: those of `specials` (the first is the unknown one), then w0, w1, ... A text is put
  // between `before` and `after`, which are words of `specials`.
  SmallSetting(Json config, std::vector<std::string> specials, std::vector<std::string> before,
               std::vector<std::string> after, int words = 50) {
    Json vocabulary, added = Json::array(), frame = Json::array(), frame_tokens = Json::object();
    int id = 0;
    for (const std::string& token : specials) {
      vocabulary[token] = id;
      added.push_back({{"id", id++},
                       {"content", token},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", true}});
    }
    first_word_ = id;
    for (int i = 0; i < words; ++i) vocabulary[fmt::format("w{}", i)] = id++;
    const auto add = [&](const std::vector<std::string>& tokens) {
      for (const std::string& token : tokens) {
        frame.push_back({{"SpecialToken", {{"id", token}, {"type_id", 0}}}});
        frame_tokens[token] = {{"id", token}, {"ids", {vocabulary[token]}}, {"tokens", {token}}};
      }
    };
    add(before);
    frame.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    add(after);
    Json pair = frame;
    pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 0}}}});
    const Json tokenizer = {
        {"added_tokens", added},
        {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
        {"post_processor",
         {{"type", "TemplateProcessing"},
          {"single", frame},
          {"pair", pair},
          {"special_tokens", frame_tokens}}},
        {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", specials.front()}}}};
    config["vocab_size"] = id;
    directory_.file("tokenizer.json", tokenizer.dump());
    directory_.file("tokenizer_config.json", "{}");
    directory_.file("config.json", config.dump());
    tokenizers_ = TokenizerPair::from_file(directory_.path());
    model_directory_.emplace(directory_.path());
    spec_ = find_family(model_directory_->config())
                .spec(model_directory_->config(), config["architectures"][0].get<std::string>());
  }

  // A text of `words` words, with `line` words per line and `document` lines per document.
  void write(const std::string& name, int words, int line, int document, std::uint64_t seed = 1) {
    std::string text;
    Random random(seed);
    for (int i = 1; i <= words; ++i) {
      text += fmt::format("w{}", random.below(50));
      text += i % line != 0 ? " " : i % (line * document) == 0 ? "\n\n" : "\n";
    }
    files_ = {directory_.file(name, text).string()};
  }

  // The only file, with this content.
  void write_file(const std::string& name, std::string_view content) {
    files_ = {directory_.file(name, content).string()};
  }

  Setting setting() const { return {recipe, *model_directory_, spec_, tokenizers_, files_, false, {}}; }
  Trainee trainee() const { return Trainee(PretrainedModel::fresh(model_directory_->config(), 3)); }
  const TemporaryDirectory& directory() const { return directory_; }
  const Tokenizer& tokenizer() const { return *tokenizers_.source; }
  TokenId first_word() const { return first_word_; }

  Recipe recipe;

 private:
  TemporaryDirectory directory_;
  TokenizerPair tokenizers_;
  std::optional<ModelDirectory> model_directory_;
  ModelSpec spec_;
  std::vector<std::string> files_;
  TokenId first_word_ = 0;
};

inline TokenIds ids_of(const TokenBatch& batch, std::int64_t text) {
  const Tensor part = batch.offsets.part(batch.ids, text);
  return {part.const_data<std::int64_t>(), part.const_data<std::int64_t>() + part.numel()};
}

inline TokenIds ids_of(const Tensor& rows, const Offsets& offsets, std::int64_t text) {
  const Tensor part = offsets.part(rows, text);
  return {part.const_data<std::int64_t>(), part.const_data<std::int64_t>() + part.numel()};
}

}  // namespace attend
