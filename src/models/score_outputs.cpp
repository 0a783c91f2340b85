#include "models/score_outputs.h"

#include "models/forward_parts.h"

namespace attend {
namespace {

// scores [n, labels] against n label numbers; those equal to kIgnoredLabel do not count.
Tensor label_loss(const Tensor& scores, const Tensor& labels, std::string_view name) {
  const Tensor flat = labels.reshape(-1).to(at::kLong);
  if (flat.numel() != scores.size(0))
    fail("{}: expected {} numbers, found {}", name, scores.size(0), flat.numel());
  if (flat.lt(0).logical_and(flat.ne(kIgnoredLabel)).logical_or(flat.ge(scores.size(1))).any().item<bool>())
    fail("{}: expected numbers from 0 to {}", name, scores.size(1) - 1);
  return at::cross_entropy_loss(scores, flat, {}, at::Reduction::Mean, kIgnoredLabel);
}

// The mean of both ends' losses. A position outside the text does not count (transformers' own rule).
Tensor span_loss(const Tensor& start, const Tensor& end, const Tensor& starts, const Tensor& ends) {
  const std::int64_t length = start.size(1);
  const auto loss = [&](const Tensor& scores, const Tensor& place) {
    return at::cross_entropy_loss(scores, place.reshape(-1).to(at::kLong).clamp(0, length), {},
                                  at::Reduction::Mean, length);
  };
  return (loss(start, starts) + loss(end, ends)) / 2;
}

// The row of each text's last token whose id is not `padding`; its first where there is none.
Tensor last_rows(const TokenBatch& batch, std::optional<std::int64_t> padding) {
  const Offsets& offsets = batch.offsets;
  if (!padding && offsets.count() > 1)
    fail("without pad_token_id in config.json this model scores one text at a time, found {}",
         offsets.count());
  Tensor last = offsets.last_rows();
  if (!padding) return last;
  const auto ids = batch.ids.accessor<std::int64_t, 1>();
  auto row = last.accessor<std::int64_t, 1>();
  for (std::int64_t b = 0; b < offsets.count(); ++b) {
    while (row[b] > offsets.begin(b) && ids[row[b]] == *padding) --row[b];
    // Nothing but padding: the original then takes the first token.
    if (ids[row[b]] == *padding) row[b] = offsets.begin(b);
  }
  return last;
}

// The row before each text's first token of id `padding`; its last where there is none, or where it begins
// so.
Tensor rows_before(const TokenBatch& batch, std::optional<std::int64_t> padding) {
  Tensor row = last_rows(batch, padding);  // checks that there is an id where one is needed
  if (!padding) return row;
  row = batch.offsets.last_rows();
  const auto ids = batch.ids.accessor<std::int64_t, 1>();
  for (std::int64_t b = 0; b < batch.offsets.count(); ++b) {
    const std::int64_t begin = batch.offsets.begin(b);
    for (std::int64_t t = begin + batch.offsets.length(b) - 1; t > begin; --t)
      if (ids[t] == *padding) row[b] = t - 1;
    if (ids[begin] == *padding) row[b] = begin + batch.offsets.length(b) - 1;
  }
  return row;
}

// 1 for what belongs to the question [B, L], which ends behind the first token of id `end`, or is as long as
// the input question_lengths says.
Tensor question_mask(std::int64_t end, const Tensors& inputs) {
  const Tensor ids = find(inputs, "input_ids"), given = find(inputs, "question_lengths");
  if (given.defined() && given.numel() != ids.size(0))
    fail("question_lengths: expected one for each of {} texts, found {}", ids.size(0), given.numel());
  const Tensor lengths = given.defined() ? given.reshape({-1, 1}).to(at::kLong)
                                         : ids.eq(end).to(at::kInt).argmax(1, /*keepdim=*/true) + 1;
  return at::arange(ids.size(1)).unsqueeze(0).lt(lengths).to(at::kLong);
}

// The decoder's row in the column where the encoder's input has its last token of this id.
Tensor end_rows(const ScoreRows& rows, std::int64_t id) {
  const Tensor ends = rows.source->ids().eq(id), counts = ends.sum(1);
  if (ends.sizes() != rows.layout.ids().sizes())
    fail(
        "decoder_input_ids: expected the shape [{}] of input_ids, whose end tokens are looked up, found [{}]",
        fmt::join(ends.sizes(), ", "), fmt::join(rows.layout.ids().sizes(), ", "));
  if (counts.min().item<std::int64_t>() == 0 || !counts.eq(counts[0]).all().item<bool>())
    fail("input_ids: expected the same number of end tokens ({}), one at least, in every text", id);
  const Tensor columns = at::arange(ends.size(1)).mul(ends).argmax(1);
  return rows.layout.rows_at(columns, "the last end token");
}

// What the head reads: [B or T, d].
Tensor read_rows(const ScoreHeadSpec& spec, const Tensors& inputs, const ScoreRows& rows) {
  const auto pick = [&](const Tensor& index) { return rows.hidden.index_select(0, index); };
  switch (spec.input) {
    case HeadInput::pooled:
      return rows.pooled;
    case HeadInput::every_token:
      return rows.hidden;
    case HeadInput::first_token:
      return rows.first.defined() ? rows.first : pick(rows.batch.offsets.first_rows());
    case HeadInput::last_token:
      return pick(last_rows(rows.batch, spec.token_id));
    case HeadInput::last_column:
      return pick(rows.batch.offsets.last_rows());
    case HeadInput::before_token:
      return pick(rows_before(rows.batch, spec.token_id));
    case HeadInput::end_token:
      return pick(end_rows(rows, spec.token_id.value()));
    case HeadInput::chosen_token: {
      Tensor columns = find(inputs, "mc_token_ids");
      if (!columns.defined())
        columns = at::full({rows.layout.sequences()}, rows.layout.length() - 1, at::kLong);
      return pick(rows.layout.rows_at(columns, "mc_token_ids"));
    }
  }
  fail("unknown input of a head");
}

}  // namespace

Tensor classification_loss(const Tensor& scores, const Tensor& labels, std::optional<ProblemType> problem) {
  if (!problem)  // as the original infers it
    problem = scores.size(1) == 1                         ? ProblemType::regression
              : !at::isFloatingType(labels.scalar_type()) ? ProblemType::single_label
                                                          : ProblemType::multi_label;
  if (*problem != ProblemType::single_label && labels.numel() != scores.numel())
    fail("labels: expected {} x {} numbers, one for each text and score, found the shape [{}]",
         scores.size(0), scores.size(1), fmt::join(labels.sizes(), ", "));
  switch (*problem) {
    case ProblemType::regression:
      return at::mse_loss(scores.flatten(), labels.to(scores.scalar_type()).flatten());
    case ProblemType::single_label:
      return label_loss(scores, labels, "labels");
    case ProblemType::multi_label:
      return at::binary_cross_entropy_with_logits(scores, labels.to(scores.scalar_type()).view_as(scores));
  }
  fail("unknown problem type");
}

Tensor types_by_question(const ScoreHeadSpec& spec, const Tensors& inputs) {
  return spec.question_end ? 1 - question_mask(*spec.question_end, inputs) : Tensor();
}

std::vector<std::string> label_inputs(const ScoreHeadSpec& spec) {
  if (spec.kind == ScoreKind::question_answering) return {"start_positions", "end_positions"};
  return {std::string(spec.label_input)};
}

Tensor put_scores(Tensors& out, const Tensors& inputs, Transformer& network, const ScoreRows& rows,
                  Pass& pass) {
  const ScoreHeadSpec& spec = network->scores->spec();
  const std::string name(spec.output);
  const Tensor labels = find(inputs, spec.label_input);
  Tensor scores = network->scores(read_rows(spec, inputs, rows), pass);  // [B or T, labels]
  switch (spec.kind) {
    case ScoreKind::sequence_classification:
      out[name] = scores;
      return labels.defined() ? classification_loss(scores, labels, spec.problem) : Tensor();
    case ScoreKind::next_sentence:
      out[name] = scores;
      return labels.defined() ? label_loss(scores, labels, spec.label_input) : Tensor();
    case ScoreKind::multiple_choice:
      out[name] = scores.reshape({-1, rows.choices});  // [questions, choices]
      if (!labels.defined()) return {};
      if (spec.loss == "loss") return label_loss(out[name], labels, spec.label_input);
      out[std::string(spec.loss)] = label_loss(out[name], labels, spec.label_input);
      return {};
    case ScoreKind::token_classification:
      out[name] = rows.layout.pad(scores);
      if (!labels.defined()) return {};
      rows.layout.check(labels, std::string(spec.label_input));
      return label_loss(scores, rows.layout.unpad(labels), spec.label_input);
    case ScoreKind::replaced_tokens:
      out[name] = rows.layout.pad(scores.squeeze(1));
      if (!labels.defined()) return {};
      rows.layout.check(labels, std::string(spec.label_input));
      return at::binary_cross_entropy_with_logits(scores.squeeze(1),
                                                  rows.layout.unpad(labels).to(scores.scalar_type()));
    case ScoreKind::question_answering: {
      if (spec.question_end) {  // an answer may stand at the first token, which means none, and behind the
                                // question
        Tensor question = question_mask(*spec.question_end, inputs).to(scores.scalar_type());
        question.select(1, 0).zero_();
        scores = scores - 1e6 * rows.layout.unpad(question).unsqueeze(1);
      }
      out["start_logits"] = rows.layout.pad(scores.select(1, 0));
      out["end_logits"] = rows.layout.pad(scores.select(1, 1));
      const Tensor starts = find(inputs, "start_positions"), ends = find(inputs, "end_positions");
      if (!starts.defined() && !ends.defined()) return {};
      if (!starts.defined() || !ends.defined()) fail("expected both start_positions and end_positions");
      // The caller has made every position of the padded batch a row.
      const Tensor by_text = scores.reshape({rows.layout.sequences(), rows.layout.length(), 2});
      if (starts.numel() != by_text.size(0) || ends.numel() != by_text.size(0))
        fail("start_positions, end_positions: expected one number per text ({}), found {} and {}",
             by_text.size(0), starts.numel(), ends.numel());
      return span_loss(by_text.select(2, 0), by_text.select(2, 1), starts, ends);
    }
  }
  fail("unknown kind of scores");
}

}  // namespace attend
