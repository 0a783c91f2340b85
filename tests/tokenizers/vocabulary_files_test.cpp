// Directories without tokenizer.json.
#include <attend/tokenizer.h>

#include "base/file.h"
#include "formats/json.h"
#include "temporary_directory.h"
#include "test_data.h"

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

TEST_F(VocabularyFiles, Gpt2FromVocabJsonAndMergesTxt) {
  const Json model = read_json(data / "gpt2/tokenizer.json").at("model");
  write_file_atomically(directory / "vocab.json", model.at("vocab").dump());
  std::string lines = "#version: 0.2\n";
  for (const Json& merge : model.at("merges"))
    lines += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  write_file_atomically(directory / "merges.txt", lines);
  expect_same("gpt2");
}

// As transformers has it (tests/oracle/check_tokenizer_directories.py): what puts a text into small letters
// does so before added tokens are looked for, and leaves those alone that are in it as they are.
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
