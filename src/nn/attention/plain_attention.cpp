#include "nn/attention/plain_attention.h"

#include "nn/attention/distance_scores.h"
#include "nn/pass/dropout.h"

#include <limits>

namespace attend {
namespace {

// What distances add to the scores of one sequence, term by term: [heads, Lq, Lk]. Its queries begin at row
// `query` of the tables, its keys at row `key`.
std::vector<ScoreTerms::Term> plain_distances(const DistanceTensors& d, std::int64_t query, std::int64_t key,
                                              const QueryMask& own) {
  const std::int64_t Lq = own.places.size(0), Lk = own.penalty.size(1);
  // Padding before two rows does not change their distance, but it changes the number of tokens before a key.
  const bool counted = d.by_key && own.counted.defined();
  const Tensor keys = counted ? own.counted : ops::arange(Lk, own.places.type());
  const Tensor queries = d.by_key ? ops::zeros_like(own.places) : own.places;
  const Tensor distance = keys.unsqueeze(0) - queries.unsqueeze(1);  // [Lq, Lk]
  DistancePlaces places{.query_rows = ops::arange(query, query + Lq).unsqueeze(0),
                        .key_rows = ops::arange(key, key + Lk).unsqueeze(0),
                        .distance = (own.backwards ? distance.neg() : distance).unsqueeze(0)};
  if (d.of_segment.defined()) {
    const Tensor segments = own.segments.defined() ? own.segments : d.segment.narrow(0, key, Lk);
    places.other_segment = d.segment.narrow(0, query, Lq).unsqueeze(1).ne(segments.unsqueeze(0)).unsqueeze(0);
  }
  std::vector<ScoreTerms::Term> terms = distance_scores(d, places);
  for (ScoreTerms::Term& term : terms) term.scores = term.scores.squeeze(0);
  return terms;
}

// What the last Lq of Lk positions see. `far`: the penalty of keys outside a window.
QueryMask default_query_mask(const AttentionSpec& spec, std::int64_t Lq, std::int64_t Lk, double far,
                             ScalarType type) {
  QueryMask own{ops::zeros({Lq, Lk}, type), ops::arange(Lk - Lq, Lk, kLong), {}};
  const auto hidden = [&](double penalty) { return ops::full({Lq, Lk}, penalty, type); };
  if (spec.causal)
    own.penalty = hidden(-std::numeric_limits<double>::infinity()).triu(Lk - Lq + 1);
  else if (spec.window > 0)
    own.penalty = hidden(far).triu(Lk - Lq + spec.window);
  if (spec.window > 0) own.penalty += hidden(far).tril(Lk - Lq - spec.window);
  return own;
}

Tensor split_heads(const Tensor& x, const AttentionSpec& spec) {
  return x.reshape({x.size(0), spec.heads, spec.head_size}).transpose(0, 1);  // [H, L, D]
}

// Keys or values [L, key width] -> [H, L, D]: each key head repeated for its heads of queries.
Tensor spread_heads(const Tensor& x, const AttentionSpec& spec) {
  const std::int64_t key_heads = spec.heads_of_keys();
  if (key_heads == spec.heads) return split_heads(x, spec);
  return x.reshape({x.size(0), key_heads, 1, spec.head_size})
      .expand({x.size(0), key_heads, spec.heads / key_heads, spec.head_size})
      .reshape({x.size(0), spec.heads, spec.head_size})
      .transpose(0, 1);
}

Tensor capped(const Tensor& scores, const AttentionSpec& spec) {
  return spec.soft_cap > 0 ? ops::tanh(scores / spec.soft_cap) * spec.soft_cap : scores;
}

}  // namespace

QueryMask default_query_mask(const AttentionSpec& spec, std::int64_t Lq, std::int64_t Lk, ScalarType type) {
  return default_query_mask(spec, Lq, Lk, -std::numeric_limits<double>::infinity(), type);
}

void capture_scores(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionCall& call,
                    std::int64_t query, std::int64_t key, const QueryMask& own) {
  ScoreTerms formed{.query = split_heads(q, call.spec).detach().clone(),
                    .key = spread_heads(k, call.spec).detach().clone(),
                    .value = spread_heads(v, call.spec).detach().clone(),
                    .scale = call.spec.scale,
                    .penalty = own.penalty};
  if (call.sinks.defined()) formed.sinks = call.sinks.detach();
  if (call.spec.soft_cap > 0) {
    const Tensor scores = ops::matmul(formed.query, formed.key.transpose(1, 2)) * call.spec.scale;
    formed.added.push_back({"soft cap", capped(scores, call.spec) - scores});
  }
  if (call.distance.rows.defined())
    for (ScoreTerms::Term& term : plain_distances(call.distance, query, key, own))
      formed.added.push_back(std::move(term));
  for (ScoreTerms::Term& term : formed.added) term.scores = term.scores.detach();
  call.scores->push_back(std::move(formed));
}

Tensor plain_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionCall& call,
                       std::int64_t query, std::int64_t key, const QueryMask& own) {
  const auto& spec = call.spec;
  if (call.scores) capture_scores(q, k, v, call, query, key, own);
  Tensor scores = ops::matmul(split_heads(q, spec), spread_heads(k, spec).transpose(1, 2)) * spec.scale;
  scores = capped(scores, spec);  // [H, Lq, Lk]
  if (call.distance.rows.defined()) {
    Tensor added;
    for (const auto& [name, term] : plain_distances(call.distance, query, key, own))
      added = added.defined() ? added + term : term;
    if (added.defined()) scores = scores + added;
  }
  const std::int64_t before = k.size(0) - q.size(0);
  if (spec.quirks.later_scores_are_equal) scores = scores.tril(before);
  // GPT-Neo replaces the scores outside its window, so no gradient flows there from padding that sees nothing
  // inside. Llama's relatives add to them.
  if (spec.causal && spec.window > 0 && !spec.quirks.padding_sees_all)
    scores = scores.triu(before - spec.window + 1);
  // If padding sees everything equally, most models add the lowest score to theirs. DeBERTa and MPT replace
  // the score with it, so no gradient flows there.
  constexpr double lowest = std::numeric_limits<float>::lowest();
  const bool replaced = spec.quirks.padding_sees_all && (!spec.causal || spec.quirks.later_scores_are_equal);
  scores =
      replaced ? ops::where(own.penalty > lowest, scores + own.penalty, own.penalty) : scores + own.penalty;
  if (call.sinks.defined())
    scores = ops::cat({scores, call.sinks.view({-1, 1, 1}).expand({spec.heads, q.size(0), 1})}, 2);
  Tensor weights = ops::softmax(scores, -1);
  if (call.sinks.defined()) weights = weights.narrow(2, 0, k.size(0));
  // With `scores`, the weights stay part of the result's graph, so that their gradient can be computed.
  if (call.weights) call.weights->push_back(call.scores ? weights : weights.detach());
  weights = attention_dropout(weights, call.dropout, call.seed, ops::arange(query, query + q.size(0)));
  return ops::matmul(weights, spread_heads(v, spec)).transpose(0, 1).reshape({q.size(0), spec.width()});
}

QueryMask padded_keys(const AttentionSpec& spec, const PaddedRows& rows, ScalarType type) {
  const auto [L, before, first, count] = rows;
  constexpr double lowest = std::numeric_limits<float>::lowest();
  QueryMask own = default_query_mask(spec, L, before + L, lowest, type);
  if (spec.quirks.later_penalty) own.penalty.clamp_min_(*spec.quirks.later_penalty);
  own.penalty.narrow(1, before, first) += lowest;
  own.penalty.narrow(1, before + first + count, L - first - count) += lowest;
  // Keys that are outside the window and padding are hidden only once.
  if (!spec.causal) own.penalty.clamp_min_(lowest);
  own.counted =
      ops::cat({ops::arange(before, kLong), ops::zeros({first}, kLong),
                ops::arange(before, before + count, kLong), ops::zeros({L - first - count}, kLong)});
  if (spec.quirks.padding_sees_all) {
    own.penalty.clamp_min_(lowest);
    if (!spec.causal) {
      own.penalty.narrow(0, 0, first).fill_(lowest);
      own.penalty.narrow(0, first + count, L - first - count).fill_(lowest);
    }
  }
  return own;
}

}  // namespace attend
