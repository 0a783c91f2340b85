// Tokens for masked positions (Devlin et al. 2018, section 3.1).
#include <attend/tasks.h>

#include "base/log.h"
#include "tasks/texts/text_model.h"
#include "tokenizers/text/clean_up.h"

#include <algorithm>

namespace attend {
namespace {

std::string decode(const TextModel& model, std::span<const TokenId> ids, bool skip_special_tokens) {
  std::string text = model.tokenizer().decode(ids, skip_special_tokens);
  if (model.cleans_up()) tokenizers::clean_up(text);
  return text;
}

// The candidate tokens: each target, or the first token of a target that is not a token.
std::vector<std::int64_t> find_targets(const TextModel& model, const std::vector<std::string>& targets) {
  std::vector<std::int64_t> ids;
  for (const std::string& target : targets) {
    std::optional<TokenId> id = model.tokenizer().token_to_id(target);
    if (!id) {
      const Encoding encoding =
          model.tokenizer().encode(target, {.special_tokens = false, .with_details = false});
      if (encoding.ids.empty()) {
        warn("the target '{}' has no token, so it is left out", target);
        continue;
      }
      id = encoding.ids.front();
      warn("the target '{}' is not a token of the vocabulary; using its first token '{}'", target,
           model.tokenizer().id_to_token(*id).value_or(""));
    }
    if (std::ranges::find(ids, *id) == ids.end()) ids.push_back(*id);
  }
  if (!targets.empty() && ids.empty())
    fail("none of the targets has a token: expected at least one that does");
  return ids;
}

std::vector<std::int64_t> places_of(TokenId token, const Encoding& encoding) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i)
    if (encoding.ids[i] == token) places.push_back(static_cast<std::int64_t>(i));
  return places;
}

// The text with `token` at `place`.
std::string fill_in(const TextModel& model, std::vector<TokenId> ids, std::int64_t place, TokenId token,
                    bool only_mask) {
  ids[static_cast<std::size_t>(place)] = token;
  if (const auto padding = model.special_token("pad_token")) std::erase(ids, *padding);
  // Other masks are special tokens, which must be kept.
  return decode(model, ids, /*skip_special_tokens=*/only_mask);
}

// The positions of the masks in each text. Throws Error for a text without a mask.
TextModel::RowNumbers find_masks(const TextModel& model, const std::vector<std::string>& texts,
                                 const std::vector<Encoding>& encodings) {
  const ErrorScope scope(ErrorKind::input);
  const TokenId mask = model.mask_token();
  TextModel::RowNumbers masks;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    masks.push_back(places_of(mask, encodings[i]));
    if (!masks.back().empty()) continue;
    const bool cut = !encodings[i].overflowing.empty();
    fail("{} has nothing to fill in: expected {} somewhere in \"{:.60}\"{}", name_of_text(i, texts.size()),
         model.tokenizer().id_to_token(mask).value_or(""), texts[i], cut ? " as it was cut off" : "");
  }
  return masks;
}

}  // namespace

MaskFiller::MaskFiller(const ModelPath& model) : model_(TextModel::with_token_scores(model)) {
  model_->mask_token();
}

std::string MaskFiller::mask() const {
  return model_->tokenizer().id_to_token(model_->mask_token()).value_or("");
}

std::vector<std::vector<std::vector<Filling>>> MaskFiller::fill(const std::vector<std::string>& texts,
                                                                const FillOptions& options) {
  const std::vector<std::int64_t> targets = find_targets(*model_, options.targets);
  if (options.top_k < 1) fail("top_k: expected at least 1, found 0");
  const std::vector<Encoding> encodings = model_->encode(texts, options);
  const TextModel::RowNumbers masks = find_masks(*model_, texts, encodings);
  std::vector<std::vector<std::vector<Filling>>> results(texts.size());
  model_->score_tokens(encodings, masks, options, [&](std::size_t i, const Tensor& scores) {
    Tensor chances = ops::softmax(scores, -1);  // [masks, V]
    if (!targets.empty()) chances = chances.index_select(1, ops::tensor(targets, kLong));
    const auto count = static_cast<std::int64_t>(
        std::min<std::size_t>(options.top_k, static_cast<std::size_t>(chances.size(1))));
    const auto [values, best] = chances.topk(count);
    const std::vector<float> likely = numbers(values);
    for (std::size_t m = 0; m < masks[i].size(); ++m) {
      std::vector<Filling>& fillings = results[i].emplace_back();
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t rank = best[static_cast<std::int64_t>(m)][k].item<std::int64_t>();
        const auto token =
            static_cast<TokenId>(targets.empty() ? rank : targets[static_cast<std::size_t>(rank)]);
        fillings.push_back({likely[m * static_cast<std::size_t>(count) + static_cast<std::size_t>(k)], token,
                            decode(*model_, std::vector<TokenId>{token}, false),
                            fill_in(*model_, encodings[i].ids, masks[i][m], token, masks[i].size() == 1)});
      }
    }
  });
  return results;
}

}  // namespace attend
