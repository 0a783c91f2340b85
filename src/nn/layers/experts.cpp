#include "nn/layers/experts.h"

#include "nn/pass/dropout.h"

namespace attend {
namespace {

// The experts that each token uses, and the rows that experts read: expert by expert, with tokens in order.
struct Routes {
  Tensor chosen;                     // [T, chosen], ascending in each row
  std::vector<std::int64_t> tokens;  // [T * chosen]: the token of each row
  std::vector<std::int64_t> begins;  // [experts + 1]: the first row of each expert
  Tensor places;                     // [chosen, T]: the rows of each token
};

Routes find_routes(const Tensor& scores, std::int64_t chosen) {
  const std::int64_t T = scores.size(0), experts = scores.size(1);
  const Tensor greatest = std::get<1>(scores.detach().topk(chosen, 1));
  Routes routes;
  routes.chosen = std::get<0>(greatest.sort(/*stable=*/false, 1, /*descending=*/false)).contiguous();
  const std::int64_t* const expert = routes.chosen.const_data<std::int64_t>();
  routes.begins.assign(static_cast<std::size_t>(experts + 1), 0);
  for (std::int64_t i = 0; i < T * chosen; ++i) ++routes.begins[static_cast<std::size_t>(expert[i] + 1)];
  for (std::size_t e = 1; e < routes.begins.size(); ++e) routes.begins[e] += routes.begins[e - 1];
  std::vector<std::int64_t> next = routes.begins;
  routes.tokens.resize(static_cast<std::size_t>(T * chosen));
  routes.places = ops::empty({chosen, T}, kLong);
  std::int64_t* const places = routes.places.data<std::int64_t>();
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t j = 0; j < chosen; ++j) {
      const std::int64_t row = next[static_cast<std::size_t>(expert[t * chosen + j])]++;
      routes.tokens[static_cast<std::size_t>(row)] = t;
      places[j * T + t] = row;
    }
  return routes;
}

// The adapters of rows; each row belongs to one of T tokens.
std::shared_ptr<const AdapterChoice> adapters_of(const std::shared_ptr<const AdapterChoice>& choice,
                                                 std::span<const std::int64_t> tokens, std::int64_t T) {
  if (!choice || choice->only) return choice;
  std::vector<std::optional<std::int64_t>> each;
  for (const std::int64_t token : tokens) each.emplace_back(choice->of(token, T));
  return choose_adapters(each);
}

// values [T, chosen] at their experts' columns of [T, experts]; the rest is zero.
Tensor spread_weights(const Tensor& values, const Tensor& chosen, std::int64_t experts) {
  Tensor all;
  for (std::int64_t j = 0; j < chosen.size(1); ++j) {
    const Tensor place = ops::zeros({chosen.size(0), experts}, values.type());
    place.scatter_(1, chosen.narrow(1, j, 1), ops::ones({chosen.size(0), 1}, values.type()));
    const Tensor part = values.narrow(1, j, 1) * place;
    all = all.defined() ? all + part : part;
  }
  return all;
}

}  // namespace

ExpertsImpl::ExpertsImpl(std::int64_t width, const FeedForwardSpec& each, const ExpertsSpec& spec)
    : each_(each), spec_(spec) {
  router_ = register_module("router", Linear(width, spec.count, spec.router_bias));
  router_->stays_float = true;
  const std::int64_t inner = each.gated ? 2 * each.width : each.width;
  in_ = register_module("in", Linear(width, spec.count * inner, each.bias));
  out_ = register_module("out", Linear(each.width, spec.count * width, each.bias));
  if (!spec.shared) return;
  shared_ = register_module("shared", FeedForward(width, *spec.shared));
  shared_gate_ = register_module("shared_gate", Linear(width, 1, /*bias=*/false));
}

Tensor ExpertsImpl::forward(const Tensor& given, const Tensor& residual, double dropout, Pass& pass,
                            Tensor* routing) {
  Tensor x = given;
  if (const double jitter = pass.rate(spec_.jitter); jitter > 0)
    x = x * ops::empty_like(x).uniform_(1 - jitter, 1 + jitter,
                                        ops::make_generator<ops::CPUGeneratorImpl>(pass.next_seed()));
  const Tensor scores = router_(x, pass);  // [T, experts]
  const Routes routes = find_routes(scores, spec_.chosen);
  const Tensor weights = spec_.weights_sum_to_one
                             ? ops::softmax(scores.gather(1, routes.chosen), -1)
                             : ops::softmax(scores, -1).gather(1, routes.chosen);  // [T, chosen]
  if (routing != nullptr)
    *routing = spec_.balances_weights ? spread_weights(weights, routes.chosen, spec_.count) : scores;
  const Tensor rows = x.index_select(0, ops::tensor(routes.tokens, kLong));  // [T * chosen, d]
  const std::int64_t inner = each_.gated ? 2 * each_.width : each_.width, width = x.size(1);
  std::vector<Tensor> results;
  for (std::int64_t e = 0; e < spec_.count; ++e) {
    const std::int64_t begin = routes.begins[static_cast<std::size_t>(e)],
                       count = routes.begins[static_cast<std::size_t>(e + 1)] - begin;
    if (count == 0) continue;
    const AdapterScope scope(
        pass, adapters_of(pass.adapters,
                          std::span(routes.tokens)
                              .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)),
                          x.size(0)));
    const Tensor first = in_->part(rows.narrow(0, begin, count), e * inner, inner, pass);
    const Tensor activated = each_.gated ? gate(first, each_) : activate(first, each_.activation);
    const Tensor kept = attend::dropout(activated, each_.dropout.value_or(0), pass);
    results.push_back(out_->part(kept, e * width, width, pass));
  }
  const Tensor all = results.size() == 1 ? results[0] : ops::cat(results);
  // Adds a token's experts one after another, the lowest first, independently of other tokens.
  Tensor sum;
  for (std::int64_t j = 0; j < spec_.chosen; ++j) {
    const Tensor part = all.index_select(0, routes.places.select(0, j)) * weights.narrow(1, j, 1);
    sum = sum.defined() ? sum + part : part;
  }
  if (shared_) sum = sum + shared_->forward(x, {}, 0, pass) * ops::sigmoid(shared_gate_(x, pass));
  return dropout_add(sum, residual, dropout, pass);
}

Tensor router_loss(const std::vector<Tensor>& routing, std::int64_t chosen) {
  const Tensor probabilities = ops::softmax(ops::cat(routing), -1);  // [layers * T, experts]
  const std::int64_t rows = probabilities.size(0), experts = probabilities.size(1);
  const Tensor greatest = std::get<1>(probabilities.detach().topk(chosen, 1)).contiguous();
  std::vector<double> shares(static_cast<std::size_t>(experts));
  const std::int64_t* const expert = greatest.const_data<std::int64_t>();
  for (std::int64_t i = 0; i < greatest.numel(); ++i)
    shares[static_cast<std::size_t>(expert[i])] += 1 / static_cast<double>(rows);
  const Tensor often = ops::tensor(shares, probabilities.type());
  return (probabilities.mean(0) * often).sum() * static_cast<double>(experts);
}

}  // namespace attend
