#include "objectives/span_corruption.h"

#include "objectives/base/kinds.h"
#include "objectives/masked_language_model.h"
#include "objectives/sequence_to_sequence.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

SpanRates span_rates(const Recipe& recipe) {
  const SpanRates rates{recipe.mask_rate.value_or(0.15), recipe.mean_span};
  if (!(rates.rate > 0 && rates.rate < 1))
    fail("`mask_rate` {}: expected a number between 0 and 1", rates.rate);
  if (!(rates.mean_span >= 1)) fail("`mean_span` {}: expected 1 at least", rates.mean_span);
  return rates;
}

std::vector<TokenId> find_sentinels(const Tokenizer& tokenizer) {
  std::vector<TokenId> all;
  while (const auto id = tokenizer.token_to_id(fmt::format("<extra_id_{}>", all.size()))) all.push_back(*id);
  if (all.empty())
    fail(
        "span-corruption hides spans behind tokens <extra_id_0>, <extra_id_1> ...: expected a tokenizer that "
        "has them; "
        "attend tokenizer train --special-token makes one");
  return all;
}

// The number of tokens of a text for which its input has `longest` tokens with the frame's, and its target at
// most `longest_target`.
std::int64_t longest_block(const SpanRates& rates, std::int64_t longest, std::int64_t longest_target,
                           std::int64_t specials) {
  const auto fits = [&](std::int64_t length) {
    return rates.input(length) + specials <= longest && rates.target(length) + specials <= longest_target;
  };
  if (!fits(2))
    fail("`max_length` {}: expected room for a token, a sentinel and {} special tokens", longest, specials);
  std::int64_t length = 2;
  while (fits(length + 1)) ++length;
  return length;
}

// Splits `items` into this many non-empty parts.
std::vector<std::int64_t> draw_parts(std::int64_t items, std::int64_t parts, Random& random) {
  std::vector<char> begins(static_cast<std::size_t>(items - 1));  // whether a part starts after this item
  std::fill_n(begins.begin(), parts - 1, 1);
  random.shuffle(begins);
  std::vector<std::int64_t> lengths{1};
  for (const char begin : begins)
    if (begin != 0)
      lengths.push_back(1);
    else
      ++lengths.back();
  return lengths;
}

}  // namespace

std::int64_t SpanRates::hidden(std::int64_t length) const {
  const auto wanted = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(length) * rate));
  return std::clamp<std::int64_t>(wanted, 1, length - 1);
}

std::int64_t SpanRates::spans(std::int64_t length) const {
  const std::int64_t tokens = hidden(length);
  const auto wanted = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(tokens) / mean_span));
  return std::clamp<std::int64_t>(wanted, 1, std::min(tokens, length - tokens));
}

std::vector<std::int64_t> draw_spans(std::int64_t length, const SpanRates& rates, Random& random) {
  const std::int64_t hidden = rates.hidden(length), spans = rates.spans(length);
  const std::vector<std::int64_t> of_hidden = draw_parts(hidden, spans, random),
                                  of_kept = draw_parts(length - hidden, spans, random);
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < of_kept.size(); ++i) lengths.insert(lengths.end(), {of_kept[i], of_hidden[i]});
  return lengths;
}

SpanCorruption::SpanCorruption(const Setting& setting)
    : rates_(span_rates(setting.recipe)),
      rows_(read_documents_as_tokens(setting)),
      frame_(*setting.tokenizers.source, /*with_types=*/false, /*pairs=*/false),
      sentinels_(find_sentinels(*setting.tokenizers.source)),
      start_token_(start_token(setting)) {
  const std::int64_t longest = longest_block(
      rates_, longest_text(setting), readable_tokens(setting, *setting.spec.decoder), frame_.specials());
  if (rates_.spans(longest) > static_cast<std::int64_t>(sentinels_.size()))
    fail(
        "{} spans of {} tokens are hidden, and the tokenizer has {} tokens <extra_id_0>, <extra_id_1> ... "
        "for them; a "
        "smaller `max_length` or `mask_rate` or a larger `mean_span` helps",
        rates_.spans(longest), longest, sentinels_.size());
  blocks_ = pack_rows(rows_, longest);
  std::erase_if(blocks_, [](const auto& block) { return block.second - block.first < 2; });
  if (blocks_.empty())
    fail("{}: expected texts of two tokens at least: one that is hidden and one that is not",
         fmt::join(setting.files, ", "));
}

std::int64_t SpanCorruption::tokens(std::int64_t example) const {
  const auto [begin, end] = blocks_[static_cast<std::size_t>(example)];
  return std::max(rates_.input(end - begin), rates_.target(end - begin)) + frame_.specials();
}

Batch SpanCorruption::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<TokenIds> sources, targets;
  for (const std::int64_t example : examples) {
    const auto [begin, end] = blocks_[static_cast<std::size_t>(example)];
    auto next = rows_.ids().begin() + begin;
    Random random = draws.of(example);
    const std::vector<std::int64_t> lengths = draw_spans(end - begin, rates_, random);
    std::vector<TokenId> input, target;
    for (std::size_t i = 0; i < lengths.size(); i += 2) {
      const auto hidden = next + lengths[i], after = hidden + lengths[i + 1];
      input.insert(input.end(), next, hidden);
      input.push_back(sentinels_[i / 2]);
      target.push_back(sentinels_[i / 2]);
      target.insert(target.end(), hidden, after);
      next = after;
    }
    sources.push_back(frame_.one(input).ids);
    targets.push_back(frame_.one(target).ids);
  }
  return make_pairs(sources, targets, start_token_);
}

Losses SpanCorruption::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                              const LossOptions& options) const {
  return pair_losses(trainee, batch, pass, options);
}

const ObjectiveKind kSpanCorruption = {
    .name = "span-corruption",
    .summary =
        "masked spans of running text, which the decoder writes (T5): one sentence per line, an empty line "
        "between documents",
    .head = Head::conditional_generation,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<SpanCorruption>(setting);
    },
};

}  // namespace attend
