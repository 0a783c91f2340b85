#include "nn/transformer/head_rows.h"

#include "nn/layers/pooling.h"

namespace attend {
namespace {

// The ids of a batch, text by text.
class Texts {
 public:
  explicit Texts(const TokenBatch& batch) : offsets_(batch.offsets), ids_(batch.ids.contiguous()) {}
  std::int64_t count() const { return offsets_.count(); }
  std::span<const std::int64_t> operator[](std::int64_t b) const {
    return {ids_.const_data<std::int64_t>() + offsets_.begin(b),
            static_cast<std::size_t>(offsets_.length(b))};
  }

 private:
  const Offsets& offsets_;
  Tensor ids_;
};

// One row per text: the one that `place` returns.
template <class Place>
Tensor rows_at(const Offsets& offsets, const Texts& texts, const Place& place) {
  std::vector<std::int64_t> rows;
  for (std::int64_t b = 0; b < texts.count(); ++b) rows.push_back(offsets.begin(b) + place(texts[b]));
  return ops::tensor(rows, kLong);
}

using IdSpan = std::span<const std::int64_t>;

std::int64_t last_of(IdSpan ids) {
  return static_cast<std::int64_t>(ids.size()) - 1;
}

// The last token that is not `padding`; the first if there is none.
std::int64_t last_but(IdSpan ids, std::int64_t padding) {
  std::int64_t place = last_of(ids);
  while (place > 0 && ids[place] == padding) --place;
  return place;
}

// The token whose index is the number of tokens that are not `padding`, minus one.
std::int64_t counted_but(IdSpan ids, std::int64_t padding) {
  const auto others = static_cast<std::int64_t>(ids.size()) - std::ranges::count(ids, padding);
  return others == 0 ? last_of(ids) : others - 1;
}

// The token before the first `padding`; the last if there is none, or if the text begins with it.
std::int64_t before_first(IdSpan ids, std::int64_t padding) {
  const auto first = std::ranges::find(ids, padding);
  return first == ids.begin() || first == ids.end() ? last_of(ids) : first - ids.begin() - 1;
}

// The last token `end`; -1 if there is none.
std::int64_t last_end(IdSpan ids, std::int64_t end) {
  std::int64_t place = last_of(ids);
  while (place >= 0 && ids[place] != end) --place;
  return place;
}

Tensor end_rows(const Offsets& targets, const TokenBatch& source, std::int64_t end) {
  if (source.offsets.count() != targets.count())
    fail("expected as many sources as targets, {}, found {}", targets.count(), source.offsets.count());
  const Texts texts(source);
  std::vector<std::int64_t> rows;
  for (std::int64_t b = 0; b < targets.count(); ++b) {
    const std::int64_t place = last_end(texts[b], end);
    if (place < 0) fail("expected the end token ({}) in every text: sequence {} has none", end, b + 1);
    if (place >= targets.length(b))
      fail(
          "expected a target of more than {} tokens for sequence {}, because its end token is at that "
          "position, found {}",
          place, b + 1, targets.length(b));
    rows.push_back(targets.begin(b) + place);
  }
  return ops::tensor(rows, kLong);
}

}  // namespace

Tensor head_row_numbers(const ScoreHeadSpec& spec, const TokenBatch& batch, const TokenBatch* source) {
  const Offsets& offsets = batch.offsets;
  const std::optional<std::int64_t>& id = spec.token_id;
  switch (spec.input) {
    case HeadInput::every_token:
    case HeadInput::mean:
    case HeadInput::text_mean:  // the mean of all of them
      return {};
    case HeadInput::pooled:
    case HeadInput::first_token:
    case HeadInput::text_begin:
      return offsets.first_rows();
    case HeadInput::last_column:
    case HeadInput::chosen_token:
      return offsets.last_rows();
    case HeadInput::last_token:
      if (!id) return offsets.last_rows();
      return rows_at(offsets, Texts(batch), [&](IdSpan ids) { return last_but(ids, *id); });
    case HeadInput::counted_column:
      if (!id) return offsets.last_rows();
      return rows_at(offsets, Texts(batch), [&](IdSpan ids) { return counted_but(ids, *id); });
    case HeadInput::before_token:
      if (!id) return offsets.last_rows();
      return rows_at(offsets, Texts(batch), [&](IdSpan ids) { return before_first(ids, *id); });
    case HeadInput::end_token:
      if (!source)
        fail("this head searches for the end token of the encoder's input: expected a source text");
      return end_rows(offsets, *source, id.value());
  }
  fail("unknown head input");
}

Tensor head_rows(const ScoreHeadSpec& spec, const TokenBatch& batch, const Tensor& hidden,
                 const TokenBatch* source) {
  if (spec.input == HeadInput::mean || spec.input == HeadInput::text_mean)
    return pool(hidden, batch.offsets, SentencePooling::Mode::mean);
  const Tensor rows = head_row_numbers(spec, batch, source);
  return rows.defined() ? hidden.index_select(0, rows) : hidden;
}

}  // namespace attend
