#include "models/padded/span_outputs.h"

namespace attend {
namespace {

// One column for each of B texts, from 0 to L - 1.
Tensor read_columns(const Tensors& inputs, const char* name, const Tensor& hidden) {
  const Tensor given = find(inputs, name);
  if (given.numel() != hidden.size(0) || !ops::is_integer(given.type(), false))
    fail("{}: expected one number for each of {} texts, found {} of shape [{}]", name, hidden.size(0),
         name_of(given.type()), fmt::join(given.sizes(), ", "));
  const Tensor columns = given.reshape(-1).to(kLong);
  if (columns.lt(0).logical_or(columns.ge(hidden.size(1))).any().item<bool>())
    fail("{}: expected numbers from 0 to {}", name, hidden.size(1) - 1);
  return columns;
}

Tensor states_at(const Tensor& hidden, const Tensor& columns) {
  return hidden.index({ops::arange(hidden.size(0)), columns});  // [B, d]
}

// Excluded positions get the lowest score, with the original's arithmetic.
Tensor rule_out(const Tensor& scores, const Tensor& ruled_out) {
  return ruled_out.defined() ? scores * (1 - ruled_out) - 1e30 * ruled_out : scores;
}

}  // namespace

Tensor put_spans(Tensors& out, const Tensors& inputs, SpanSearch& search, const Tensor& hidden, Pass& pass) {
  const std::int64_t B = hidden.size(0), L = hidden.size(1), starts = search->spec().starts,
                     ends = search->spec().ends;
  Tensor ruled_out = find(inputs, "p_mask");
  if (ruled_out.defined()) {
    if (ruled_out.sizes() != Dimensions({B, L}))
      fail("p_mask: expected the shape [{}, {}], found [{}]", B, L, fmt::join(ruled_out.sizes(), ", "));
    ruled_out = ruled_out.to(hidden.type());
  }
  const Tensor summary = inputs.count("cls_index") > 0
                             ? states_at(hidden, read_columns(inputs, "cls_index", hidden))
                             : hidden.select(1, L - 1);
  const Tensor start_scores = rule_out(search->starts(hidden, pass), ruled_out);  // [B, L]
  if (inputs.count("start_positions") != inputs.count("end_positions"))
    fail("expected both start_positions and end_positions");
  if (inputs.count("start_positions") > 0) {
    const Tensor start = read_columns(inputs, "start_positions", hidden),
                 end = read_columns(inputs, "end_positions", hidden);
    const Tensor start_state = states_at(hidden, start);  // [B, d]
    const Tensor end_scores = rule_out(search->ends(hidden, start_state.unsqueeze(1), pass), ruled_out);
    Tensor loss =
        (ops::cross_entropy_loss(start_scores, start) + ops::cross_entropy_loss(end_scores, end)) / 2;
    const Tensor impossible = find(inputs, "is_impossible");
    if (!impossible.defined() || inputs.count("cls_index") == 0) return loss;
    if (impossible.numel() != B) fail("is_impossible: expected one number for each of {} texts", B);
    return loss + 0.5 * ops::binary_cross_entropy_with_logits(search->absent(start_state, summary, pass),
                                                              impossible.reshape(-1).to(hidden.type()));
  }
  if (L < starts || L < ends)
    fail("input_ids: {} columns are too few for the {} starts and {} ends to be found", L, starts, ends);
  const Tensor start_chances = ops::softmax(start_scores, 1);  // the original calls them log_probs
  const auto [start_top, start_columns] = ops::topk(start_chances, starts, 1);  // [B, S]
  const Tensor start_states =
      hidden.gather(1, start_columns.unsqueeze(2).expand({B, starts, hidden.size(2)}));  // [B, S, d]
  const Tensor pairs = hidden.unsqueeze(2).expand({B, L, starts, hidden.size(2)});
  const Tensor end_scores = rule_out(search->ends(pairs, start_states.unsqueeze(1), pass),
                                     ruled_out.defined() ? ruled_out.unsqueeze(2) : ruled_out);  // [B, L, S]
  const auto [end_top, end_columns] = ops::topk(ops::softmax(end_scores, 1), ends, 1);           // [B, E, S]
  out["start_top_log_probs"] = start_top;
  out["start_top_index"] = start_columns;
  out["end_top_log_probs"] = end_top.reshape({B, starts * ends});
  out["end_top_index"] = end_columns.reshape({B, starts * ends});
  const Tensor mean_start = ops::matmul(start_chances.unsqueeze(1), hidden).squeeze(1);
  out["cls_logits"] = search->absent(mean_start, summary, pass);
  return {};
}

}  // namespace attend
