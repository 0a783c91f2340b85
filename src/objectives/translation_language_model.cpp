#include "objectives/translation_language_model.h"

#include "base/file.h"
#include "base/log.h"
#include "objectives/base/kinds.h"
#include "objectives/masked_language_model.h"
#include "objectives/shared/languages.h"

namespace attend {

TranslationLanguageModel::TranslationLanguageModel(const Setting& setting)
    : frame_(*setting.tokenizers.source, with_types(setting), true),
      masking_(setting, mask_options(setting.recipe)),
      languages_(file_languages(setting)) {
  const StackSpec& stack = setting.spec.encoder ? *setting.spec.encoder : *setting.spec.decoder;
  if (stack.layers.front().self_attention.causal)
    fail("{}: the model sees only earlier tokens; expected one that sees all for hidden tokens",
         setting.directory.path().string());
  specials_ = languages_.empty() ? frame_.pair_specials() : 2 * frame_.specials();
  const std::vector<std::string>& files = setting.files;
  if (files.size() != 2)
    fail("`objective` translation-lm: expected two files, a sentence a line and its translation, found {}",
         files.size());
  const std::vector<std::string> first = read_lines(files[0]), second = read_lines(files[1]);
  if (first.size() != second.size())
    fail("{} has {} lines and {} has {}: line n of one must belong to line n of the other", files[0],
         first.size(), files[1], second.size());
  const Tokenizer tokenizer = plain_tokenizer(setting);
  const EncodeOptions plain = {.special_tokens = false, .with_details = false};
  std::vector<Encoding> firsts = tokenizer.encode_batch(first, plain),
                        seconds = tokenizer.encode_batch(second, plain);
  const std::int64_t longest = longest_text(setting);
  std::size_t empty = 0, too_long = 0;
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    Pair pair = {std::move(firsts[i].ids), std::move(seconds[i].ids)};
    const auto length = static_cast<std::int64_t>(pair.first.size() + pair.second.size()) + specials_;
    if (pair.first.empty() || pair.second.empty())
      ++empty;
    else if (length > longest)
      ++too_long;
    else
      pairs_.push_back(std::move(pair));
  }
  if (empty > 0) warn("left out {} pairs with an empty side", empty);
  if (too_long > 0) warn("left out {} pairs with more than {} tokens together", too_long, longest);
  if (pairs_.empty()) fail("{}, {}: no pair of lines is left to learn from", files[0], files[1]);
}

std::int64_t TranslationLanguageModel::tokens(std::int64_t example) const {
  const Pair& pair = pairs_[static_cast<std::size_t>(example)];
  return static_cast<std::int64_t>(pair.first.size() + pair.second.size()) + specials_;
}

EncodedText TranslationLanguageModel::framed(const Pair& pair, std::int64_t& first_length) const {
  if (languages_.empty()) return frame_.two(pair.first, pair.second);
  EncodedText text = frame_.one(pair.first), second = frame_.one(pair.second);
  first_length = static_cast<std::int64_t>(text.ids.size());
  text.ids.insert(text.ids.end(), second.ids.begin(), second.ids.end());
  text.types.insert(text.types.end(), second.types.begin(), second.types.end());
  return text;
}

Batch TranslationLanguageModel::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<EncodedText> texts;
  TokenIds positions, languages;
  for (const std::int64_t example : examples) {
    std::int64_t first_length = 0;
    texts.push_back(framed(pairs_[static_cast<std::size_t>(example)], first_length));
    if (languages_.empty()) continue;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(texts.back().ids.size()); ++i) {
      const bool second = i >= first_length;
      positions.push_back(second ? i - first_length : i);
      languages.push_back(languages_[second ? 1 : 0]);
    }
  }
  Batch batch = hide_tokens(std::move(texts), masking_, examples, draws);
  if (languages_.empty()) return batch;
  batch.tokens.positions = ops::tensor(positions, kLong);  // [T]
  batch.tokens.positions_given = true;
  batch.tokens.languages = ops::tensor(languages, kLong);  // [T]
  return batch;
}

Losses TranslationLanguageModel::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                                        const LossOptions& options) const {
  const TokenPredictions made = predict_tokens(trainee, batch, pass, options);
  return {.sums = {made.loss}, .hidden = made.hidden};
}

const ObjectiveKind kTranslationLanguageModel = {
    .name = "translation-lm",
    .summary =
        "masked tokens of a sentence and its translation, read together: two files, line by line (XLM)",
    .head = Head::masked_language_model,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<TranslationLanguageModel>(setting);
    },
};

}  // namespace attend
