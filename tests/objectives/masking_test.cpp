#include "objectives/shared/masking.h"

#include "expect_error.h"
#include "nn/losses/loss.h"
#include "word_setting.h"

#include <array>

#include <gtest/gtest.h>

namespace attend {
namespace {

struct Hidden {
  TokenIds before, after, labels;
};

// `words` words of up to `letters` letters between [CLS] and [SEP].
Hidden hide(const MaskOptions& options, std::int64_t words, std::uint64_t letters) {
  const WordSetting setting("bert", Head::masked_language_model);
  const Masking masking(setting.setting(), options);
  Random random(3);
  const Encoding encoding = setting.tokenizers.source->encode(random_sentence(random, words, letters));
  Hidden hidden;
  hidden.before.assign(encoding.ids.begin(), encoding.ids.end());
  hidden.after = hidden.before;
  hidden.labels = masking.hide(hidden.after, random);
  return hidden;
}

double share(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

TEST(Masking, HidesTheShareOfThePaperAndEightOfTenBehindTheMask) {
  const Hidden text = hide({}, 60000, 1);
  std::int64_t predicted = 0, masked = 0, same = 0;
  for (std::size_t i = 0; i < text.before.size(); ++i) {
    if (text.labels[i] == kIgnoredLabel) {
      EXPECT_EQ(text.after[i], text.before[i]);
      continue;
    }
    EXPECT_EQ(text.labels[i], text.before[i]);
    ++predicted;
    masked += text.after[i] == kMask;
    same += text.after[i] == text.before[i];
  }
  EXPECT_EQ(text.labels.front(), kIgnoredLabel) << "[CLS]";
  EXPECT_EQ(text.labels.back(), kIgnoredLabel) << "[SEP]";
  EXPECT_NEAR(share(predicted, 60000), 0.15, 0.005);
  // One in kVocabulary random tokens is the mask or the same token.
  EXPECT_NEAR(share(masked, predicted), 0.8 + 0.1 / kVocabulary, 0.015);
  EXPECT_NEAR(share(same, predicted), 0.1 + 0.1 / kVocabulary, 0.012);
}

TEST(Masking, HidesWholeWords) {
  const Hidden text = hide({.whole_words = true}, 20000, 4);
  std::int64_t predicted = 0, words = 0;
  for (std::size_t i = 1; i + 1 < text.before.size(); ++i) {
    const bool hidden = text.labels[i] != kIgnoredLabel;
    predicted += hidden;
    if (continues_word(text.before[i])) {
      ASSERT_EQ(hidden, text.labels[i - 1] != kIgnoredLabel) << "a word is torn at " << i;
    } else
      words += hidden;
  }
  EXPECT_NEAR(share(predicted, static_cast<std::int64_t>(text.before.size()) - 2), 0.15, 0.001);
  EXPECT_NEAR(share(predicted, words), 2.5, 0.1) << "long words as often as short ones";
}

// At a low rate, runs of hidden words rarely touch, so they have their drawn lengths: n words with
// probability 1 / n over 1 + 1/2 + 1/3.
TEST(Masking, HidesNeighbouringWordsByTheirHarmonicShares) {
  const Hidden text = hide({.rate = 0.02, .ngram = 3}, 200000, 1);
  std::array<std::int64_t, 8> runs{};
  std::size_t run = 0;
  for (const std::int64_t label : text.labels) {
    if (label != kIgnoredLabel) {
      ++run;
    } else if (run > 0) {
      ++runs[std::min<std::size_t>(run, 7)];
      run = 0;
    }
  }
  const std::int64_t all = runs[1] + runs[2] + runs[3];
  EXPECT_NEAR(share(runs[1], all), 6.0 / 11, 0.035);
  EXPECT_NEAR(share(runs[2], all), 3.0 / 11, 0.035);
  EXPECT_NEAR(share(runs[3], all), 2.0 / 11, 0.035);
  EXPECT_LT(share(runs[4] + runs[5] + runs[6] + runs[7], all), 0.05);
}

TEST(Masking, OptionsOfTheRecipe) {
  EXPECT_ERROR("expected a tokenizer with a mask_token", {
    WordSetting setting("bert", Head::masked_language_model);
    Json plain = letter_tokenizer();
    plain["model"]["vocab"].erase("[MASK]");
    setting.directory.file("model/tokenizer.json", plain.dump());
    setting.tokenizers = TokenizerPair::from_file(setting.model->path());
    Masking(setting.setting(), {});
  }) << "no mask";
}

}  // namespace
}  // namespace attend
