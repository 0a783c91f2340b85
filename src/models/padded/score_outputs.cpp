#include "models/padded/score_outputs.h"

#include "models/padded/forward_parts.h"
#include "nn/losses/label_loss.h"
#include "nn/transformer/head_rows.h"

namespace attend {
namespace {

// scores [n, labels] against n label indices; those equal to kIgnoredLabel do not count.
Tensor label_loss(const Tensor& scores, const Tensor& labels, std::string_view name) {
  const Tensor flat = labels.reshape(-1).to(kLong);
  if (flat.numel() != scores.size(0))
    fail("{}: expected {} numbers, found {}", name, scores.size(0), flat.numel());
  if (flat.lt(0).logical_and(flat.ne(kIgnoredLabel)).logical_or(flat.ge(scores.size(1))).any().item<bool>())
    fail("{}: expected numbers from 0 to {}", name, scores.size(1) - 1);
  return cross_entropy(scores, flat, {}).mean();
}

// DeBERTa without a problem type in its config: with a label, a single score becomes a number without its own
// dimension, and floating-point labels are the probabilities of the classes.
bool scores_like_deberta(Transformer& network, const ScoreHeadSpec& spec) {
  return !spec.problem && network->encoder && network->encoder->spec().quirks.padding_begins_as_zero;
}

Tensor shared_label_loss(const Tensor& scores, const Tensor& labels) {
  if (labels.sizes() != scores.sizes())
    fail("labels: expected the shape [{}], found [{}]", fmt::join(scores.sizes(), ", "),
         fmt::join(labels.sizes(), ", "));
  return ops::log_softmax(scores, 1).mul(labels.to(scores.type())).sum(1).neg().mean();
}

// 1 for the question's tokens [B, L]. The question ends after the first token of id `end`, or has the length
// in the input question_lengths.
Tensor question_mask(std::int64_t end, const Tensors& inputs) {
  const Tensor ids = find(inputs, "input_ids"), given = find(inputs, "question_lengths");
  if (given.defined() && given.numel() != ids.size(0))
    fail("question_lengths: expected one for each of {} texts, found {}", ids.size(0), given.numel());
  const Tensor lengths = given.defined() ? given.reshape({-1, 1}).to(kLong)
                                         : ids.eq(end).to(kInt).argmax(1, /*keepdim=*/true) + 1;
  return ops::arange(ids.size(1)).unsqueeze(0).lt(lengths).to(kLong);
}

// The decoder's row in the column of the last token with this id in the encoder's input.
Tensor end_rows(const ScoreRows& rows, std::int64_t id) {
  const Tensor ends = rows.source->ids().eq(id), counts = ends.sum(1);
  if (ends.sizes() != rows.layout.ids().sizes())
    fail(
        "decoder_input_ids: expected the shape [{}] of input_ids, whose end tokens are looked up, found [{}]",
        fmt::join(ends.sizes(), ", "), fmt::join(rows.layout.ids().sizes(), ", "));
  if (counts.min().item<std::int64_t>() == 0 || !counts.eq(counts[0]).all().item<bool>())
    fail("input_ids: expected the same number of end tokens ({}), one at least, in every text", id);
  const Tensor columns = ops::arange(ends.size(1)).mul(ends).argmax(1);
  return rows.layout.rows_at(columns, "the last end token");
}

// What the head reads: [B or T, d]. If rows include padding, it affects which row is first or last.
Tensor read_rows(const ScoreHeadSpec& spec, const Tensors& inputs, const ScoreRows& rows) {
  const auto pick = [&](const Tensor& index) { return rows.hidden.index_select(0, index); };
  switch (spec.input) {
    case HeadInput::pooled:
      return rows.pooled;
    case HeadInput::first_token:
      return rows.first.defined() ? rows.first : head_rows(spec, rows.batch, rows.hidden);
    case HeadInput::last_token:
      // After virtual tokens the original does not know the padding, and uses the last column.
      if (rows.batch.prompted) return rows.hidden.index_select(0, rows.batch.offsets.last_rows());
      [[fallthrough]];
    case HeadInput::before_token:
      if (!spec.token_id && rows.batch.offsets.count() > 1)
        fail("without pad_token_id in config.json this model scores one text at a time, found {}",
             rows.batch.offsets.count());
      return head_rows(spec, rows.batch, rows.hidden);
    case HeadInput::end_token:
      return pick(end_rows(rows, spec.token_id.value()));
    case HeadInput::chosen_token: {
      Tensor columns = find(inputs, "mc_token_ids");
      if (!columns.defined()) columns = ops::full({rows.layout.sequences()}, rows.layout.length() - 1, kLong);
      return pick(rows.layout.rows_at(columns, "mc_token_ids"));
    }
    default:
      return head_rows(spec, rows.batch, rows.hidden);
  }
}

// The labels, without those of padding if the head ignores padding.
Tensor counted_labels(const ScoreHeadSpec& spec, const Tensors& inputs, const Tensor& labels) {
  const Tensor mask = find(inputs, "attention_mask");
  if (!spec.quirks.ignores_padding || !mask.defined()) return labels;
  return labels.masked_fill(mask.eq(0), kIgnoredLabel);
}

}  // namespace

Tensor classification_loss(const Tensor& scores, const Tensor& labels, std::optional<ProblemType> problem) {
  if (!problem)  // as the original infers it
    problem = scores.size(1) == 1                ? ProblemType::regression
              : !ops::is_floating(labels.type()) ? ProblemType::single_label
                                                 : ProblemType::multi_label;
  if (*problem != ProblemType::single_label && labels.numel() != scores.numel())
    fail("labels: expected {} x {} numbers, one for each text and score, found the shape [{}]",
         scores.size(0), scores.size(1), fmt::join(labels.sizes(), ", "));
  switch (*problem) {
    case ProblemType::regression:
      return squared_error(scores, labels).mean();
    case ProblemType::single_label:
      return label_loss(scores, labels, "labels");
    case ProblemType::multi_label:
      return sigmoid_cross_entropy(scores, labels).mean();
  }
  fail("unknown problem type");
}

Tensor types_by_question(const ScoreHeadSpec& spec, const Tensors& inputs) {
  return spec.question_end ? 1 - question_mask(*spec.question_end, inputs) : Tensor();
}

std::vector<std::string> label_inputs(const ScoreHeadSpec& spec) {
  if (spec.kind == ScoreKind::question_answering) return {"start_positions", "end_positions"};
  return {std::string(spec.quirks.label_input)};
}

Tensor put_scores(Tensors& out, const Tensors& inputs, Transformer& network, const ScoreRows& rows,
                  Pass& pass) {
  const ScoreHeadSpec& spec = network->score_head->spec();
  const std::string name(spec.quirks.output);
  const Tensor labels = find(inputs, spec.quirks.label_input);
  Tensor scores = network->score_head(read_rows(spec, inputs, rows), pass);  // [B or T, labels]
  switch (spec.kind) {
    case ScoreKind::sequence_classification:
      out[name] = scores;
      if (!labels.defined()) return {};
      if (scores_like_deberta(network, spec) && scores.size(1) == 1) out[name] = scores.squeeze(1);
      if (scores_like_deberta(network, spec) && scores.size(1) > 1 && labels.dim() > 1 && labels.size(-1) > 1)
        return shared_label_loss(scores, labels);
      return classification_loss(scores, labels, spec.problem);
    case ScoreKind::next_sentence:
      out[name] = scores;
      return labels.defined() ? label_loss(scores, labels, spec.quirks.label_input) : Tensor();
    case ScoreKind::multiple_choice:
      out[name] = scores.reshape({-1, rows.choices});  // [questions, choices]
      if (!labels.defined()) return {};
      return label_loss(out[name], labels, spec.quirks.label_input);
    case ScoreKind::token_classification:
      out[name] = rows.layout.pad(scores);
      if (!labels.defined()) return {};
      rows.layout.check(labels, std::string(spec.quirks.label_input));
      return label_loss(scores, rows.layout.unpad(counted_labels(spec, inputs, labels)),
                        spec.quirks.label_input);
    case ScoreKind::replaced_tokens:
      out[name] = rows.layout.pad(scores.squeeze(1));
      if (!labels.defined()) return {};
      rows.layout.check(labels, std::string(spec.quirks.label_input));
      return sigmoid_cross_entropy(scores.squeeze(1), rows.layout.unpad(labels)).mean();
    case ScoreKind::question_answering: {
      if (spec.question_end) {  // an answer may be at the first token, which means no answer, or after the
                                // question
        Tensor question = question_mask(*spec.question_end, inputs).to(scores.type());
        question.select(1, 0).zero_();
        scores = scores - 1e6 * rows.layout.unpad(question).unsqueeze(1);
      }
      out["start_logits"] = rows.layout.pad(scores.select(1, 0));
      out["end_logits"] = rows.layout.pad(scores.select(1, 1));
      const Tensor starts = find(inputs, "start_positions"), ends = find(inputs, "end_positions");
      if (!starts.defined() && !ends.defined()) return {};
      if (!starts.defined() || !ends.defined()) fail("expected both start_positions and end_positions");
      const std::int64_t length = rows.layout.length();
      const Offsets texts(std::vector<std::int64_t>(rows.layout.sequences(), length));
      if (starts.numel() != texts.count() || ends.numel() != texts.count())
        fail("start_positions, end_positions: expected one number per text ({}), found {} and {}",
             texts.count(), starts.numel(), ends.numel());
      // The caller has made every position of the padded batch a row. A position before the first is the
      // first, and one after the last is ignored: transformers' own rule.
      const auto places = [&](const Tensor& given) { return given.to(kLong).clamp(0, length); };
      return span_cross_entropy(scores, texts, places(starts), places(ends)).mean();
    }
  }
  fail("unknown kind of scores");
}

}  // namespace attend
