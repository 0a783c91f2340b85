#include "objectives/denoising.h"

#include "objectives/base/kinds.h"
#include "objectives/masked_language_model.h"
#include "objectives/sequence_to_sequence.h"
#include "objectives/shared/text_noise.h"

#include <algorithm>
#include <numeric>

namespace attend {
namespace {

NoiseOptions noise_options(const Recipe& recipe) {
  const NoiseOptions options{.permute_share = recipe.permute_sentences,
                             .delete_rate = recipe.delete_rate,
                             .mask_rate = recipe.mask_rate.value_or(0.3),
                             .mask_spans = recipe.infilling == "spans",
                             .mean_span = recipe.mean_span,
                             .rotate_share = recipe.rotate};
  const auto check_share = [](const char* option, double value) {
    if (!(value >= 0 && value <= 1)) fail("`{}` {}: expected a number from 0 to 1", option, value);
  };
  check_share("permute_sentences", options.permute_share);
  check_share("delete_rate", options.delete_rate);
  check_share("mask_rate", options.mask_rate);
  check_share("rotate", options.rotate_share);
  if (!options.mask_spans && recipe.infilling != "tokens")
    fail("`infilling` {}: expected spans or tokens", recipe.infilling);
  if (!(options.mean_span >= 1)) fail("`mean_span` {}: expected 1 at least", options.mean_span);
  return options;
}

}  // namespace

Denoising::Denoising(const Setting& setting)
    : options_(noise_options(setting.recipe)),
      rows_(read_documents_as_tokens(setting)),
      frame_(*setting.tokenizers.source, /*with_types=*/false, /*pairs=*/false),
      mask_(static_cast<TokenId>(find_mask_token(setting.directory, *setting.tokenizers.source))),
      longest_(std::min(longest_text(setting), readable_tokens(setting, *setting.spec.decoder)) -
               frame_.specials()),
      blocks_(pack_rows(rows_, longest_)),
      start_token_(start_token(setting)) {}

std::int64_t Denoising::tokens(std::int64_t example) const {
  const auto [begin, end] = blocks_[static_cast<std::size_t>(example)];
  return end - begin + frame_.specials();
}

std::vector<std::span<const TokenId>> Denoising::sentences(std::int64_t begin, std::int64_t end) const {
  const auto start = [&](std::int64_t row) { return rows_[row].data() - rows_.ids().data(); };
  // From the first sentence that starts after `begin`; rows are never empty.
  std::int64_t row = 0;
  for (std::int64_t rest = rows_.count(); rest > 0;) {
    const std::int64_t half = rest / 2;
    if (start(row + half) <= begin) {
      row += half + 1;
      rest -= half + 1;
    } else {
      rest = half;
    }
  }
  std::vector<std::span<const TokenId>> parts;
  for (std::int64_t at = begin; at < end; ++row) {
    const std::int64_t next = row < rows_.count() ? std::min<std::int64_t>(start(row), end) : end;
    parts.push_back(rows_.ids().subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(next - at)));
    at = next;
  }
  return parts;
}

Batch Denoising::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<TokenIds> sources, targets;
  for (const std::int64_t example : examples) {
    const auto [begin, end] = blocks_[static_cast<std::size_t>(example)];
    const auto whole =
        rows_.ids().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    Random random = draws.of(example);
    std::vector<TokenId> text(whole.begin(), whole.end());
    if (random.uniform() < options_.permute_share) text = permute_sentences(sentences(begin, end), random);
    if (options_.delete_rate > 0) delete_tokens(text, options_.delete_rate, random);
    if (options_.mask_spans)
      fill_in_spans(text, mask_, options_.mask_rate, options_.mean_span, longest_, random);
    else
      mask_tokens(text, mask_, options_.mask_rate, random);
    if (random.uniform() < options_.rotate_share) rotate_text(text, random);
    sources.push_back(frame_.one(text).ids);
    targets.push_back(frame_.one(whole).ids);
  }
  return make_pairs(sources, targets, start_token_);
}

Losses Denoising::losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const {
  return pair_losses(trainee, batch, pass, options);
}

const ObjectiveKind kDenoising = {
    .name = "denoising",
    .summary =
        "the original of a corrupted running text (BART): one sentence per line, an empty line between "
        "documents",
    .head = Head::conditional_generation,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<Denoising>(setting);
    },
};

}  // namespace attend
