#include "explain/rollout.h"

namespace attend {
namespace {

// Weights of all layers are in memory at once.
constexpr std::int64_t kMaxWeights = std::int64_t{1} << 30;

// The mean over heads for each layer: [Lq, Lk].
struct Flow {
  std::vector<Tensor> encoder, decoder, cross;  // a single stack is `encoder`
};

void check_size(const AttributionTask& task) {
  Transformer network = task.function.network();
  std::int64_t weights = 0;
  for (const Stack* stack : {&network->encoder, &network->decoder})
    if (*stack)
      for (const LayerSpec& layer : (*stack)->spec().layers)
        for (const Tensor& side : task.function.inputs())
          weights += layer.self_attention.heads * side.size(0) * side.size(0);
  if (weights > kMaxWeights)
    fail("rollout keeps the attention weights of all layers, {:.1f} GB here: shorten the text",
         weights * 4e-9);
}

// Without the keys before the text's own.
Tensor own_keys(const Tensor& weights, std::int64_t count) {
  return weights.narrow(2, weights.size(2) - count, count);
}

template <class Mean>
Flow flow_of(const Capture& capture, const AttributionTask& task, const Mean& mean) {
  const std::vector<Tensor>& inputs = task.function.inputs();
  const bool two = inputs.size() > 1;
  const auto each = [&](const std::vector<std::vector<Tensor>>& layers, std::int64_t keys) {
    std::vector<Tensor> means;
    for (const std::vector<Tensor>& layer : layers)
      if (!layer.empty()) means.push_back(own_keys(mean(layer.front()), keys)[0]);
    return means;
  };
  Flow flow;
  const Capture::Stack& first = capture.encoder.self_attentions.empty() ? capture.decoder : capture.encoder;
  flow.encoder = each(first.self_attentions, inputs.front().size(0));
  if (!two) return flow;
  flow.decoder = each(capture.decoder.self_attentions, inputs.back().size(0));
  flow.cross = each(capture.decoder.cross_attentions, inputs.front().size(0));
  return flow;
}

// How much each row of the last side contributes to the result: [n].
Tensor asked_rows(const AttributionTask& task) {
  const std::vector<std::int64_t> read = task.function.rows_read(task.asked);
  const std::int64_t n = task.function.inputs().back().size(0);
  if (read.empty()) return ops::full({n}, 1.0 / static_cast<double>(n), kDouble);
  Tensor rows = ops::zeros({n}, kDouble);
  for (const std::int64_t row : read) rows[row] = 1.0 / static_cast<double>(read.size());
  return rows;
}

Tensor half_past(const Tensor& weights) {
  const Tensor both = weights.to(kDouble) + ops::eye(weights.size(0), kDouble);
  return both / both.sum(1, true);
}

// I + the rows normalized to sums of 1 (Chefer et al. 2021, equations 8 and 9).
Tensor normalized_relevance(const Tensor& relevance) {
  const Tensor eye = ops::eye(relevance.size(0), kDouble), rest = relevance - eye;
  const Tensor sums = rest.sum(1, true);
  return ops::where(sums.gt(0), rest / sums, ops::zeros_like(rest)) + eye;
}

}  // namespace

Tensor roll_out(const std::vector<Tensor>& steps, Tensor rows) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) rows = ops::matmul(rows, step->to(kDouble));
  return rows;
}

TokenScores attention_rollout(const AttributionTask& task) {
  check_size(task);
  const Unrecorded no_gradients;
  Capture capture;
  capture.attentions = true;
  Pass pass = task.pass();
  pass.capture = &capture;
  std::vector<Tensor> x;
  for (const Tensor& side : task.function.inputs()) x.push_back(side.unsqueeze(0));
  task.function.scores(x, task.asked, pass);
  const Flow flow = flow_of(capture, task, [](const Tensor& w) { return w.mean(0, /*keepdim=*/true); });
  std::vector<Tensor> encoder;
  for (const Tensor& weights : flow.encoder) encoder.push_back(half_past(weights));
  Tensor rows = asked_rows(task);
  if (flow.decoder.empty()) return {roll_out(encoder, rows)};
  Tensor source = ops::zeros({task.function.inputs().front().size(0)}, kDouble);
  for (std::size_t i = flow.decoder.size(); i-- > 0;) {
    source = source + ops::matmul(rows, flow.cross[i].to(kDouble)) / 2;
    rows = ops::matmul(rows / 2, half_past(flow.decoder[i]));
  }
  return {roll_out(encoder, source), rows};
}

TokenScores gradient_rollout(const AttributionTask& task) {
  check_size(task);
  const Recording gradients(true);
  Capture capture;
  capture.attentions = capture.scores = true;  // scores: so that gradients reach the weights
  Pass pass = task.pass();
  pass.capture = &capture;
  std::vector<Tensor> x;
  for (const Tensor& side : task.function.inputs())
    x.push_back(side.unsqueeze(0).detach().set_needs_gradient());
  const Tensor score = task.asked.of(task.function.scores(x, task.asked, pass));
  std::vector<Tensor> weights;
  bool all_differentiable = true;
  for (const Capture::Stack* stack : {&capture.encoder, &capture.decoder})
    for (const auto* layers : {&stack->self_attentions, &stack->cross_attentions})
      for (const std::vector<Tensor>& layer : *layers)
        if (!layer.empty()) {
          if (layer.front().needs_gradient()) weights.push_back(layer.front());
          all_differentiable &= layer.front().needs_gradient();
        }
  const auto found = weights.empty() ? std::vector<Tensor>()
                                     : ops::gradients({score.sum()}, weights, {}, {.may_be_unused = true});
  std::map<const void*, Tensor> gradient_of;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (found[i].defined()) gradient_of[weights[i].identity()] = found[i];
  if (!all_differentiable || gradient_of.empty())
    fail(
        "the gradient-weighted rollout: in blocks (BigBird) the weights as they are shown are not those that "
        "the result is made of; shorter texts are read without blocks");
  const Unrecorded no_more;
  const Flow flow = flow_of(capture, task, [&](const Tensor& w) {
    const auto gradient = gradient_of.find(w.identity());
    // No gradient reaches weights whose results are not read.
    if (gradient == gradient_of.end()) return ops::zeros_like(w).mean(0, true);
    return (gradient->second * w.detach()).clamp_min(0).mean(0, true);
  });
  const auto eye = [](const Tensor& like) { return ops::eye(like.size(0), kDouble); };
  Tensor encoder = eye(flow.encoder.front());
  for (const Tensor& step : flow.encoder) encoder = encoder + ops::matmul(step.to(kDouble), encoder);
  const Tensor rows = asked_rows(task);
  if (flow.decoder.empty()) return {ops::matmul(rows, encoder) - rows};
  Tensor target = eye(flow.decoder.front()), source = ops::zeros(flow.cross.front().sizes(), kDouble);
  for (std::size_t i = 0; i < flow.decoder.size(); ++i) {
    const Tensor own = flow.decoder[i].to(kDouble), cross = flow.cross[i].to(kDouble);
    source = source + ops::matmul(own, source);
    target = target + ops::matmul(own, target);
    source = source +
             ops::matmul(normalized_relevance(target).t(), ops::matmul(cross, normalized_relevance(encoder)));
  }
  return {ops::matmul(rows, source), ops::matmul(rows, target) - rows};
}

}  // namespace attend
