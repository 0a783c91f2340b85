// The tokenizers in GGUF files against those that transformers makes from the original files
// (tests/oracle/check_gguf.py).
#include <attend/tokenizer.h>

#include "formats/json/json.h"
#include "test_data.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

class GgufTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(GgufTokenizer, GivesTheOriginalsIds) {
  const auto path = test_data() / "gguf" / GetParam();
  const Tokenizer tokenizer = Tokenizer::from_file(path.string() + ".gguf");
  const Json texts = read_json(path.string() + ".json");
  ASSERT_FALSE(texts.empty());
  for (const Json& text : texts)
    EXPECT_EQ(tokenizer.encode(text.at("text").get<std::string>()).ids,
              text.at("ids").get<std::vector<TokenId>>())
        << text.at("text");
}

// The library tokenizers rejects a step "ByteLevel" without these fields.
void expect_complete_byte_level(const Json& part) {
  const bool is_byte_level = part.is_object() && part.value("type", "") == "ByteLevel";
  for (const char* const field : {"add_prefix_space", "trim_offsets"})
    EXPECT_TRUE(!is_byte_level || part.contains(field)) << part;
  if (part.is_structured())
    for (const Json& each : part) expect_complete_byte_level(each);
}

TEST_P(GgufTokenizer, IsWrittenWithAllFieldsOfItsSteps) {
  const Json written = parse_json(
      Tokenizer::from_file((test_data() / "gguf" / GetParam()).string() + ".gguf").to_json(), "written");
  for (const char* const step : {"normalizer", "pre_tokenizer", "post_processor", "decoder"})
    if (written.contains(step)) expect_complete_byte_level(written.at(step));
}

INSTANTIATE_TEST_SUITE_P(All, GgufTokenizer,
                         testing::Values("gpt2", "gptj", "bert", "t5", "llama-3", "gemma3", "gptneox"));

}  // namespace
}  // namespace attend
