// Invalid tokenizer files: one clear line that names the file and the field, never a crash.
#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/file.h"
#include "expect_error.h"
#include "formats/json/json.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

namespace attend {
namespace {

class BadFile : public testing::Test {
 protected:
  // The error of from_file; empty if it accepts the file.
  std::string message(std::string_view text) {
    std::ofstream(directory / "tokenizer.json", std::ios::binary) << text;
    try {
      Tokenizer::from_file(directory);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      return error.what();
    }
    return "";
  }
  void expect(const std::string& text, std::initializer_list<const char*> parts) {
    const std::string found = message(text);
    EXPECT_NE(found.find((directory / "tokenizer.json").string()), std::string::npos) << found;
    for (const char* part : parts)
      EXPECT_NE(found.find(part), std::string::npos) << found << "\n  lacks: " << part;
  }
  static std::string with_model(const std::string& fields) { return R"({"model":{)" + fields + "}}"; }
  // A valid BPE model and one more part of the file.
  static std::string with_part(const std::string& part) {
    return R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]},)" + part + "}";
  }

  const TemporaryDirectory temporary;
  const std::filesystem::path directory = temporary.path();
};

TEST_F(BadFile, GoodFilesAreRead) {
  EXPECT_EQ(message(with_part(R"("decoder":null)")), "");
  // The merges may come first.
  EXPECT_EQ(message(with_model(R"("merges":[["a","b"]],"vocab":{"a":0,"b":1,"ab":2},"type":"BPE")")), "");
}

TEST_F(BadFile, Structure) {
  expect("", {"expected '{'"});
  expect("[]", {"expected '{'"});
  expect("{}", {"model"});
  expect(R"({"model":{"vocab":{"a":0})", {"expected"});
  expect(with_part(R"("decoder":null)") + "x", {"the end of the file"});
  expect("{\"model\":{\"vocab\":{\"a\xFF\":0}}}", {"UTF-8"});
  expect(with_model(R"("type":"BPE","vocab":{"a\ud800":0},"merges":[])"), {"surrogate"});
  expect(R"({"version":"2.0","model":{"type":"BPE","vocab":{},"merges":[]}})", {"version", "2.0"});
  expect(with_part(R"("normalizer":)" + std::string(100000, '[') + std::string(100000, ']')), {});
  std::string deep = R"({"type":"Lowercase"})";
  for (int i = 0; i < 60; ++i) deep = R"({"type":"Sequence","normalizers":[)" + deep + "]}";
  expect(with_part(R"("normalizer":)" + deep), {"Sequences"});
}

TEST_F(BadFile, Vocabulary) {
  expect(with_model(R"("type":"BPE","merges":[])"), {"model", "vocab"});
  expect(with_model(R"("type":"BPE","vocab":{"a":0})"), {"merges"});
  expect(with_model(R"("type":"BPE","vocab":{"a":-1},"merges":[])"), {"'a'", "-1"});
  expect(with_model(R"("type":"BPE","vocab":{"a":4000000000},"merges":[])"), {"4000000000"});
  expect(with_model(R"("type":"BPE","vocab":{"a":99999999999999999999},"merges":[])"), {"an id"});
  expect(with_model(R"("type":"BPE","vocab":{"a":1.5},"merges":[])"), {"an id"});
  expect(with_model(R"("type":"BPE","vocab":{"a":"0"},"merges":[])"), {"an id"});
  expect(with_model(R"("type":"BPE","vocab":{"a":0},"merges":["a b"])"), {"merges[0]", "'b'", "vocabulary"});
  expect(with_model(R"("type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"])"), {"merges[0]", "'ab'"});
  expect(with_model(R"("type":"BPE","vocab":{"a":0,"b":1},"merges":["a b c"])"), {"merges[0]", "a b c"});
  expect(with_model(R"("type":"BPE","vocab":{"a":0,"b":1},"merges":[["a"]])"), {"expected ','"});
  expect(with_model(R"("type":"BPE","dropout":1.5,"vocab":{"a":0},"merges":[])"), {"dropout"});
  expect(with_model(R"("type":"BPE","dropout":"x","vocab":{"a":0},"merges":[])"), {"dropout"});
  expect(with_model(R"("type":"Unigram","unk_id":5,"vocab":[["a",-1]])"), {"unk_id", "5"});
  expect(with_model(R"("type":"Unigram","vocab":[["a"]])"), {"expected ','"});
  expect(with_model(R"("type":"Oracle","vocab":{})"), {"Oracle"});
}

TEST_F(BadFile, Parts) {
  expect(with_part(R"("normalizer":{"type":"Sing"})"), {"normalizer", "Sing"});
  expect(with_part(R"("normalizer":{"type":7})"), {"normalizer", "type"});
  expect(with_part(R"("normalizer":{"type":"Sequence"})"), {"normalizers"});
  expect(with_part(R"("normalizer":{"type":"BertNormalizer","lowercase":"yes"})"), {"lowercase"});
  expect(with_part(R"("normalizer":{"type":"Replace","pattern":{"Regex":"("},"content":""})"), {"'('"});
  expect(with_part(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":""})"),
         {"precompiled_charsmap"});
  expect(with_part(R"("pre_tokenizer":{"type":"Split","pattern":{"String":"x"},"behavior":"Lost"})"),
         {"Lost"});
  expect(with_part(R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Hum"}]})"),
         {"pretokenizers[0]", "Hum"});
  expect(with_part(R"("pre_tokenizer":{"type":"Metaspace","replacement":"__"})"), {"replacement"});
  expect(
      with_part(
          R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"X","type_id":0}}],"pair":[],"special_tokens":{}})"),
      {"post_processor", "'X'"});
  expect(
      with_part(
          R"("post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"B","type_id":0}}],"pair":[],"special_tokens":{}})"),
      {"single", "'B'"});
  expect(with_part(R"("post_processor":{"type":"BertProcessing","sep":["a",-1],"cls":["b",1]})"), {"sep"});
  expect(with_part(R"("decoder":{"type":"Strip","content":"","start":0,"stop":0})"), {"content"});
  expect(with_part(R"("added_tokens":[{"content":"x"}])"), {"added_tokens[0]", "id"});
  expect(with_part(R"("added_tokens":{"x":1})"), {"added_tokens"});
  expect(with_part(R"("truncation":{"max_length":-1,"stride":0})"), {"truncation", "max_length"});
  expect(with_part(R"("padding":{"strategy":"Much"})"), {"padding", "Much"});
}

TEST_F(BadFile, MissingFilesAreNamed) {
  try {
    Tokenizer::from_file(directory);
    FAIL();
  } catch (const Error& error) {
    for (const char* name : {"tokenizer.json", "vocab.txt", "vocab.json", "merges.txt"})
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
  }
}

// Any damage results in an Error or in a working tokenizer.
TEST_F(BadFile, DamageNeverCrashes) {
  std::mt19937 random(3);
  for (const char* name : {"bert_uncased", "roberta", "llama", "unigram", "gpt4_pattern"}) {
    const std::string good = read_file(test_data() / "tokenizers" / name / "tokenizer.json");
    for (int round = 0; round < 150; ++round) {
      std::string text = good;
      switch (random() % 3) {
        case 0:
          text.resize(random() % text.size());
          break;
        case 1:
          text.erase(random() % text.size(), random() % 40);
          break;
        default:
          for (int i = 0; i < 4; ++i) text[random() % text.size()] = "\"{}[]:,0-\\aZ\x01\xFF"[random() % 14];
      }
      std::ofstream(directory / "tokenizer.json", std::ios::binary) << text;
      try {
        const Tokenizer tokenizer = Tokenizer::from_file(directory);
        tokenizer.decode(tokenizer.encode("The lamp <mask> wäits 語.").ids);
      } catch (const Error&) {
      }
    }
  }
}

TEST(BadText, IsRefused) {
  const Tokenizer tokenizer = Tokenizer::from_file(test_data() / "tokenizers/bert_uncased");
  EXPECT_ERROR("not valid UTF-8 at byte 1", tokenizer.encode("a\xFF"));
  EXPECT_ERROR("not valid UTF-8 at byte 0", tokenizer.encode("\xC3"));
  EXPECT_ERROR("not valid UTF-8 at byte 0", tokenizer.encode("\xED\xA0\x80"));
  EXPECT_EQ(tokenizer.id_to_token(-1), std::nullopt);
  EXPECT_EQ(tokenizer.id_to_token(1 << 30), std::nullopt);
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{-5, 1 << 30}), "");
}

TEST(BadOptions, TruncationThatLeavesNoRoomIsAnError) {
  Tokenizer tokenizer = Tokenizer::from_file(test_data() / "tokenizers/bert_uncased");
  tokenizer.truncation() = Truncation{.max_length = 1};
  EXPECT_ERROR("max_length is 1, but the special tokens alone are 2",
               tokenizer.encode("a b c"));  // [CLS] and [SEP] are two
  tokenizer.truncation() = Truncation{.max_length = 4, .stride = 2};
  EXPECT_ERROR("the stride 2 must be smaller than the length", tokenizer.encode("the lamp is off"));
  tokenizer.truncation() = Truncation{.strategy = Truncation::Strategy::only_second, .max_length = 4};
  EXPECT_ERROR("only_second needs a second text", tokenizer.encode("the lamp is off"));
}

}  // namespace
}  // namespace attend
