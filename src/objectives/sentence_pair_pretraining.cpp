#include "objectives/sentence_pair_pretraining.h"

#include "objectives/base/kinds.h"
#include "objectives/masked_language_model.h"

namespace attend {

SentencePairPretraining::SentencePairPretraining(const Setting& setting, PairTask task)
    : rows_(read_documents_as_tokens(setting)),
      task_(task),
      frame_(*setting.tokenizers.source, with_types(setting), true),
      masking_(setting, mask_options(setting.recipe)),
      longest_(longest_text(setting) - frame_.pair_specials()),
      pairs_(draw_pairs(rows_, task_, longest_, {})) {}

std::vector<Term> SentencePairPretraining::terms() const {
  return {{"masked words"}, {task_ == PairTask::next_sentence ? "next sentence" : "sentence order"}};
}

void SentencePairPretraining::begin_epoch(std::uint64_t seed, std::int64_t epoch) {
  pairs_ = draw_pairs(rows_, task_, longest_, {seed, epoch});
}

std::int64_t SentencePairPretraining::tokens(std::int64_t example) const {
  const SentencePair& pair = pairs_[static_cast<std::size_t>(example)];
  return pair.first.length() + pair.second.length() + frame_.pair_specials();
}

Batch SentencePairPretraining::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  const auto ids = [&](const Piece& piece) {
    return rows_.ids().subspan(static_cast<std::size_t>(piece.begin),
                               static_cast<std::size_t>(piece.length()));
  };
  std::vector<EncodedText> texts;
  TokenIds labels;
  for (const std::int64_t example : examples) {
    const SentencePair& pair = pairs_[static_cast<std::size_t>(example)];
    texts.push_back(frame_.two(ids(pair.first), ids(pair.second)));
    labels.push_back(pair.label);
  }
  Batch batch = hide_tokens(std::move(texts), masking_, examples, draws);
  batch.labels = ops::tensor(labels, kLong);  // [B]
  batch.counts.push_back(batch.labels.numel());
  return batch;
}

Losses SentencePairPretraining::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                                       const LossOptions& options) const {
  Transformer model = trainee.network();
  const TokenPredictions words = predict_tokens(model, batch, pass, options);
  const Tensor scores =
      model->score_head(model->pooler(words.hidden, batch.tokens.offsets, pass), pass);  // [B, 2]
  return {.sums = {words.loss, cross_entropy(scores, batch.labels, options).sum}, .hidden = words.hidden};
}

namespace {

template <PairTask task>
std::unique_ptr<Objective> make_sentence_pair(const Setting& setting) {
  return std::make_unique<SentencePairPretraining>(setting, task);
}

}  // namespace

const ObjectiveKind kNextSentence = {
    .name = "next-sentence",
    .summary = "masked tokens, and whether a second segment follows or is from another document (BERT)",
    .head = Head::pretraining,
    .make = make_sentence_pair<PairTask::next_sentence>,
};
const ObjectiveKind kSentenceOrder = {
    .name = "sentence-order",
    .summary = "masked tokens, and whether two segments are swapped (ALBERT)",
    .head = Head::pretraining,
    .make = make_sentence_pair<PairTask::sentence_order>,
};

}  // namespace attend
