// Directories without tokenizer.json.
#include <attend/tokenizer.h>

#include "base/file.h"
#include "expect_error.h"
#include "formats/json/json.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

namespace attend {
namespace {

class VocabularyFiles : public testing::Test {
 protected:
  const TemporaryDirectory temporary;
  const std::filesystem::path directory = temporary.path();
  const std::filesystem::path data = test_data() / "tokenizers";

  void expect_same(const char* name) {
    const Tokenizer expected = Tokenizer::from_file(data / name), found = Tokenizer::from_file(directory);
    EXPECT_EQ(found.vocabulary_size(), expected.vocabulary_size());
    for (const Json& test : read_json(data / name / "cases.json")) {
      const std::string text = test.at("text");
      EXPECT_EQ(found.encode(text).ids, expected.encode(text).ids) << text;
    }
  }
};

TEST_F(VocabularyFiles, RoFormersChineseWordsAreRefused) {
  write_file_atomically(directory / "vocab.txt", "[UNK]\n[CLS]\n[SEP]\n");
  write_file_atomically(directory / "config.json", R"({"model_type":"roformer"})");
  EXPECT_ERROR("jieba's dictionary, which is not part of Attend", Tokenizer::from_file(directory));
  // Without the class, a tokenizer.json is complete.
  std::filesystem::copy_file(data / "bert_uncased/tokenizer.json", directory / "tokenizer.json");
  EXPECT_FALSE(Tokenizer::from_file(directory).encode("lamp").ids.empty());
  write_file_atomically(directory / "tokenizer_config.json",
                        R"({"tokenizer_class":"RoFormerTokenizerFast"})");
  EXPECT_ERROR("jieba's dictionary, which is not part of Attend", Tokenizer::from_file(directory));
}

TEST_F(VocabularyFiles, BertFromVocabTxt) {
  const Json model = read_json(data / "bert_uncased/tokenizer.json").at("model");
  std::string lines;
  for (const auto& [token, id] : model.at("vocab").items()) lines += token + "\n";
  write_file_atomically(directory / "vocab.txt", lines);
  expect_same("bert_uncased");
  write_file_atomically(directory / "tokenizer_config.json", R"({"do_lower_case":false})");
  EXPECT_NE(Tokenizer::from_file(directory).encode("LAMP").ids,
            Tokenizer::from_file(data / "bert_uncased").encode("LAMP").ids);
}

// Ids and sizes are those of transformers 4.57.6.
TEST_F(VocabularyFiles, LinesOfVocabTxtAreTakenAsTheyAre) {
  using Ids = std::vector<TokenId>;
  const std::string text = "hello worlds a world  [MASK] zz";
  const std::string special = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n";
  const auto expect_ids = [&](const std::string& lines, const Ids& ids, std::size_t size) {
    write_file_atomically(directory / "vocab.txt", lines);
    const Tokenizer tokenizer = Tokenizer::from_file(directory);
    EXPECT_EQ(tokenizer.encode(text).ids, ids) << lines;
    EXPECT_EQ(tokenizer.vocabulary_size(), size) << lines;
  };
  const std::string words = special + "[MASK]\nhello\nworld\n##s\na\n";
  const Ids repeated = {2, 9, 6, 7, 8, 6, 4, 1, 3}, once = {2, 5, 6, 7, 8, 6, 4, 1, 3};
  expect_ids(words + "hello\n", repeated, 9);
  expect_ids(words + "hello", repeated, 9);
  expect_ids("\xEF\xBB\xBF" + words + "hello", repeated, 9);
  expect_ids(words + "\n\n", once, 10);
  std::string carriage = words + "hello\n";
  std::ranges::replace(carriage, '\n', '\r');
  expect_ids(carriage, repeated, 9);
  expect_ids(special + "[MASK]\r\nhello\nworld \na\t\n x\nworld\n", {2, 5, 1, 1, 9, 4, 1, 3}, 10);
  // An added token gets the number of tokens as its id, whether or not a line has that index.
  expect_ids(special + "hello\nhello\n\nworld\n\na", {2, 5, 1, 9, 7, 8, 1, 3}, 9);
  expect_ids("hello\nhello\na\n[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n", {5, 1, 4, 7, 4, 6, 4, 6}, 7);
}

TEST_F(VocabularyFiles, AnIdHasTheTokenThatComesLast) {
  write_file_atomically(directory / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nhello\n");
  const Tokenizer tokenizer = Tokenizer::from_file(directory);
  EXPECT_EQ(tokenizer.id_to_token(5), std::nullopt);
  EXPECT_EQ(tokenizer.id_to_token(6), "hello");
}

// As in `tokenizers`: the last of a token's ids counts; all tokens of an id find it.
TEST_F(VocabularyFiles, TokensAndIdsMayComeTwice) {
  using Ids = std::vector<TokenId>;
  const auto ids = [&](const std::string& vocabulary, const std::string& more = "") {
    write_file_atomically(
        directory / "tokenizer.json",
        more + R"({"pre_tokenizer":{"type":"Whitespace"},"model":{"type":"WordPiece","vocab":)" + vocabulary +
            R"(,"unk_token":"a"}})");
    const Tokenizer tokenizer = Tokenizer::from_file(directory);
    const Tokenizer again =
        Tokenizer::from_file((tokenizer.save(directory / "again.json"), directory / "again.json"));
    const Ids found = tokenizer.encode("a b long a").ids;
    EXPECT_EQ(again.encode("a b long a").ids, found) << vocabulary;
    return std::pair(found, tokenizer.vocabulary_size());
  };
  EXPECT_EQ(ids(R"({"a":0,"b":0,"long":2})"), std::pair(Ids({0, 0, 2, 0}), std::size_t{3}));
  EXPECT_EQ(ids(R"({"a":0,"long":1,"b":1})"), std::pair(Ids({0, 1, 1, 0}), std::size_t{3}));
  EXPECT_EQ(ids(R"({"a":0,"a":1,"b":2})"), std::pair(Ids({1, 2, 1, 1}), std::size_t{2}));
  EXPECT_EQ(ids(R"({"a":0,"b":0,"b":3,"a":4})"), std::pair(Ids({4, 3, 4, 4}), std::size_t{2}));
  EXPECT_EQ(ids(R"({"a":0,"b":0,"a":0})"), std::pair(Ids({0, 0, 0, 0}), std::size_t{2}));
  EXPECT_EQ(ids(R"({"a":0,"b":1})", "\xEF\xBB\xBF"), std::pair(Ids({0, 1, 0, 0}), std::size_t{2}));
}

TEST_F(VocabularyFiles, Gpt2FromVocabJsonAndMergesTxt) {
  const Json model = read_json(data / "gpt2/tokenizer.json").at("model");
  write_file_atomically(directory / "vocab.json", model.at("vocab").dump());
  std::string lines = "#version: 0.2\n";
  for (const Json& merge : model.at("merges"))
    lines += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  write_file_atomically(directory / "merges.txt", lines);
  expect_same("gpt2");
  // Byte order marks are not part of the text.
  write_file_atomically(directory / "vocab.json", "\xEF\xBB\xBF" + model.at("vocab").dump());
  write_file_atomically(directory / "merges.txt", "\xEF\xBB\xBF" + lines);
  expect_same("gpt2");
}

// As in transformers (tests/oracle/check_tokenizer_directories.py): lowercasing happens before the search for
// added tokens, and does not change added tokens in the text.
TEST_F(VocabularyFiles, AddedTokensAreLookedForInSmallLetters) {
  write_file_atomically(directory / "vocab.txt", "<eos>\n<unk>\nx\n");
  write_file_atomically(directory / "tokenizer_config.json", R"({"tokenizer_class": "TransfoXLTokenizer",
      "lower_case": true, "additional_special_tokens": ["<Note>"], "added_tokens_decoder": {
        "3": {"content": "<Note>", "special": true}, "4": {"content": "\u00e0b", "special": false}}})");
  const Tokenizer tokenizer = Tokenizer::from_file(directory);
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(tokenizer.encode("X\u00c0B").ids, (Ids{2, 4}));
  EXPECT_EQ(tokenizer.encode("<Note>x <EOS>").ids, (Ids{3, 2, 0}));
  const Encoding with_offsets = tokenizer.encode("X\u00c0B x", {.with_details = true});
  ASSERT_EQ(with_offsets.ids, (Ids{2, 4, 2}));
  EXPECT_EQ(with_offsets.offsets[1].begin, 1u);
  EXPECT_EQ(with_offsets.offsets[1].end, 3u);
}

}  // namespace
}  // namespace attend
