#include "explain/value_zeroing.h"

#include "explain/rollout.h"
#include "explain/zeroed_values.h"

namespace attend {
namespace {

constexpr std::int64_t kCopiedRows = 4096;  // rows of all copies of a text that go through a layer together

// A stack and its one text (or picture), layer by layer.
class Layers {
 public:
  Layers(const AttributionTask& task, Stack stack, Tensor first, Tensor types, const CrossAttentionKV* memory)
      : task_(task),
        stack_(std::move(stack)),
        x_(std::move(first)),
        types_(std::move(types)),
        memory_(memory) {
    if (!stack_->prefixes.empty()) fail("value zeroing: expected a model without prefixes (prefix tuning)");
  }

  std::int64_t count() const { return std::ssize(stack_->spec().layers); }

  // Runs layer `number`. Returns how much each token's vector turns without the value of each other token,
  // [n, n], and of each source token, [n, Ls] (undefined without a source).
  std::pair<Tensor, Tensor> pass_layer(std::int64_t number) {
    const OneLayer layer(stack_, number);
    const Tensor key_value = memory_ ? memory_->key_values[static_cast<std::size_t>(number)] : Tensor();
    Pass pass = task_.pass();
    const Tensor result = layer.run(x_, Offsets({x_.size(0)}), types_, key_value, source_offsets(1), pass);
    const std::pair turned(without_own(layer, key_value, result), without_source(layer, key_value, result));
    x_ = result;
    return turned;
  }

  const Tensor& states() const { return x_; }
  Tensor last() {
    Pass pass = task_.pass();
    return stack_->result_of(x_, pass);
  }

 private:
  Offsets source_offsets(std::int64_t copies) const {
    return memory_ ? Offsets(std::vector<std::int64_t>(static_cast<std::size_t>(copies),
                                                       memory_->offsets.total()))
                   : Offsets();
  }

  // `change(first, pass, key_value)` prepares copy 0, 1, ... of a pass for tokens first, first + 1, ...
  template <class Change>
  Tensor turned(const OneLayer& layer, const Tensor& key_value, const Tensor& result, std::int64_t tokens,
                const Change& change) {
    const std::int64_t n = x_.size(0);
    const Tensor plain = result.to(kDouble);
    std::vector<Tensor> columns;
    in_parts(tokens, std::max<std::int64_t>(1, kCopiedRows / n),
             [&](std::int64_t first, std::int64_t copies) {
               Pass pass = task_.pass();
               Tensor memory = key_value.defined() ? key_value.repeat({copies, 1}) : key_value;
               change(first, copies, pass, memory);
               const Tensor types = types_.defined() ? types_.repeat({copies}) : types_;
               const Tensor other =
                   layer
                       .run(x_.repeat({copies, 1}),
                            Offsets(std::vector<std::int64_t>(static_cast<std::size_t>(copies), n)), types,
                            memory, source_offsets(copies), pass)
                       .view({copies, n, -1})
                       .to(kDouble);
               const Tensor cosine =
                   (other * plain).sum(2) / (other.norm(2, 2) * plain.norm(2, 1));  // [copies, n]
               columns.push_back((1 - cosine).clamp_min(0));
             });
    return ops::cat(columns).t();  // [n, tokens]
  }

  Tensor without_own(const OneLayer& layer, const Tensor& key_value, const Tensor& result) {
    const AttentionSpec& spec = layer.spec().self_attention;
    const std::int64_t n = x_.size(0), kw = spec.key_width();
    const ZeroedValues zeroed(layer.query_key_value(), spec.width() + kw, kw,
                              std::ssize(task_.function.model().adapters()), layer.value_bias());
    return turned(layer, key_value, result, n,
                  [&](std::int64_t first, std::int64_t copies, Pass& pass, const Tensor&) {
                    std::vector<std::int64_t> rows;
                    for (std::int64_t i = 0; i < copies; ++i) rows.push_back(i * n + first + i);
                    pass.adapters = zeroed.in(rows, copies * n);
                  });
  }

  Tensor without_source(const OneLayer& layer, const Tensor& key_value, const Tensor& result) {
    if (!key_value.defined()) return {};
    const std::int64_t n = key_value.size(0), w = key_value.size(1) / 2;
    return turned(layer, key_value, result, n,
                  [&](std::int64_t first, std::int64_t copies, Pass&, const Tensor& memory) {
                    for (std::int64_t i = 0; i < copies; ++i)
                      memory[i * n + first + i].narrow(0, w, w).zero_();
                  });
  }

  const AttributionTask& task_;
  Stack stack_;
  Tensor x_;  // [n, d]: the input of the next layer
  Tensor types_;
  const CrossAttentionKV* memory_;
};

// Normalizes rows to sums of 1. If nothing turns, a token gets its own weight.
std::pair<Tensor, Tensor> as_shares(const Tensor& own, const Tensor& source) {
  const Tensor sums = source.defined() ? own.sum(1, true) + source.sum(1, true) : own.sum(1, true);
  const Tensor some = sums.gt(0), over = ops::where(some, sums, ops::ones_like(sums));
  return {ops::where(some, own / over, ops::eye(own.size(0), kDouble)),
          source.defined() ? source / over : source};
}

// The embeddings that enter a stack's first layer, and the result of its last layer.
std::pair<Tensor, Tensor> ends(const Capture::Stack& captured) {
  return {captured.hidden.front(), captured.hidden.back()};
}

void check_ends(const Tensor& own, const Tensor& models) {
  const double scale = models.abs().max().item<double>(), off = (own - models).abs().max().item<double>();
  if (!(off <= 1e-3 * std::max(scale, 1e-6)))
    fail("value zeroing: this model's layers, one by one, give something else than all together");
}

}  // namespace

TokenScores value_zeroing(const AttributionTask& task) {
  const Unrecorded no_gradients;
  Transformer network = task.function.network();
  const GivenInput& input = task.function.input();
  Capture capture;
  capture.hidden_states = true;
  Pass pass = task.pass();
  pass.capture = &capture;
  std::vector<Tensor> x;
  for (const Tensor& side : task.function.inputs()) x.push_back(side.unsqueeze(0));
  task.function.scores(x, task.asked, pass);
  pass.capture = nullptr;

  const auto go = [&](Stack& stack, const Capture::Stack& captured, const Tensor& types,
                      const CrossAttentionKV* memory) {
    const auto [first, last] = ends(captured);
    Layers layers(task, stack, first, types, memory);
    std::vector<std::pair<Tensor, Tensor>> steps;
    for (std::int64_t i = 0; i < layers.count(); ++i) {
      const auto [own, source] = layers.pass_layer(i);
      steps.push_back(as_shares(own, source));
    }
    const Tensor result = stack->spec().quirks.norm_in_states ? layers.last() : layers.states();
    check_ends(result, last);
    return std::pair(steps, layers.last());
  };
  std::vector<std::int64_t> read = task.function.rows_read(task.asked);
  const std::int64_t n = task.function.inputs().back().size(0);
  Tensor rows = ops::full({n}, read.empty() ? 1.0 / static_cast<double>(n) : 0.0, kDouble);
  for (const std::int64_t row : read) rows[row] = 1.0 / static_cast<double>(read.size());

  Stack& first = network->encoder ? network->encoder : network->decoder;
  const auto [encoder, encoded] =
      go(first, network->encoder ? capture.encoder : capture.decoder, input.types, nullptr);
  std::vector<Tensor> steps;
  for (const auto& [own, source] : encoder) steps.push_back(own);
  if (task.function.sides() == 1) return {roll_out(steps, rows)};
  const CrossAttentionKV memory = network->project_kv(encoded, Offsets({encoded.size(0)}), pass);
  const auto decoder = go(network->decoder, capture.decoder, {}, &memory).first;
  Tensor source = ops::zeros({encoded.size(0)}, kDouble);
  for (auto step = decoder.rbegin(); step != decoder.rend(); ++step) {
    source = source + ops::matmul(rows, step->second);
    rows = ops::matmul(rows, step->first);
  }
  return {roll_out(steps, source), rows};
}

}  // namespace attend
