// Span corruption (Raffel et al. 2019, arXiv:1910.10683, sections 3.1.4 and 3.3): each span is replaced by a
// sentinel, <extra_id_0>, <extra_id_1> ..., and the decoder writes every sentinel and its span.
#pragma once

#include "data/token_rows.h"
#include "objectives/base/objective.h"
#include "objectives/shared/text_frame.h"

namespace attend {

// How many of a text's tokens are hidden, in how many spans: both rounded half to even, and at least one, as
// in the original.
struct SpanRates {
  double rate = 0.15, mean_span = 3;
  std::int64_t hidden(std::int64_t length) const;
  std::int64_t spans(std::int64_t length) const;
  // The inputs of encoder and decoder, without special tokens.
  std::int64_t input(std::int64_t length) const { return length - hidden(length) + spans(length); }
  std::int64_t target(std::int64_t length) const { return hidden(length) + spans(length); }
};

// The lengths of a text's spans, alternately kept and masked, kept first. All ways to cut it into this many
// spans are equally likely. `length` is at least 2.
std::vector<std::int64_t> draw_spans(std::int64_t length, const SpanRates& rates, Random& random);

class SpanCorruption : public Objective {
 public:
  // Joins adjacent sentences of a document up to the max length of the encoder's input. Throws Error if the
  // tokenizer has too few sentinels.
  explicit SpanCorruption(const Setting& setting);

  std::int64_t examples() const override { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t tokens(std::int64_t example) const override;
  Batch collate(std::span<const std::int64_t> examples, const Draws& draws) const override;
  Losses losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const override;

 private:
  SpanRates rates_;
  TokenRows rows_;
  TextFrame frame_;
  std::vector<TokenId> sentinels_;
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks_;  // [begin, end) in rows_.ids()
  std::int64_t start_token_;
};

}  // namespace attend
