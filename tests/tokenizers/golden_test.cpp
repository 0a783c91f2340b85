// Every tokenizer of tests/data/tokenizers against Hugging Face's `tokenizers` on the same texts
// (tests/oracle/make_tokenizer_goldens.py).
#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "expect_error.h"
#include "formats/json/json.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

namespace attend {
namespace {

const std::filesystem::path root = test_data() / "tokenizers";

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root))
    if (std::filesystem::exists(entry.path() / "cases.json")) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

Json to_json(const Encoding& encoding) {
  Json words = Json::array(), offsets = Json::array();
  for (const std::int32_t word : encoding.word_ids) words.push_back(word < 0 ? Json() : Json(word));
  for (const TextSpan& span : encoding.offsets) {
    offsets.push_back(span.begin);
    offsets.push_back(span.end);
  }
  Json json = {{"ids", encoding.ids}, {"tokens", encoding.tokens}, {"offsets", offsets}, {"word_ids", words}};
  // Like in the goldens: fields that are the same for all tokens of a plain text are left out.
  const auto add = [&](const char* name, const std::vector<std::int32_t>& values, std::int32_t usual) {
    if (std::any_of(values.begin(), values.end(), [usual](std::int32_t value) { return value != usual; }))
      json[name] = values;
  };
  add("type_ids", encoding.type_ids, 0);
  add("attention_mask", encoding.attention_mask, 1);
  add("special_tokens_mask", encoding.special_tokens_mask, 0);
  for (const Encoding& piece : encoding.overflowing) json["overflowing"].push_back(to_json(piece));
  return json;
}

void set_options(Tokenizer& tokenizer, const Json& test) {
  tokenizer.truncation().reset();
  tokenizer.padding().reset();
  if (!test.contains("truncation")) return;
  const Json& options = test.at("truncation");
  Truncation truncation;
  const std::string strategy = options.at("strategy");
  truncation.strategy = strategy == "longest_first" ? Truncation::Strategy::longest_first
                        : strategy == "only_first"  ? Truncation::Strategy::only_first
                                                    : Truncation::Strategy::only_second;
  const bool left = options.at("direction") == "left";
  truncation.direction = left ? Truncation::Direction::left : Truncation::Direction::right;
  truncation.max_length = options.at("max_length");
  truncation.stride = options.at("stride");
  tokenizer.truncation() = truncation;
  tokenizer.padding() =
      Padding{.length = {}, .multiple_of = 8, .left = left, .id = 1, .type_id = 1, .token = "<pad>"};
}

Encoding encode(const Tokenizer& tokenizer, const Json& test, bool details = true) {
  const EncodeOptions options{.special_tokens = test.value("special_tokens", true), .with_details = details};
  const std::string text = test.at("text");
  if (test.contains("pair")) return tokenizer.encode_pair(text, test.at("pair").get<std::string>(), options);
  return tokenizer.encode(text, options);
}

void check(Tokenizer& tokenizer, const Json& cases) {
  for (const Json& test : cases) {
    SCOPED_TRACE(test.at("text").dump());
    set_options(tokenizer, test);
    if (test.contains("error")) {
      EXPECT_ERROR("tokens, too few to remove", encode(tokenizer, test));
      continue;
    }
    const Encoding encoding = encode(tokenizer, test);
    Json found = to_json(encoding);
    const Json& expected = test.at("encoding");
    for (const auto& [field, value] : expected.items()) EXPECT_EQ(found[field], value) << field;
    EXPECT_EQ(found.size(), expected.size()) << found.dump() << " for " << expected.dump();
    EXPECT_EQ(encode(tokenizer, test, false).ids, encoding.ids);
    if (!test.contains("decoded")) continue;
    EXPECT_EQ(tokenizer.decode(encoding.ids), test.at("decoded").get<std::string>());
    EXPECT_EQ(tokenizer.decode(encoding.ids, true), test.at("skipped").get<std::string>());
  }
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, EncodesAndDecodesAsTokenizersDoes) {
  Tokenizer tokenizer = Tokenizer::from_file(root / GetParam());
  check(tokenizer, read_json(root / GetParam() / "cases.json"));
}

TEST_P(Golden, WritesWhatItReads) {
  const TemporaryDirectory directory;
  const std::filesystem::path copy = directory.path() / "tokenizer.json";
  Tokenizer::from_file(root / GetParam()).save(copy);
  Tokenizer tokenizer = Tokenizer::from_file(copy);
  EXPECT_EQ(tokenizer.to_json(), read_file(copy));
  check(tokenizer, read_json(root / GetParam() / "cases.json"));
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

// The concatenated texts of tokens equal the decoder's result, except for spaces that it drops at an end.
TEST_P(Golden, TextsOfTokensAreWhatIsDecoded) {
  // These decoders merge repeated tokens, or drop every space of the first token.
  if (GetParam() == "ctc" || GetParam() == "metaspace_whole") return;
  Tokenizer tokenizer = Tokenizer::from_file(root / GetParam());
  tokenizer.truncation().reset();
  tokenizer.padding().reset();
  const std::vector<std::string> texts = tokenizer.token_texts();
  ASSERT_EQ(texts.size(), tokenizer.vocabulary_size());
  std::size_t compared = 0;
  for (const Json& test : read_json(root / GetParam() / "cases.json")) {
    if (test.contains("pair") || test.contains("error")) continue;
    const std::vector<TokenId> ids =
        tokenizer.encode(test.at("text").get<std::string>(), {.special_tokens = false}).ids;
    std::string text;
    bool is_plain = true;
    for (const TokenId id : ids) {
      text += texts[static_cast<std::size_t>(id)];
      is_plain &= !texts[static_cast<std::size_t>(id)].empty();  // special tokens are shown, but are not text
    }
    if (!is_plain || find_invalid_utf8(text)) continue;
    const std::string decoded = tokenizer.decode(ids);
    EXPECT_EQ(trimmed(text), trimmed(decoded)) << test.at("text");
    ++compared;
  }
  EXPECT_GT(compared, 3u);
}

TEST_P(Golden, SeveralThreadsAndBatchesGiveTheSame) {
  Tokenizer tokenizer = Tokenizer::from_file(root / GetParam());
  tokenizer.truncation().reset();
  tokenizer.padding().reset();
  std::vector<std::string> texts;
  std::vector<std::vector<TokenId>> expected;
  for (const Json& test : read_json(root / GetParam() / "cases.json")) {
    if (test.contains("pair") || test.contains("truncation") || test.contains("special_tokens")) continue;
    texts.push_back(test.at("text"));
    expected.push_back(test.at("encoding").at("ids").get<std::vector<TokenId>>());
  }
  ASSERT_GT(texts.size(), 20u);
  std::vector<std::thread> threads;
  std::vector<std::size_t> differing(4);
  for (std::size_t t = 0; t < differing.size(); ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round)
        for (std::size_t i = 0; i < texts.size(); ++i)
          differing[t] += tokenizer.encode(texts[i], {.with_details = round == 1}).ids != expected[i] ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t count : differing) EXPECT_EQ(count, 0u);
  const std::vector<Encoding> batch = tokenizer.encode_batch(texts);
  ASSERT_EQ(batch.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(batch[i].ids, expected[i]);
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Golden, testing::ValuesIn(names()),
                         [](const auto& parameter) { return parameter.param; });

TEST(GoldenData, IsThere) {
  EXPECT_GE(names().size(), 20u);
}

}  // namespace
}  // namespace attend
