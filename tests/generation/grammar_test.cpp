#include "generation/forms/grammar.h"

#include "expect_error.h"
#include "generation/generate.h"
#include "generation/models.h"
#include "generation/scores/selection.h"
#include "generation/tokenizers.h"
#include "test_data.h"
#include "tokenizers/text/byte_level.h"

#include <algorithm>
#include <array>
#include <random>
#include <regex>
#include <thread>

#include <gtest/gtest.h>

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;
using Kind = TextForm::Kind;

std::vector<bool> allowed(const Grammar& grammar, std::size_t vocabulary, const Ids& text) {
  std::vector<float> scores(vocabulary, 1);
  grammar.apply(scores, text);
  std::vector<bool> result;
  for (const float score : scores) result.push_back(score == 1);
  return result;
}

// For a language with finitely many words the allowed tokens are known: tokens after which the text is still
// a prefix of a word, and the end after a whole word.
class Language {
 public:
  Language(std::vector<std::string> words, std::vector<std::string> tokens, std::int64_t end)
      : words_(std::move(words)), tokens_(std::move(tokens)), end_(end) {}

  std::vector<bool> allowed(const std::string& text) const {
    std::vector<bool> result;
    for (const std::string& token : tokens_) result.push_back(!token.empty() && begins_a_word(text + token));
    result[static_cast<std::size_t>(end_)] = std::ranges::find(words_, text) != words_.end();
    return result;
  }
  const std::string& token(std::int64_t id) const { return tokens_[static_cast<std::size_t>(id)]; }

 private:
  bool begins_a_word(const std::string& text) const {
    return std::ranges::any_of(words_, [&](const std::string& word) { return word.starts_with(text); });
  }
  std::vector<std::string> words_, tokens_;
  std::int64_t end_;
};

Tokenizer tokenizer_of(const std::string& name) {
  return Tokenizer::from_file(test_data() / "tokenizers" / name);
}

bool is_continuation(const Tokenizer& tokenizer, TokenId id) {
  const std::string prefix = tokenizer.continuing_subword_prefix();
  return !prefix.empty() && tokenizer.id_to_token(id).value_or("").starts_with(prefix);
}

// Random texts of a language, with every kind of decoder: bytes, spaces and ends of words are written in many
// ways.
TEST(Grammar, AllowsWhatALanguageAllows) {
  for (const std::string name :
       {"gpt2", "llama", "unigram", "roberta", "bert_uncased", "gpt1", "bpe_prefix"}) {
    SCOPED_TRACE(name);
    const Tokenizer tokenizer = tokenizer_of(name);
    std::vector<std::string> tokens = tokenizer.token_texts();
    // Any token may be the end token, including one without text.
    tokens.emplace_back();
    const auto end = static_cast<std::int64_t>(tokens.size()) - 1;
    std::vector<std::string> words = {"the", "the cat", "there it is", "a 7", "a", "über", "(so)"};
    TextForm form{Kind::regex, ""};
    for (const std::string& word : words) {
      if (!form.text.empty()) form.text += '|';
      form.text += word == "(so)" ? "\\(so\\)" : word;
    }
    const Grammar grammar(form, tokenizer, end + 1, std::vector{end});
    // A decoder that drops a space at an end of the text: the text may have one there.
    const std::size_t plain = words.size();
    const bool in_front = name != "gpt2" && name != "roberta" && name != "gpt1", after = name == "gpt1";
    for (std::size_t i = 0; i < plain; ++i) {
      if (in_front) words.push_back(" " + words[i]);
      if (after) words.push_back(words[i] + " ");
    }
    const Language language(words, tokens, end);
    std::mt19937 random(7);
    std::size_t whole = 0;
    for (int i = 0; i < 60; ++i) {
      Ids text;
      std::string said;
      for (;;) {
        std::vector<bool> expected = language.allowed(said);
        for (std::size_t id = 0; text.empty() && id < tokens.size();
             ++id)  // "##a" is not "a" at the beginning of a text
          if (is_continuation(tokenizer, static_cast<TokenId>(id))) expected[id] = false;
        if (std::ranges::count(expected, true) == 0) {  // the tokenizer cannot express it
          EXPECT_ERROR("the text must go on, but with no token of the vocabulary",
                       allowed(grammar, tokens.size(), text));
          break;
        }
        const std::vector<bool> found = allowed(grammar, tokens.size(), text);
        Ids next;
        for (std::size_t id = 0; id < found.size(); ++id) {
          ASSERT_EQ(found[id], expected[id]) << "'" << tokens[id] << "' after '" << said << "'";
          if (found[id]) next.push_back(static_cast<std::int64_t>(id));
        }
        const std::int64_t token = next[random() % next.size()];
        if (token == end) {
          ++whole;
          text.push_back(token);
          EXPECT_EQ(std::ranges::count(allowed(grammar, tokens.size(), text), true), 0);
          break;
        }
        text.push_back(token);
        said += language.token(token);
      }
    }
    EXPECT_GT(whole, 10u);
  }
}

std::string refusal_of(const TextForm& form) {
  const TemporaryDirectory directory;
  try {
    const Grammar grammar(form, byte_tokenizer(directory), 6, std::vector<std::int64_t>{5});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Grammar, SaysWhatIsWrongWithAForm) {
  for (const auto& [kind, text, expected] : std::vector<std::tuple<Kind, std::string, std::string>>{
           {Kind::regex, "(a", "regex"},
           {Kind::regex, "a{3,1}", "regex"},
           {Kind::grammar, "root ::= missing", "missing"},
           {Kind::grammar, "", "grammar"},
           {Kind::json_schema, R"({"type": "objct"})", "objct"},
           {Kind::json_schema, "false", "false"},
           {Kind::json_schema, R"({"items": {"not": {}}})", "not"},
           {Kind::json_schema, R"({"properties": {"a": {"multipleOf": 3}}})", "multipleOf"},
           {Kind::json_schema, R"({"allOf": [{"type": "string"}, {"minLength": 3}]})", "allOf"},
           {Kind::json_schema, R"({"$ref": "http://example.org/a"})", "$ref"},
           {Kind::json_schema, R"({"type": "string", "pattern": "[ -~]"})", "-~"},
           {Kind::json_schema, R"({"type": "string", "pattern": "\\n"})", "pattern"},
           {Kind::json_schema, R"({"patternProperties": {"\"": {}}})", "quotation"},
           {Kind::json_schema, R"({"type": "string", "maxLength": "3"})", "maxLength"},
           {Kind::json_schema, R"({"type": "string", "maxLength": 3, "pattern": "a"})", "length"}}) {
    const std::string said = refusal_of({kind, text});
    EXPECT_NE(said.find(expected), std::string::npos) << text << ": " << said;
  }
  // A name that only looks like a keyword.
  EXPECT_EQ(refusal_of({Kind::json_schema, R"({"properties": {"not": {"enum": ["aa"]}}})"}), "");
}

// One token per byte, drawn from the allowed ones: a schema whose strings have a pattern or a length gives
// valid JSON, without characters that JSON would have to escape.
TEST(Grammar, StringsOfASchemaAreJson) {
  const TemporaryDirectory directory;
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[tokenizers::to_byte_level(std::string(1, static_cast<char>(byte)))] = byte;
  const Json file = {{"version", "1.0"},
                     {"added_tokens", Json::array()},
                     {"decoder", {{"type", "ByteLevel"}}},
                     {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
  const Tokenizer tokenizer = Tokenizer::from_file(directory.file("tokenizer.json", file.dump()));
  for (const std::string string :
       {R"("minLength": 1, "maxLength": 9)", R"("pattern": "^.{0,9}[^a-c]\\S?\\s\\D\\w\\W$")"}) {
    SCOPED_TRACE(string);
    const TextForm form{Kind::json_schema, R"({"type": "array", "minItems": 1, "maxItems": 3, "items": )"
                                           R"({"type": "string", )" +
                                               string + "}}"};
    const Grammar grammar(form, tokenizer, 257, std::vector<std::int64_t>{256});
    std::mt19937 random(3);
    for (int i = 0; i < 40; ++i) {
      Ids text;
      while (text.size() < 200) {
        const std::vector<bool> may = allowed(grammar, 257, text);
        Ids next;
        for (std::size_t id = 0; id < may.size(); ++id)
          if (may[id]) next.push_back(static_cast<std::int64_t>(id));
        ASSERT_FALSE(next.empty());
        // White space could go on forever.
        text.push_back(may[256] ? 256 : next[random() % next.size()]);
        if (text.back() == 256) break;
      }
      if (text.back() != 256) continue;
      const std::string said = tokenizer.decode(std::vector<TokenId>(text.begin(), text.end() - 1));
      const Json json = parse_json(said, "text");
      EXPECT_GE(json.size(), 1u);
      EXPECT_LE(json.size(), 3u);
      EXPECT_EQ(said.find('\\'), std::string::npos);
    }
  }
}

// In every search, each text that ends is a match; a text that another field keeps from ending is an error.
TEST(Grammar, KeepsTheTextsOfEverySearch) {
  const TemporaryDirectory directory;
  Json vocabulary = Json::object();
  for (int i = 0; i < 40; ++i) vocabulary[std::string(1, static_cast<char>('0' + i))] = i;
  const Json file = {{"version", "1.0"},
                     {"added_tokens", Json::array()},
                     {"decoder", {{"type", "Fuse"}}},
                     {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
  const Tokenizer tokenizer = Tokenizer::from_file(directory.file("tokenizer.json", file.dump()));
  const auto prompts = make_prompts(4);
  for (const std::string name : {"gpt2-generation", "marian-generation"}) {
    const PretrainedModel model = load_model(name);
    for (const Json& settings :
         std::vector<Json>{{{"num_beams", 1}},
                           {{"do_sample", true}, {"num_return_sequences", 3}},
                           {{"num_beams", 3}, {"num_return_sequences", 2}},
                           {{"num_beams", 4}, {"num_beam_groups", 2}, {"diversity_penalty", 0.5}},
                           {{"prompt_lookup_num_tokens", 3}}}) {
      SCOPED_TRACE(name + settings.dump());
      GenerationConfig config = config_of(model, settings);
      apply_fields(config,
                   Fields({{"regex", "[1-4]{2,3}(:[5-9])*"}, {"max_new_tokens", 12}, {"eos_token_id", 40}},
                          "settings"),
                   FieldsFrom::caller);
      config.forced_eos_token_id = {40};
      std::size_t ended = 0;
      for (const GeneratedSequence& text :
           generate(model, prompts, config, {.seed = 5, .tokenizer = &tokenizer})) {
        ASSERT_FALSE(text.ids.empty());
        if (text.ids.back() != 40 || text.ids.size() == 12) continue;
        ++ended;
        std::string said;
        for (const std::int64_t id : text.ids)
          said += id == 40 ? "" : std::string(1, static_cast<char>('0' + id));
        EXPECT_TRUE(std::regex_match(said, std::regex("[1-4]{2,3}(:[5-9])*"))) << said;
      }
      EXPECT_GT(ended, 0u);
    }
    GenerationConfig config = config_of(model, {{"regex", "1"}, {"min_new_tokens", 3}, {"eos_token_id", 40}});
    EXPECT_ERROR("no token may come next: the form",
                 generate(model, prompts, config, {.tokenizer = &tokenizer}));
    EXPECT_ERROR("they need the model's tokenizer, and none was given",
                 generate(model, prompts, config));  // no tokenizer
    config.eos_token_id.clear();
    EXPECT_ERROR("a text of a required form ends with an end token",
                 generate(model, prompts, config, {.tokenizer = &tokenizer}));
  }
}

// Other threads may use it in between.
TEST(Grammar, AnswersManyTextsAtATime) {
  const TemporaryDirectory directory;
  const Grammar grammar({Kind::regex, "(ab|ba)*a"}, byte_tokenizer(directory), 6,
                        std::vector<std::int64_t>{5});
  const auto right = [&](unsigned bits) {
    Ids text;
    for (; bits > 1; bits /= 4) {
      text.push_back(bits & 1);
      text.push_back(1 - text.back());
    }
    const std::vector<bool> either = {true, true, false, false, false, false};
    if (allowed(grammar, 6, text) != either) return false;
    text.push_back(0);
    return allowed(grammar, 6, text) == std::vector<bool>{false, true, false, false, false, true};
  };
  std::vector<std::thread> threads;
  std::array<std::size_t, 4> wrong{};
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 500; ++i) wrong[t] += right((i * 2654435761u + t) >> (i % 30)) ? 0 : 1;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<std::size_t, 4>{}));
}

}  // namespace
}  // namespace attend
