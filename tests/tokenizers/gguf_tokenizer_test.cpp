// The tokenizers in GGUF files against those that transformers makes from the original files
// (tests/oracle/check_gguf.py).
#include <attend/tokenizer.h>

#include "formats/json.h"
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

INSTANTIATE_TEST_SUITE_P(All, GgufTokenizer,
                         testing::Values("gpt2", "gptj", "bert", "t5", "llama-3", "gemma3", "gptneox"));

}  // namespace
}  // namespace attend
