#include "objectives/shared/text_noise.h"

#include <algorithm>
#include <cmath>

namespace attend {

std::vector<TokenId> permute_sentences(std::vector<std::span<const TokenId>> sentences, Random& random) {
  random.shuffle(sentences);
  std::vector<TokenId> text;
  for (const std::span<const TokenId> sentence : sentences)
    text.insert(text.end(), sentence.begin(), sentence.end());
  return text;
}

void delete_tokens(std::vector<TokenId>& text, double rate, Random& random) {
  if (text.empty()) return;
  const TokenId survivor = text[random.below(text.size())];
  std::erase_if(text, [&](TokenId) { return random.uniform() < rate; });
  if (text.empty()) text.push_back(survivor);
}

void fill_in_spans(std::vector<TokenId>& text, TokenId mask, double rate, double mean_span,
                   std::int64_t longest, Random& random) {
  const auto count = static_cast<std::int64_t>(text.size());
  std::int64_t left =
      std::min(count, static_cast<std::int64_t>(rate * static_cast<double>(count) + random.uniform()));
  // The parts of the text: kept tokens, and spans with their lengths. Their order is drawn last.
  constexpr std::int64_t kKept = -1;
  std::vector<std::int64_t> units(static_cast<std::size_t>(count - left), kKept);
  while (left > 0) {
    const std::int64_t length = draw_poisson(mean_span, left, random);
    if (length == 0 && static_cast<std::int64_t>(units.size()) + left >= longest) continue;
    units.push_back(length);
    left -= length;
  }
  random.shuffle(units);
  std::vector<TokenId> filled;
  auto next = text.begin();
  for (const std::int64_t unit : units) {
    filled.push_back(unit == kKept ? *next : mask);
    next += unit == kKept ? 1 : unit;
  }
  text = std::move(filled);
}

void mask_tokens(std::vector<TokenId>& text, TokenId mask, double rate, Random& random) {
  for (TokenId& id : text)
    if (random.uniform() < rate) id = mask;
}

void rotate_text(std::vector<TokenId>& text, Random& random) {
  const auto first = static_cast<std::ptrdiff_t>(random.below(text.size()));
  std::rotate(text.begin(), text.begin() + first, text.end());
}

std::int64_t draw_poisson(double mean, std::int64_t max, Random& random) {
  // The times between events are drawn from an exponential distribution.
  std::int64_t count = 0;
  for (double time = -std::log1p(-random.uniform()); time <= mean && count < max; ++count)
    time -= std::log1p(-random.uniform());
  return count;
}

}  // namespace attend
