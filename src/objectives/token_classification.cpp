#include "objectives/token_classification.h"

#include "base/characters.h"
#include "base/log.h"
#include "base/parallel.h"
#include "data/labeled_texts.h"
#include "objectives/base/kinds.h"
#include "objectives/shared/label_choice.h"
#include "objectives/shared/label_numbers.h"
#include "objectives/shared/meters.h"
#include "objectives/shared/text_scores.h"
#include "objectives/shared/token_ids.h"

#include <atomic>

namespace attend {
namespace {

std::vector<std::string> tags_of(const std::vector<TaggedSentence>& sentences) {
  std::vector<std::string> names;
  for (const TaggedSentence& sentence : sentences)
    names.insert(names.end(), sentence.tags.begin(), sentence.tags.end());
  return in_label_order(std::move(names));
}

}  // namespace

std::vector<std::int64_t> first_pieces(const Encoding& encoding, std::span<const std::string> words) {
  std::vector<std::size_t> ends;  // of each word, in characters of the text
  for (const std::string& word : words)
    ends.push_back((ends.empty() ? 0 : ends.back() + 1) + Characters(word).size());
  std::vector<std::int64_t> pieces(encoding.ids.size(), -1);
  std::size_t next = 0;  // the first word that has no token yet
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (encoding.sequence_ids[i] < 0) continue;
    // Tokens that end before the word are skipped; a space before the word belongs to it.
    const auto word =
        static_cast<std::size_t>(std::ranges::upper_bound(ends, encoding.offsets[i].begin) - ends.begin());
    if (word < next || word >= ends.size()) continue;
    pieces[i] = static_cast<std::int64_t>(word);
    next = word + 1;
  }
  return pieces;
}

TokenClassification::TokenClassification(const Setting& setting) {
  const std::vector<TaggedSentence> rows = read_tagged_words(setting.files, table_options(setting));
  labels_ = choose_labels(setting, setting.labels ? std::vector<std::string>() : tags_of(rows), {});
  const TextEncoder encoder(setting);
  sentences_.resize(rows.size());
  std::atomic<std::size_t> words = 0, lost = 0;
  parallel_for(rows.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      words += rows[i].words.size();
      lost += read(encoder, rows[i], sentences_[i]);
    }
  });
  if (lost > 0)
    inform(
        "{} of {} words are ignored: they are after the first {} tokens, the maximum for a sentence, or have "
        "no token",
        lost.load(), words.load(), longest_text(setting));
}

std::size_t TokenClassification::read(const TextEncoder& encoder, const TaggedSentence& words,
                                      Sentence& sentence) const {
  const std::string text = fmt::format("{}", fmt::join(words.words, " "));
  const Encoding encoding = encoder.tokenizer().encode(text);
  if (encoding.ids.empty()) fail("a sentence has no token: \"{:.60}\"", text);
  sentence.text.ids.assign(encoding.ids.begin(), encoding.ids.end());
  if (encoder.with_types()) sentence.text.types.assign(encoding.type_ids.begin(), encoding.type_ids.end());
  std::size_t found = 0;
  for (const std::int64_t word : first_pieces(encoding, words.words)) {
    sentence.labels.push_back(word < 0 ? kIgnoredLabel : number_of(words, static_cast<std::size_t>(word)));
    found += word >= 0 ? 1 : 0;
  }
  return words.words.size() - found;
}

std::int64_t TokenClassification::number_of(const TaggedSentence& sentence, std::size_t word) const {
  if (const auto number = find_label(labels_, sentence.tags[word])) return *number;
  return label_number(
      labels_, sentence.tags[word],
      fmt::format("{}, in the sentence that begins there, \"{}\"", sentence.place, sentence.words[word]));
}

std::int64_t TokenClassification::tokens(std::int64_t example) const {
  return static_cast<std::int64_t>(sentences_[static_cast<std::size_t>(example)].labels.size());
}

Batch TokenClassification::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<const EncodedText*> texts;
  std::vector<TokenIds> labels;
  for (const std::int64_t example : examples) {
    const Sentence& sentence = sentences_[static_cast<std::size_t>(example)];
    texts.push_back(&sentence.text);
    labels.push_back(sentence.labels);
  }
  Batch batch;
  batch.tokens = make_batch(texts);
  batch.labels = joined(labels);  // [T]
  batch.counts = {count_labels(batch.labels)};
  return batch;
}

Losses TokenClassification::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                                   const LossOptions& options) const {
  Tensor hidden;
  const Tensor scores = text_scores(trainee.model(), batch.tokens, pass, &hidden);  // [T, labels]
  return {{cross_entropy(scores, batch.labels, options).sum}, scores, hidden};
}

std::unique_ptr<Meter> TokenClassification::meter() const {
  return tag_meter(labels_.names);
}

const ObjectiveKind kTokenClassification = {
    .name = "token-classification",
    .summary = "a tag for each word: a word and its tag per line, an empty line between sentences",
    .head = Head::token_classification,
    .fine_tunes = true,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<TokenClassification>(setting);
    },
};

}  // namespace attend
