#include "explain/predictions.h"

namespace attend {
namespace {

// This many positions go through the head at a time, because a vocabulary is large.
constexpr std::int64_t kPlaces = 256;

TokenRanking rank_rows(Transformer& network, const Tensor& hidden, std::int64_t count) {
  std::vector<Tensor> ids, logits, total;
  for (const Tensor& part : hidden.split(kPlaces)) {
    Pass pass = Pass::inference();
    const TokenRanking ranking = rank_tokens(network->language_model_head(part, pass), count);
    ids.push_back(ranking.ids);
    logits.push_back(ranking.logits);
    total.push_back(ranking.total);
  }
  return {ops::cat(ids), ops::cat(logits), ops::cat(total)};
}

}  // namespace

TokenRanking rank_tokens(const Tensor& logits, std::int64_t count) {
  const auto [values, ids] = ops::topk(logits.to(kFloat), std::min(count, logits.size(1)), 1);
  return {ids, values, ops::logsumexp(logits.to(kFloat), 1)};
}

ExplainedPredictions predict(const PretrainedModel& model, std::size_t side, const Tensor& last,
                             const std::vector<Tensor>& hidden, std::int64_t count, std::int64_t lens) {
  Transformer network = model.network();
  Stack& stack = network->decoder ? network->decoder : network->encoder;
  ExplainedPredictions predictions{.side = side,
                                   .next = static_cast<bool>(network->decoder),
                                   .vocabulary = stack->embeddings->spec().vocabulary,
                                   .last = rank_rows(network, last, count)};
  Pass pass;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const bool done = i + 1 == hidden.size();
    predictions.lens.push_back(rank_rows(network, done ? last : stack->result_of(hidden[i], pass), lens));
  }
  return predictions;
}

}  // namespace attend
