#include "objectives/masked_language_model.h"

#include "models/padded/forward.h"
#include "objectives/base/kinds.h"
#include "objectives/shared/languages.h"
#include "objectives/shared/token_ids.h"
#include "tokenizers/files/directory_facts.h"

#include <algorithm>

namespace attend {

MaskOptions mask_options(const Recipe& recipe) {
  const std::int64_t usual = recipe.objective == "sentence-order" ? 3 : 1;
  return {.rate = recipe.noise.mask_rate.value_or(0.15),
          .whole_words = recipe.noise.whole_words,
          .ngram = recipe.noise.ngram > 0 ? recipe.noise.ngram : usual};
}

bool with_types(const Setting& setting) {
  return takes_types(setting.spec) && tokenizers::gives_token_types(setting.directory.path());
}

TokenRows read_documents_as_tokens(const Setting& setting) {
  return read_documents_as_tokens(setting, setting.files);
}

TokenRows read_documents_as_tokens(const Setting& setting, const std::vector<std::string>& files) {
  TokenizeOptions options;
  options.cache_directory = setting.recipe.data.cache;
  options.tokenizer = setting.directory.path();
  return tokenize_documents(plain_tokenizer(setting), files, options);
}

std::vector<std::pair<std::int64_t, std::int64_t>> pack_rows(const TokenRows& rows, std::int64_t longest) {
  if (longest < 1) fail("a text of {} tokens has no room for one of its own", longest);
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks;
  std::int64_t at = 0;  // in ids
  for (std::int64_t group = 0; group < rows.groups(); ++group) {
    bool open = false;  // the last block may take more
    for (std::int64_t row = rows.first_of_group(group); row < rows.first_of_group(group + 1); ++row) {
      const std::int64_t end = at + rows.length(row);
      if (open && end - blocks.back().first <= longest) {
        blocks.back().second = end;
        at = end;
        continue;
      }
      for (; at < end; at = blocks.back().second) blocks.emplace_back(at, std::min(end, at + longest));
      open = true;
    }
  }
  return blocks;
}

MaskedLanguageModel::MaskedLanguageModel(const Setting& setting, const MaskOptions& options)
    : frame_(*setting.tokenizers.source, with_types(setting), false), masking_(setting, options) {
  const StackSpec& stack = setting.spec.encoder ? *setting.spec.encoder : *setting.spec.decoder;
  if (stack.layers.front().self_attention.causal)
    fail(
        "{}: causal: the model sees only earlier tokens; expected false for hidden tokens (causal-lm "
        "predicts "
        "the next one)",
        setting.directory.config().source());
  const std::vector<std::int64_t> languages = file_languages(setting);
  if (languages.empty()) sources_.push_back({read_documents_as_tokens(setting), {}});
  for (std::size_t i = 0; i < languages.size(); ++i)
    sources_.push_back({read_documents_as_tokens(setting, {setting.files[i]}), languages[i]});
  const std::int64_t longest = longest_text(setting) - frame_.specials();
  for (std::size_t i = 0; i < sources_.size(); ++i)
    for (const auto& [begin, end] : pack_rows(sources_[i].rows, longest)) blocks_.push_back({i, begin, end});
}

std::int64_t MaskedLanguageModel::tokens(std::int64_t example) const {
  const Block& block = blocks_[static_cast<std::size_t>(example)];
  return block.end - block.begin + frame_.specials();
}

Batch hide_tokens(std::vector<EncodedText> texts, const Masking& masking,
                  std::span<const std::int64_t> examples, const Draws& draws) {
  std::vector<TokenIds> labels;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Random random = draws.of(examples[i]);
    labels.push_back(masking.hide(texts[i].ids, random));
  }
  Batch batch;
  batch.tokens = make_batch(texts);
  batch.token_labels = joined(labels);
  batch.counts = {count_labels(batch.token_labels)};
  return batch;
}

Batch MaskedLanguageModel::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<EncodedText> texts;
  std::vector<TokenIds> languages;
  for (const std::int64_t example : examples) {
    const Block& block = blocks_[static_cast<std::size_t>(example)];
    const Source& source = sources_[block.source];
    texts.push_back(frame_.one(source.rows.ids().subspan(static_cast<std::size_t>(block.begin),
                                                         static_cast<std::size_t>(block.end - block.begin))));
    if (source.language) languages.emplace_back(texts.back().ids.size(), *source.language);
  }
  Batch batch = hide_tokens(std::move(texts), masking_, examples, draws);
  if (!languages.empty()) batch.tokens.languages = joined(languages);
  return batch;
}

TokenPredictions predict_tokens(Transformer model, const Batch& batch, Pass& pass,
                                const LossOptions& options) {
  const TokenBatch tokens = batch.tokens;
  const std::optional<RouterLoss>& balance = model->spec().router_loss;
  Capture capture;
  capture.routing = true;
  Capture* const given = pass.capture;
  if (balance) pass.capture = &capture;
  const Tensor hidden = model->decoder ? model->decode(tokens, pass) : model->encode(tokens, pass);
  pass.capture = given;
  const Tensor labels = batch.token_labels;
  return {hidden, model->language_model_head->loss(hidden, labels, options, pass).sum,
          balance ? router_loss(capture.decoder.routing, balance->chosen) : Tensor()};
}

Losses MaskedLanguageModel::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                                   const LossOptions& options) const {
  const TokenPredictions made = predict_tokens(trainee, batch, pass, options);
  return {{made.loss}, made.loss.detach(), made.hidden};
}

const ObjectiveKind kMaskedLanguageModel = {
    .name = "masked-lm",
    .summary = "masked tokens of running text, one sentence per line, an empty line between documents",
    .head = Head::masked_language_model,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<MaskedLanguageModel>(setting, mask_options(setting.recipe));
    },
};

}  // namespace attend
