// Directories without a tokenizer.json against transformers' AutoTokenizer
// (tests/oracle/make_slow_tokenizer_goldens.py).
#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/file.h"
#include "formats/json/json.h"
#include "temporary_directory.h"
#include "test_data.h"
#include "tokenizers/files/tokenizer_files.h"

#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

const fs::path root = test_data() / "slow_tokenizers";

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

void check(const Tokenizer& tokenizer, const Json& cases) {
  ASSERT_GT(cases.size(), 30u);
  for (const Json& test : cases) {
    std::string text;
    for (int i = 0; i < test.value("times", 0); ++i) text += test.at("behind");
    text += test.at("text");
    const Encoding encoding = test.contains("pair")
                                  ? tokenizer.encode_pair(text, test.at("pair").get<std::string>())
                                  : tokenizer.encode(text);
    EXPECT_EQ(encoding.ids, test.at("ids").get<std::vector<TokenId>>()) << test.at("text").dump();
    if (test.contains("decoded")) {
      EXPECT_EQ(tokenizer.decode(encoding.ids), test.at("decoded")) << test.at("text").dump();
    }
    if (test.contains("decoded_without_specials")) {
      EXPECT_EQ(tokenizer.decode(encoding.ids, true), test.at("decoded_without_specials"))
          << test.at("text").dump();
    }
    if (test.contains("special_tokens_mask")) {
      EXPECT_EQ(encoding.special_tokens_mask, test.at("special_tokens_mask").get<std::vector<std::int32_t>>())
          << test.at("text").dump();
    }
    for (const TextSpan& span : encoding.offsets) {
      EXPECT_LE(span.begin, span.end) << test.at("text").dump();
      EXPECT_LE(span.end, std::max(text.size(), test.value("pair", std::string()).size()))
          << test.at("text").dump();
    }
  }
}

class SlowGolden : public testing::TestWithParam<std::string> {};

TEST_P(SlowGolden, EncodesAsTransformersDoes) {
  const Json golden = read_json(root / GetParam() / "slow.json");
  const TokenizerPair pair = TokenizerPair::from_file(root / GetParam());
  check(*pair.source, golden.at("cases"));
  EXPECT_EQ(pair.source != pair.target, golden.contains("target_cases"));
  if (golden.contains("target_cases")) check(*pair.target, golden.at("target_cases"));
}

TEST_P(SlowGolden, GivesPlainTextBack) {
  const TokenizerPair pair = TokenizerPair::from_file(root / GetParam());
  // In every corpus and vocabulary; in a vocabulary of whole words "kitchen" is missing, but "kitchen."
  // exists.
  const std::string text = GetParam() == "t5_words" ? "the waiting dark" : "the kitchen was";
  EXPECT_EQ(pair.source->decode(pair.source->encode(text).ids, true), text);
  EXPECT_EQ(pair.target->decode(pair.target->encode(text).ids, true), text);
}

// Every file of every directory, damaged: an Error or a tokenizer, never a crash.
TEST_P(SlowGolden, DamagedFilesAreErrorsOrTokenizers) {
  const TemporaryDirectory temporary;
  const fs::path& directory = temporary.path();
  fs::copy(root / GetParam(), directory);
  for (const auto& entry : fs::directory_iterator(root / GetParam())) {
    const std::string good = read_file(entry.path());
    const fs::path path = directory / entry.path().filename();
    const auto try_it = [&](const std::string& bad) {
      write_file_atomically(path, bad);
      try {
        Tokenizer::from_file(directory).encode("The lamp: x 12, \u00e9\u4e2d");
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      }
    };
    const std::size_t step = std::max<std::size_t>(good.size() / 40, 1);
    for (std::size_t at = 0; at < good.size(); at += step) {
      try_it(good.substr(0, at));
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x55);
      try_it(bad);
    }
    write_file_atomically(path, good);
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, SlowGolden, testing::ValuesIn(names()),
                         [](const auto& parameter) { return parameter.param; });

TEST(SlowGoldenData, IsThere) {
  EXPECT_GE(names().size(), 21u);
}

class SlowFiles : public testing::Test {
 protected:
  std::string message() {
    try {
      Tokenizer::from_file(directory);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  const TemporaryDirectory temporary;
  const fs::path directory = temporary.path();
};

TEST_F(SlowFiles, SayWhatIsWrong) {
  EXPECT_NE(message().find("found no tokenizer.json"), std::string::npos) << message();
  write_file_atomically(directory / "tokenizer_config.json", R"({"tokenizer_class":"TransfoXLTokenizer"})");
  write_file_atomically(directory / "vocab.pkl", "x");
  EXPECT_NE(message().find("pickle"), std::string::npos) << message();
  // The pickle calls os.system; it is not executed.
  write_file_atomically(directory / "vocab.pkl", "cos\nsystem\n(U\x04trueR.");
  EXPECT_NE(message().find("os.system"), std::string::npos) << message();
  fs::remove(directory / "vocab.pkl");
  fs::remove(directory / "tokenizer_config.json");
  write_file_atomically(directory / "spiece.model", "x");
  EXPECT_NE(message().find("tokenizer_class"), std::string::npos) << message();
  write_file_atomically(directory / "tokenizer_config.json", R"({"tokenizer_class":"T5Tokenizer"})");
  EXPECT_NE(message().find("spiece.model: not a SentencePiece model"), std::string::npos) << message();
}

TEST_F(SlowFiles, MosesKnowsOnlyEnglish) {
  for (const char* name : {"xlm", "transfo_xl"}) {
    fs::copy(root / name, directory, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    Json config = read_json(directory / "tokenizer_config.json");
    for (const auto& [language, expected] :
         {std::pair{"ja", "libraries"}, std::pair{"de", "only those for English"}}) {
      config["language"] = language;
      write_file_atomically(directory / "tokenizer_config.json", config.dump());
      EXPECT_NE(message().find(expected), std::string::npos) << message();
    }
  }
}

TEST_F(SlowFiles, PlbartHasTwoListsOfLanguages) {
  fs::copy(root / "plbart", directory, fs::copy_options::recursive);
  Json config = read_json(directory / "tokenizer_config.json");
  const auto with = [&](const char* field, const char* value) {
    Json changed = config;
    changed[field] = value;
    write_file_atomically(directory / "tokenizer_config.json", changed.dump());
  };
  with("src_lang", "go");
  EXPECT_NE(message().find("src_lang is '__go__', expected one of PLBart's 3 languages"), std::string::npos)
      << message();
  with("language_codes", "all");
  EXPECT_NE(message().find("language_codes is 'all', expected base or multi"), std::string::npos)
      << message();
  with("src_lang", "__python__");
  EXPECT_EQ(message(), "");
}

TEST_F(SlowFiles, WordsMayStandInAVocabJson) {
  fs::copy(root / "transfo_xl", directory, fs::copy_options::recursive);
  const Tokenizer expected = Tokenizer::from_file(directory);
  Json words = Json::object();
  std::istringstream lines(read_file(directory / "vocab.txt"));
  for (std::string line; std::getline(lines, line);) {
    const std::string word = line.substr(0, line.find(' '));
    words[word] = *expected.token_to_id(word);
  }
  fs::remove(directory / "vocab.txt");
  write_file_atomically(directory / "vocab.json", words.dump());
  const std::string text = "The waiting room, 5,000 small-boats.";
  EXPECT_EQ(Tokenizer::from_file(directory).encode(text).ids, expected.encode(text).ids);
  write_file_atomically(directory / "vocab.json", R"({"the":0})");
  EXPECT_NE(message().find("vocab.json: expected a word <unk>"), std::string::npos) << message();
  write_file_atomically(directory / "vocab.txt", "the\n\n<unk>\n");
  EXPECT_NE(message().find("vocab.txt, line 2"), std::string::npos) << message();
}

// Next to other letters it is not an added token, but the word still has its id.
TEST_F(SlowFiles, WordsAreLookedUpAmongAddedTokens) {
  fs::copy(root / "transfo_xl", directory, fs::copy_options::recursive);
  const Tokenizer before = Tokenizer::from_file(directory);
  ASSERT_FALSE(before.token_to_id("quokka").has_value());
  constexpr TokenId id = 500;
  Json config = read_json(directory / "tokenizer_config.json");
  config["added_tokens_decoder"][std::to_string(id)] = {{"content", "quokka"}, {"lstrip", false},
                                                        {"rstrip", false},     {"single_word", true},
                                                        {"normalized", false}, {"special", false}};
  write_file_atomically(directory / "tokenizer_config.json", config.dump());
  const Tokenizer with_quokka = Tokenizer::from_file(directory);
  EXPECT_EQ(with_quokka.token_to_id("quokka"), id);
  const Encoding found = with_quokka.encode("(quokka"), unknown = before.encode("(quokka");
  ASSERT_EQ(found.ids.size(), unknown.ids.size());
  EXPECT_EQ(found.ids.back(), id);
  EXPECT_EQ(found.tokens.back(), "quokka");
}

// A single word next to anything except spaces is joined to it, and the result is not an added token; pieces
// of the model with an added token's text have its id. The expected values are T5Tokenizer's.
TEST_F(SlowFiles, SingleWordsJoinWhatStandsBesideThem) {
  fs::copy(root / "t5_characters", directory, fs::copy_options::recursive);
  Json config = read_json(directory / "tokenizer_config.json");
  for (const auto& [id, text] : {std::pair{"400", "lamp"}, std::pair{"401", "w"}})
    config["added_tokens_decoder"][id] = {{"content", text},     {"lstrip", false},     {"rstrip", false},
                                          {"single_word", true}, {"normalized", false}, {"special", false}};
  write_file_atomically(directory / "tokenizer_config.json", config.dump());
  const Tokenizer tokenizer = Tokenizer::from_file(directory);
  const auto ids = [&](std::string_view text) {
    return tokenizer.encode(text, {.special_tokens = false}).ids;
  };
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(ids("a lamp w"), (Ids{5, 7, 400, 401}));
  EXPECT_EQ(ids("walk"), (Ids{5, 401, 7, 14, 23}));
  EXPECT_EQ(ids("lamp</s>"), (Ids{5, 14, 7, 21, 25, 95, 2, 11, 2}));
  EXPECT_EQ(ids("</s>lamp"), (Ids{5, 95, 2, 11, 2, 14, 7, 21, 25}));
  EXPECT_EQ(ids("w</s>w"), (Ids{5, 401, 95, 2, 11, 2, 401}));
}

// With a tokenizer.json: transformers adds listed tokens again, and those with a role as special ones.
TEST_F(SlowFiles, SayWhichTokensAreSpecial) {
  Json json = read_json(root.parent_path() / "tokenizers" / "word_level" / "tokenizer.json");
  json["added_tokens"] = {{{"id", 7}, {"content", "12"}, {"special", false}}};
  write_file_atomically(directory / "tokenizer.json", json.dump());
  const auto without_specials = [&](const Json& config) {
    write_file_atomically(directory / "tokenizer_config.json", config.dump());
    return Tokenizer::from_file(directory).decode(std::vector<TokenId>{9, 7, 10}, true);
  };
  const Json role = {{"additional_special_tokens", {"12"}}};
  const Json list = {{"added_tokens_decoder", {{"7", {{"content", "12"}, {"special", false}}}}}};
  EXPECT_EQ(without_specials(role), "3 12 345");
  EXPECT_EQ(without_specials(list), "3 12 345");
  Json both = role;
  both.update(list);
  EXPECT_EQ(without_specials(both), "3 345");
}

TEST_F(SlowFiles, OfATokenizerAreAllListed) {
  for (const std::string& name : names()) {
    const std::vector<std::string> files = tokenizers::tokenizer_files(root / name);
    fs::create_directories(directory / name);
    for (const std::string& file : files)
      write_file_atomically(directory / name / file, read_file(root / name / file));
    // config.json belongs to the model; the tokenizer reads only the model's type from it.
    if (fs::path model = root / name / "config.json"; fs::exists(model))
      write_file_atomically(directory / name / "config.json", read_file(model));
    for (const auto& entry : fs::directory_iterator(root / name))
      EXPECT_TRUE(fs::exists(directory / name / entry.path().filename()) ||
                  entry.path().filename() == "slow.json")
          << entry.path();
    EXPECT_EQ(Tokenizer::from_file(directory / name).vocabulary_size(),
              Tokenizer::from_file(root / name).vocabulary_size());
  }
}

}  // namespace
}  // namespace attend
