#include "tasks/languages.h"

#include "formats/json/json.h"
#include "temporary_directory.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;

// A word tokenizer with two languages. It adds the first one to every text.
std::string tokenizer_of(const std::string& from, const std::string& to, bool before) {
  const Json tokens = {"<pad>", "</s>", from, to, "lamp"};
  Json vocabulary = Json::object(), added = Json::array();
  for (std::size_t i = 0; i < tokens.size(); ++i) vocabulary[tokens[i].get<std::string>()] = i;
  for (const auto& token : {from, to})
    added.push_back({{"id", vocabulary[token]}, {"content", token}, {"special", true}});
  const auto special = [](const std::string& token) {
    return Json{{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
  };
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json single =
      before ? Json{special(from), text, special("</s>")} : Json{text, special("</s>"), special(from)};
  Json specials = Json::object();
  for (const std::string& token : {std::string("</s>"), from})
    specials[token] = {{"id", token}, {"ids", {vocabulary[token]}}, {"tokens", {token}}};
  return Json{
      {"version", "1.0"},
      {"added_tokens", added},
      {"pre_tokenizer", {{"type", "Whitespace"}}},
      {"post_processor",
       {{"type", "TemplateProcessing"}, {"single", single}, {"pair", single}, {"special_tokens", specials}}},
      {"model", {{"type", "WordLevel"}, {"unk_token", "<pad>"}, {"vocab", vocabulary}}}}
      .dump();
}

class LanguagesOf {
 public:
  LanguagesOf(const std::string& from, const std::string& to, bool before = true) {
    directory_.file("tokenizer.json", tokenizer_of(from, to, before));
    tokenizers_ = TokenizerPair::from_file(directory_.path());
    languages_.emplace(tokenizers_, "model");
  }
  const Languages& operator*() const { return *languages_; }
  const Languages* operator->() const { return &*languages_; }

  // The ids of "lamp lamp" and the forced token.
  std::pair<Ids, std::optional<std::int64_t>> choose(const LanguagePair& names) const {
    GenerationConfig config;
    const auto source = languages_->choose(names, config);
    Ids ids;
    for (const TokenId id : tokenizers_.source->encode("lamp lamp").ids) ids.push_back(id);
    if (source) languages_->write_source(ids, *source);
    return {ids, config.forced_bos_token_id};
  }

 private:
  TemporaryDirectory directory_;
  TokenizerPair tokenizers_;
  std::optional<Languages> languages_;
};

TEST(Languages, ComeBeforeOrAfterTheText) {
  using Chosen = std::pair<Ids, std::optional<std::int64_t>>;
  EXPECT_EQ(LanguagesOf("__en__", "__de__").choose({"de", "en"}), (Chosen{{3, 4, 4, 1}, 2}));
  EXPECT_EQ(LanguagesOf("eng_Latn", "deu_Latn").choose({"deu_Latn", "eng_Latn"}), (Chosen{{3, 4, 4, 1}, 2}));
  EXPECT_EQ(LanguagesOf("en_XX", "de_DE", false).choose({"de_DE", "de_DE"}), (Chosen{{4, 4, 1, 3}, 3}));
}

TEST(Languages, AreRequiredIfTheModelHasMany) {
  const LanguagesOf many("__en__", "__de__");
  EXPECT_TRUE(many->many());
  EXPECT_EQ(error_of([&] { many.choose({}); }),
            "model: a model of many languages: expected `src_lang` and `tgt_lang`, such as en");
  EXPECT_TRUE(contains(error_of([&] { many.choose({"en", ""}); }), "found one"));
  EXPECT_EQ(error_of([&] {
              many.choose({"en", "xx"});
            }),
            "model: the model knows no language 'xx': expected a code such as en");
  EXPECT_TRUE(contains(error_of([&] { many.choose({"en", "lamp"}); }), "no language 'lamp'"));
  GenerationConfig config;
  config.forced_bos_token_id = 3;  // the model's own, or the request's
  EXPECT_EQ(many->choose({}, config), std::nullopt);
  EXPECT_EQ(config.forced_bos_token_id, 3);
}

TEST(Languages, AreRefusedIfTheModelHasOneDirection) {
  const LanguagesOf one("<s>", "<t>");
  EXPECT_FALSE(one->many());
  EXPECT_EQ(one.choose({}).second, std::nullopt);
  EXPECT_EQ(error_of([&] {
              one.choose({"en", "de"});
            }),
            "model: the model has one way to translate; leave the languages out");
}

}  // namespace
}  // namespace attend
