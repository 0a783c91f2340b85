#include "objectives/permutation_language_model.h"

#include "models/padded/forward.h"
#include "objectives/base/kinds.h"
#include "objectives/masked_language_model.h"
#include "tokenizers/files/directory_facts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attend {
namespace {

PredictedSpans predicted_spans(const Recipe& recipe) {
  PredictedSpans spans;
  spans.rate = recipe.mask_rate.value_or(spans.rate);
  if (!(spans.rate > 0 && spans.rate < 1))
    fail("`mask_rate` {}: expected a number between 0 and 1", spans.rate);
  if (!(recipe.mean_span >= 1 && recipe.mean_span <= 1e6))
    fail("`mean_span` {}: expected 1 at least and a million at most", recipe.mean_span);
  spans.longest = std::lround(2 * recipe.mean_span - 1);  // the mean of 1 to 5 is 3
  return spans;
}

}  // namespace

std::vector<std::int64_t> draw_predicted(std::int64_t length, const PredictedSpans& spans, Random& random) {
  const auto below = [&](std::int64_t count) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
  };
  std::vector<std::int64_t> predicted;
  for (std::int64_t begin = 0; begin < length;) {
    const std::int64_t span = 1 + below(spans.longest);
    const auto piece = static_cast<std::int64_t>(static_cast<double>(span) / spans.rate);
    const std::int64_t first = begin + below(piece - span + 1);
    for (std::int64_t token = first; token < std::min(first + span, length); ++token)
      predicted.push_back(token);
    begin += piece;
  }
  return predicted;
}

PermutedText permute(const EncodedText& text, const std::vector<bool>& special, const PredictedSpans& spans,
                     Random& random) {
  const auto is_special = [&](std::int64_t token) { return special[static_cast<std::size_t>(token)]; };
  const auto length = static_cast<std::int64_t>(text.ids.size());
  PermutedText permuted{.ids = text.ids, .types = text.types, .order = TokenIds(text.ids.size(), -1)};
  permuted.predicted = draw_predicted(length, spans, random);
  std::erase_if(permuted.predicted, is_special);
  if (permuted.predicted.empty()) {  // a text shorter than its span's piece
    std::vector<std::int64_t> choices;
    for (std::int64_t token = 0; token < length; ++token)
      if (!is_special(token)) choices.push_back(token);
    if (!choices.empty()) permuted.predicted.push_back(choices[random.below(choices.size())]);
  }
  // The first token in the order is predicted from the unpredicted ones, so some must be left.
  if (permuted.predicted.size() == text.ids.size())
    permuted.predicted.erase(permuted.predicted.begin() +
                             static_cast<std::ptrdiff_t>(random.below(text.ids.size())));
  std::vector<std::int64_t> ranks(permuted.predicted.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  random.shuffle(ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    permuted.order[static_cast<std::size_t>(permuted.predicted[i])] = ranks[i];
  return permuted;
}

PermutationLanguageModel::PermutationLanguageModel(const Setting& setting)
    : spans_(predicted_spans(setting.recipe)),
      rows_(read_documents_as_tokens(setting)),
      frame_(*setting.tokenizers.source,
             takes_types(setting.spec) && tokenizers::gives_token_types(setting.directory.path()), false),
      blocks_(pack_rows(rows_, longest_text(setting) - frame_.specials())) {
  std::erase_if(blocks_,
                [&](const auto& block) { return block.second - block.first + frame_.specials() < 2; });
  if (setting.spec.encoder->looks_back || setting.spec.encoder->half_backwards)
    fail("{}: a permutation is learned with attn_type \"bi\" and without bi_data",
         setting.directory.path().string());
  if (blocks_.empty())
    fail("{}: expected texts of two tokens at least: one to predict and one to predict it from",
         fmt::join(setting.files, ", "));
}

std::int64_t PermutationLanguageModel::tokens(std::int64_t example) const {
  const auto [begin, end] = blocks_[static_cast<std::size_t>(example)];
  return end - begin + frame_.specials();
}

Batch PermutationLanguageModel::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<PermutedText> texts;
  for (const std::int64_t example : examples) {
    const auto [begin, end] = blocks_[static_cast<std::size_t>(example)];
    const EncodedText text = frame_.one(
        rows_.ids().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    std::vector<bool> special;
    for (const std::int64_t id : text.ids) special.push_back(frame_.is_special(id));
    Random random = draws.of(example);
    texts.push_back(permute(text, special, spans_, random));
  }
  const TwoStreams streams = two_streams(texts);
  Batch batch;
  batch.tokens = streams.batch;
  batch.token_labels = ops::full({streams.batch.offsets.total()}, kIgnoredLabel, kLong)
                           .index_copy_(0, streams.targets, streams.labels);
  batch.counts = {streams.labels.numel()};
  return batch;
}

Losses PermutationLanguageModel::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                                        const LossOptions& options) const {
  return {{predict_tokens(trainee, batch, pass, options).loss}};
}

const ObjectiveKind kPermutationLanguageModel = {
    .name = "permutation-lm",
    .summary =
        "tokens of running text in any order (XLNet): one sentence per line, an empty line between documents",
    .head = Head::permutation_language_model,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<PermutationLanguageModel>(setting);
    },
};

}  // namespace attend
