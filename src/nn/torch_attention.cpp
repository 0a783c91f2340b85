#include "nn/torch_attention.h"

#include "nn/dropout.h"

#include <limits>

namespace attend {
namespace {

// What distances add to the scores of one sequence: [heads, Lq, Lk]; undefined: nothing. Its queries begin at
// row `query` of the tables, its keys at row `key`.
Tensor torch_distances(const DistanceTensors& d, std::int64_t query, std::int64_t key, const OwnKeys& own) {
  const std::int64_t Lq = own.places.size(0), Lk = own.penalty.size(1);
  const Tensor distance = at::arange(Lk, own.places.options()).unsqueeze(0) - own.places.unsqueeze(1);
  const Tensor signed_distance = own.backwards ? distance.neg() : distance;
  const Tensor rows = d.rows.index({signed_distance + d.zero}).to(at::kLong);  // [Lq, Lk]
  Tensor sum;
  const auto add = [&](const Tensor& scores) { sum = sum.defined() ? sum + scores : scores; };
  const auto expand = [](const Tensor& index, const Tensor& table) {
    return index.unsqueeze(0).expand({table.size(0), index.size(0), index.size(1)});
  };
  if (d.of_query.defined()) add(d.of_query.narrow(1, query, Lq).gather(2, expand(rows, d.of_query)));
  if (d.of_key.defined())
    add(d.of_key.narrow(1, key, Lk).gather(2, expand(rows.t(), d.of_key)).transpose(1, 2));
  if (d.of_head.defined()) add(d.of_head.index_select(1, rows.flatten()).reshape({-1, Lq, Lk}));
  if (d.of_segment.defined()) {
    const Tensor segments = own.segments.defined() ? own.segments : d.segment.narrow(0, key, Lk);
    const Tensor others = d.segment.narrow(0, query, Lq).unsqueeze(1).ne(segments.unsqueeze(0));
    add(d.of_segment.narrow(1, query, Lq).gather(2, expand(others.to(at::kLong), d.of_segment)));
  }
  return sum;
}

// What the last Lq of Lk positions see: `far` is the penalty of keys before a window.
OwnKeys usual_keys(const AttentionSpec& spec, std::int64_t Lq, std::int64_t Lk, double far,
                   const at::TensorOptions& options) {
  OwnKeys own{at::zeros({Lq, Lk}, options), at::arange(Lk - Lq, Lk, options.dtype(at::kLong)), {}};
  if (!spec.causal) return own;
  own.penalty = at::full({Lq, Lk}, -std::numeric_limits<double>::infinity(), options).triu(Lk - Lq + 1);
  if (spec.window > 0) own.penalty += at::full({Lq, Lk}, far, options).tril(Lk - Lq - spec.window);
  return own;
}

}  // namespace

Tensor torch_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionCall& call,
                       std::int64_t query, std::int64_t key, const OwnKeys& own) {
  const auto& spec = call.spec;
  const auto heads = [&](const Tensor& x) {
    return x.reshape({x.size(0), spec.heads, spec.head_size}).transpose(0, 1);  // [H, L, D]
  };
  Tensor scores = at::matmul(heads(q), heads(k).transpose(1, 2)) * spec.scale;  // [H, Lq, Lk]
  if (call.distance.rows.defined())
    if (const Tensor added = torch_distances(call.distance, query, key, own); added.defined())
      scores = scores + added;
  // Where padding sees everything alike, causal models add the lowest score to theirs, but DeBERTa puts it in
  // their place, so that no gradient flows there.
  constexpr double lowest = std::numeric_limits<float>::lowest();
  scores = call.spec.causal ? scores + own.penalty
                            : at::where(own.penalty > lowest, scores + own.penalty, own.penalty);
  Tensor weights = at::softmax(scores, -1);
  if (call.weights) call.weights->push_back(weights.detach());
  // Every sequence has a seed of its own, for which the row where it begins stands.
  weights = seeded_dropout(weights, call.dropout,
                           call.seed ^ (0xd1b54a32d192ed03u * (static_cast<std::uint64_t>(query) + 1)));
  return at::matmul(weights, heads(v)).transpose(0, 1).reshape({q.size(0), spec.heads * spec.head_size});
}

Tensor torch_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionCall& call,
                       std::int64_t query, std::int64_t key) {
  const OwnKeys own =
      usual_keys(call.spec, q.size(0), k.size(0), -std::numeric_limits<double>::infinity(), q.options());
  return torch_attention(q, k, v, call, query, key, own);
}

Tensor padded_attention(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t first,
                        std::int64_t count, const AttentionCall& call, std::int64_t begin) {
  const std::int64_t L = q.size(0);
  constexpr double lowest = std::numeric_limits<float>::lowest();
  const OwnKeys own = usual_keys(call.spec, L, L, lowest, q.options());
  own.penalty.narrow(1, 0, first) += lowest;
  own.penalty.narrow(1, first + count, L - first - count) += lowest;
  if (call.spec.padding_sees_all) {
    own.penalty.clamp_min_(lowest);
    if (!call.spec.causal) {
      own.penalty.narrow(0, 0, first).fill_(lowest);
      own.penalty.narrow(0, first + count, L - first - count).fill_(lowest);
    }
  }
  Tensor out = torch_attention(q, k, v, call, begin, begin, own);
  if (call.weights) call.weights->back() = call.weights->back().narrow(2, first, count);
  return out;
}

}  // namespace attend
