// Tokenizer::lower_case, which lowercases texts before anything else.
#include <attend/tokenizer.h>

#include "base/file.h"
#include "formats/json/json.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <cctype>
#include <filesystem>

#include <gtest/gtest.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

// Directories with a tokenizer.json (fast) and without one (fast and slow).
std::vector<fs::path> directories() {
  std::vector<fs::path> all;
  for (const char* kind : {"tokenizers", "slow_tokenizers"})
    for (const auto& entry : fs::directory_iterator(test_data() / kind))
      if (entry.is_directory() && entry.path().filename() != "training") all.push_back(entry.path());
  return all;
}

TEST(LowerCase, EveryTokenizerReadsCapitalsAsSmallLetters) {
  std::size_t count = 0;
  for (const fs::path& path : directories()) {
    const Tokenizer plain = Tokenizer::from_file(path);
    Tokenizer lower = Tokenizer::from_file(path);
    lower.lower_case();
    for (const char* text : {"The QUICK brown Fox", "A, B. C! 12 DOWN"}) {
      std::string small = text;
      for (char& c : small) c = static_cast<char>(std::tolower(c));
      EXPECT_EQ(lower.encode(text).ids, plain.encode(small).ids) << path << ": " << text;
      ++count;
    }
  }
  EXPECT_GT(count, 50u);
}

TEST(LowerCase, SpecialTokensStay) {
  const fs::path path = test_data() / "tokenizers" / "bert_cased";
  const Tokenizer plain = Tokenizer::from_file(path);
  Tokenizer lower = Tokenizer::from_file(path);
  lower.lower_case();
  EXPECT_EQ(lower.encode("[MASK] HELLO").ids, plain.encode("[MASK] hello").ids);
  EXPECT_NE(lower.encode("[MASK]").ids, lower.encode("[mask]").ids);
  lower.lower_case();  // calling it once is enough
  const TemporaryDirectory written;
  lower.save(written.path() / "tokenizer.json");
  EXPECT_EQ(read_json(written.path() / "tokenizer.json").at("normalizer").dump().find("Lowercase"),
            read_json(written.path() / "tokenizer.json").at("normalizer").dump().rfind("Lowercase"));
  EXPECT_EQ(Tokenizer::from_file(written.path()).encode("[MASK] HELLO").ids,
            plain.encode("[MASK] hello").ids);
}

}  // namespace
}  // namespace attend
