#include "models/padded/streams.h"

#include "nn/attention/memories.h"
#include "nn/attention/two_streams.h"

namespace attend {
namespace {

// An Error unless `t` has this shape.
void check_shape(const Tensor& t, const char* name, Dimensions shape) {
  if (t.sizes() != shape)
    fail("{}: expected the shape [{}], found [{}]", name, fmt::join(shape, ", "), fmt::join(t.sizes(), ", "));
}

// The column of each target: [B, P].
Tensor target_columns(const Tensor& mapping, const Padded& given) {
  if (mapping.dim() != 3) fail("target_mapping: expected the shape [batch, targets, length]");
  check_shape(mapping, "target_mapping", {given.sequences(), mapping.size(1), given.length()});
  const bool one_hot =
      mapping.eq(0).logical_or(mapping.eq(1)).all().item<bool>() && mapping.sum(2).eq(1).all().item<bool>();
  if (mapping.size(1) == 0 || !one_hot)
    fail("target_mapping: expected one 1 in each row, for the token to predict, and 0 elsewhere");
  if (mapping.sum(1).gt(1).any().item<bool>())
    fail("target_mapping: expected each token to be predicted at most once");
  return mapping.argmax(2);
}

}  // namespace

Streams::Streams(const Padded& given, const Tensors& inputs, const StackSpec& stack, std::vector<Tensor> past,
                 bool weights)
    : sequences_(given.sequences()), columns_(given.length()) {
  const std::int64_t B = sequences_, L = columns_;
  if (stack.half_backwards && B % 2 != 0)
    fail(
        "input_ids: half of the batch is read backwards (bi_data): expected an even number of texts, found "
        "{}",
        B);
  Tensor hidden = given.padding().to(kFloat).unsqueeze(1).expand({B, L, L});
  if (const Tensor permuted = find(inputs, "perm_mask"); permuted.defined()) {
    check_shape(permuted, "perm_mask", {B, L, L});
    hidden = hidden + permuted.to(kFloat);
  }
  hidden = hidden.gt(0);  // [B, L, L]
  target_columns_ = ops::zeros({B, 0}, kLong);
  if (const Tensor mapping = find(inputs, "target_mapping"); mapping.defined()) {
    target_columns_ = target_columns(mapping, given);
    targets_ = target_columns_.size(1);
    blanks_ = weights ? L : 0;
  }
  past_ = past.empty() ? 0 : past.front().size(1);

  const TokenBatch whole = given.whole().batch({}, find(inputs, "token_type_ids"));
  const Tensor blanks = ops::arange(blanks_).expand({B, blanks_});
  const Tensor asked = ops::cat({target_columns_, blanks}, 1);  // [B, P + L]: the column of each row
  const auto by_text = [&](const Tensor& of_columns, const Tensor& of_asked) {
    return ops::cat({of_columns.view({B, L}), of_asked}, 1).flatten();
  };
  batch.offsets = Offsets(std::vector<std::int64_t>(B, rows()));
  batch.ids = by_text(whole.ids, ops::zeros_like(asked));
  batch.positions = by_text(whole.positions, asked);
  if (targets_ > 0) batch.predicted = by_text(ops::zeros({B, L}, kBool), ops::ones_like(asked).to(kBool));
  if (whole.types.defined()) batch.types = by_text(whole.types, whole.types.view({B, L}).gather(1, asked));
  batch.past = std::move(past);

  auto visible = std::make_shared<KeyMask>();
  const Tensor always = always_hidden(stack, L, past_);  // [L, M + L]
  for (std::int64_t b = 0; b < B; ++b) {
    visible->first.push_back(0);
    visible->count.push_back(L);
    const Tensor types = whole.types.defined() ? whole.types.view({B, L})[b] : Tensor();
    const Tensor unseen = ops::cat({ops::zeros({L, past_}, kBool), hidden[b]}, 1).logical_or(always);
    visible->own.push_back(two_stream_keys(unseen, asked[b], past_, types));
    visible->own.back().backwards = stack.half_backwards && b >= B / 2;
  }
  if (blanks_ > 0)
    visible->no_query =
        by_text(ops::zeros({B, L}, kBool),
                ops::cat({ops::zeros({B, targets_}, kBool), ops::ones({B, blanks_}, kBool)}, 1));
  batch.visible = std::move(visible);
}

Tensor Streams::part(const Tensor& all, std::int64_t first, std::int64_t count) const {
  return all.unflatten(0, {sequences_, rows()}).narrow(1, first, count).flatten(0, 1);
}

std::vector<Tensor> Streams::real_weights(const std::vector<Tensor>& weights, const Padded& given) const {
  std::vector<Tensor> real;
  for (std::size_t b = 0; b < weights.size(); ++b) {
    const Tensor columns = given.columns(static_cast<std::int64_t>(b));
    const Tensor keys = ops::cat({ops::arange(past_), columns + past_});
    real.push_back(weights[b].index_select(1, columns).index_select(2, keys));
  }
  return real;
}

Tensor Streams::query_weights(const std::vector<Tensor>& weights, const Padded& given) const {
  const Tensor all = ops::stack(weights);  // [B, heads, rows, M + L]
  Tensor of_columns = all.narrow(2, columns_ + targets_, columns_).clone();
  const Tensor places = target_columns_.view({sequences_, 1, targets_, 1})
                            .expand({sequences_, all.size(1), targets_, all.size(3)});
  of_columns.scatter_(2, places, all.narrow(2, columns_, targets_));
  const Tensor real = given.padding().logical_not();  // [B, L]
  const Tensor keys = ops::cat({ops::ones({sequences_, past_}, kBool), real}, 1);
  return of_columns * real.view({sequences_, 1, columns_, 1}) * keys.unsqueeze(1).unsqueeze(1);
}

std::vector<Tensor> read_past(const Tensors& inputs, std::int64_t sequences, const StackSpec& stack) {
  std::vector<Tensor> past;
  if (!find(inputs, "mems.0").defined()) return past;
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    const std::string name = fmt::format("mems.{}", i);
    const Tensor memory = find(inputs, name);
    if (!memory.defined()) fail("expected an input named {}, because mems.0 is given", name);
    if (memory.dim() != 3 || !ops::is_floating(memory.type()))
      fail("{}: expected numbers of shape [tokens, batch, width]", name);
    const std::int64_t tokens = i == 0 ? memory.size(0) : past.front().size(1);
    check_shape(memory, name.c_str(), {tokens, sequences, stack.width()});
    past.push_back(memory.to(kFloat).transpose(0, 1).contiguous());
  }
  return past;
}

void put_memories(Tensors& out, const std::vector<Tensor>& layer_inputs, const std::vector<Tensor>& past,
                  const StackSpec& stack) {
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    const Tensor memory = next_memory(past.empty() ? Tensor() : past[i], layer_inputs[i], stack);
    out[fmt::format("mems.{}", i)] = memory.transpose(0, 1).contiguous();
  }
}

}  // namespace attend
