// BLEU and chrF against sacrebleu (tests/oracle/make_metric_goldens.py).
#include <attend/error.h>

#include "base/python_text.h"
#include "expect_error.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "test_data.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attend {
namespace {

using nlohmann::json;
using Texts = std::vector<std::string>;

json goldens() {
  std::ifstream file(test_data() / "metrics/goldens.json");
  return json::parse(file);
}

TEST(Bleu, EqualsSacrebleu) {
  for (const json& corpus : goldens())
    for (const json& expected : corpus["bleu"]) {
      const BleuOptions options{.tokenizer = bleu_tokenizer(expected["tokenizer"].get<std::string>()),
                                .lowercase = expected["lowercase"]};
      const Bleu bleu =
          corpus_bleu(corpus["hypotheses"].get<Texts>(), corpus["references"].get<Texts>(), options);
      EXPECT_NEAR(bleu.score, expected["score"].get<double>(), 1e-9) << corpus["name"] << expected;
      for (std::size_t i = 0; i < 4; ++i)
        EXPECT_NEAR(bleu.precisions[i], expected["precisions"][i].get<double>(), 1e-9)
            << corpus["name"] << expected;
      EXPECT_EQ(to_string(bleu), expected["line"].get<std::string>()) << corpus["name"];
    }
}

TEST(Bleu, WordsAreSacrebleus) {
  for (const json& corpus : goldens())
    for (const auto& [name, expected] : corpus["words"].items()) {
      const Texts texts = corpus["hypotheses"];
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const Texts words = expected;
        EXPECT_EQ(split_words(bleu_words(texts[i], bleu_tokenizer(name))), split_words(words[i])) << name;
      }
    }
}

TEST(Bleu, RefusesUnequalNumbersOfLines) {
  EXPECT_ERROR("one hypothesis for each of 1 references, found 2", corpus_bleu(Texts{"a", "b"}, Texts{"a"}));
  EXPECT_ERROR("there are no sentences to score", corpus_bleu(Texts{}, Texts{}));
  EXPECT_ERROR("BLEU has no tokenizer 'moses'", bleu_tokenizer("moses"));
}

TEST(Chrf, EqualsSacrebleu) {
  for (const json& corpus : goldens())
    for (const json& expected : corpus["chrf"]) {
      const ChrfOptions options{.word_order = expected["word_order"], .lowercase = expected["lowercase"]};
      const Chrf chrf =
          corpus_chrf(corpus["hypotheses"].get<Texts>(), corpus["references"].get<Texts>(), options);
      EXPECT_NEAR(chrf.score, expected["score"].get<double>(), 1e-9) << corpus["name"] << expected;
      EXPECT_EQ(to_string(chrf), expected["line"].get<std::string>()) << corpus["name"];
    }
}

TEST(Chrf, RefusesUnequalNumbersOfLines) {
  EXPECT_ERROR("one hypothesis for each of 0 references, found 1", corpus_chrf(Texts{"a"}, Texts{}));
}

}  // namespace
}  // namespace attend
