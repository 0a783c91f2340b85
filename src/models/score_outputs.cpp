#include "models/score_outputs.h"

namespace attend {
namespace {

using Tensors = std::map<std::string, Tensor>;

Tensor find(const Tensors& inputs, std::string_view name) {
  const auto found = inputs.find(std::string(name));
  return found == inputs.end() ? Tensor() : found->second;
}

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

std::vector<std::string> label_inputs(const ScoreHeadSpec& spec) {
  if (spec.kind == ScoreKind::question_answering) return {"start_positions", "end_positions"};
  return {std::string(spec.label_input)};
}

Tensor put_scores(Tensors& out, const Tensors& inputs, Transformer& network, const ScoreRows& rows,
                  Pass& pass) {
  const ScoreHeadSpec& spec = network->scores->spec();
  const std::string name(spec.output);
  const Tensor labels = find(inputs, spec.label_input);
  Tensor read = rows.hidden;
  if (spec.input == HeadInput::pooled) read = rows.pooled;
  if (spec.input == HeadInput::first_token) read = rows.hidden.index_select(0, rows.offsets.first_rows());
  const Tensor scores = network->scores(read, pass);  // [B or T, labels]
  switch (spec.kind) {
    case ScoreKind::sequence_classification:
      out[name] = scores;
      return labels.defined() ? classification_loss(scores, labels, spec.problem) : Tensor();
    case ScoreKind::next_sentence:
      out[name] = scores;
      return labels.defined() ? label_loss(scores, labels, spec.label_input) : Tensor();
    case ScoreKind::multiple_choice:
      out[name] = scores.reshape({-1, rows.choices});  // [questions, choices]
      return labels.defined() ? label_loss(out[name], labels, spec.label_input) : Tensor();
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
