#include "explain/units.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace attend {
namespace {

constexpr std::string_view kSpaces = " \n\t\r";
constexpr std::array<std::string_view, 9> kEnds = {".", "!", "?", "…", "。", "！", "？", "।", "؟"};

bool begins_word(const ExplainedToken& token) {
  if (token.part > 1) return false;
  const char first = token.text.empty() ? ' ' : token.text.front();
  const bool punctuation = static_cast<unsigned char>(first) < 128 && !std::isalnum(first);
  return kSpaces.find(first) != kSpaces.npos || punctuation;
}

// Whether a sentence ends with this token.
bool ends_sentence(const ExplainedToken& token) {
  if (token.text.find('\n') != token.text.npos) return true;
  const std::size_t last = token.text.find_last_not_of(" \t\r\"')]”»");
  const std::string_view bare =
      std::string_view(token.text).substr(0, last == token.text.npos ? 0 : last + 1);
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return bare.ends_with(end); });
}

std::vector<float> sum_by(const ExplainedSide& side, const std::vector<float>& scores,
                          std::int64_t ExplainedToken::*unit) {
  std::vector<float> sums;
  for (std::size_t i = 0; i < scores.size() && i < side.tokens.size(); ++i) {
    const std::int64_t number = side.tokens[i].*unit;
    if (number < 0) continue;
    sums.resize(std::max(sums.size(), static_cast<std::size_t>(number) + 1));
    sums[static_cast<std::size_t>(number)] += scores[i];
  }
  return sums;
}

}  // namespace

void number_units(ExplainedSide& side) {
  if (side.picture) return;
  const bool knows_words =
      std::ranges::any_of(side.tokens, [](const ExplainedToken& token) { return token.continues; });
  std::int64_t word = -1, sentence = -1;
  const ExplainedToken* before = nullptr;  // null: at the beginning of a text
  bool behind_special = true;              // a mask ends a word but not a sentence
  for (ExplainedToken& token : side.tokens) {
    if (token.special) {
      behind_special = true;
      continue;
    }
    const bool fresh = !before || before->segment != token.segment;
    const bool begins = knows_words ? !token.continues && token.part <= 1 : begins_word(token);
    const bool goes_on = !std::exchange(behind_special, false) && !begins;
    if (fresh || !goes_on) ++word;
    if (fresh || (!goes_on && ends_sentence(*before))) ++sentence;
    token.word = word;
    token.sentence = sentence;
    before = &token;
  }
}

std::vector<float> sum_by_word(const ExplainedSide& side, const std::vector<float>& scores) {
  return sum_by(side, scores, &ExplainedToken::word);
}

std::vector<float> sum_by_sentence(const ExplainedSide& side, const std::vector<float>& scores) {
  return sum_by(side, scores, &ExplainedToken::sentence);
}

}  // namespace attend
