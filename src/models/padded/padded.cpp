#include "models/padded/padded.h"

namespace attend {

void check_matrix(const Tensor& t, const std::string& name) {
  if (!t.defined()) fail("expected an input named {}", name);
  if (t.dim() != 2 || !ops::is_integer(t.type(), true))
    fail("{}: expected integers of shape [batch, length], found {} of shape [{}]", name, name_of(t.type()),
         fmt::join(t.sizes(), ", "));
}

Padded::Padded(const Tensor& ids, const Tensor& mask, const std::string& name) {
  check_matrix(ids, name);
  if (ids.numel() == 0)
    fail("{}: expected at least one token, found the shape [{}]", name, fmt::join(ids.sizes(), ", "));
  ids_ = ids.to(kLong);
  if (!mask.defined()) {
    mask_ = ops::ones(ids.sizes(), kBool);
    return;
  }
  const char* mask_name = name.starts_with("decoder_")   ? "decoder_attention_mask"
                          : name.starts_with("encoder_") ? "encoder_attention_mask"
                                                         : "attention_mask";
  if (mask.sizes() != ids.sizes())
    fail("{}: expected the shape [{}] of {}, found [{}]", mask_name, fmt::join(ids.sizes(), ", "), name,
         fmt::join(mask.sizes(), ", "));
  mask_ = mask.ne(0);
  if (!mask.eq(mask_.to(mask.type())).all().item<bool>())
    fail("{}: expected only 0 and 1, found other numbers", mask_name);
  if (!mask_.any(1).all().item<bool>()) fail("{}: the mask hides a whole sequence", name);
}

TokenBatch Padded::batch(const Tensor& positions, const Tensor& types) const {
  TokenBatch batch;
  const Tensor lengths = mask_.sum(1);
  batch.offsets =
      Offsets({lengths.const_data<std::int64_t>(), lengths.const_data<std::int64_t>() + lengths.numel()});
  batch.ids = unpad(ids_);
  Tensor columns = ops::arange(length(), kLong).unsqueeze(0);
  if (positions.defined()) {
    check_matrix(positions, "position_ids");
    if (positions.size(1) != length() || (positions.size(0) != 1 && positions.size(0) != sequences()))
      fail("position_ids: expected the shape [{}, {}], found [{}]", sequences(), length(),
           fmt::join(positions.sizes(), ", "));
    columns = positions.to(kLong);
  }
  batch.positions_given = positions.defined();
  batch.columns = true;
  batch.positions = unpad(columns.expand_as(ids_));
  if (types.defined()) {
    check(types, "token_type_ids");
    batch.types = unpad(types.to(kLong));
  }
  return batch;
}

KeyMask Padded::spans() const {
  KeyMask visible;
  for (std::int64_t b = 0; b < sequences(); ++b) {
    const Tensor real = columns(b);
    visible.first.push_back(real[0].item<std::int64_t>());
    visible.count.push_back(real.numel());
    if (real[-1].item<std::int64_t>() - visible.first.back() + 1 != real.numel())
      fail("attention_mask: expected padding at one end, found some between the tokens of sequence {}",
           b + 1);
  }
  return visible;
}

Tensor Padded::rows_at(const Tensor& columns, const std::string& name) const {
  if (columns.numel() != sequences() || !ops::is_integer(columns.type(), false))
    fail("{}: expected one column for each of {} texts, found {} of shape [{}]", name, sequences(),
         name_of(columns.type()), fmt::join(columns.sizes(), ", "));
  const Tensor wanted = columns.reshape({-1}).to(kLong);
  const bool inside = wanted.ge(0).logical_and(wanted.lt(length())).all().item<bool>();
  if (!inside || !mask_.gather(1, wanted.unsqueeze(1)).all().item<bool>())
    fail("{}: expected columns of 0 to {} that are not padding, found {}", name, length() - 1,
         fmt::join(std::span(wanted.const_data<std::int64_t>(), wanted.numel()), ", "));
  const Tensor rows = mask_.flatten().cumsum(0) - 1;
  return rows.index_select(0, ops::arange(sequences()) * length() + wanted);
}

Tensor Padded::unpad(const Tensor& padded) const {
  return padded.index({mask_}).contiguous();
}

Tensor Padded::pad(const Tensor& rows) const {
  std::vector<std::int64_t> shape = mask_.sizes().vec();
  for (std::int64_t i = 1; i < rows.dim(); ++i) shape.push_back(rows.size(i));
  Tensor padded = ops::zeros(shape, rows.type());
  return padded.index_put({mask_}, rows.detach());
}

Tensor Padded::spread(const Tensor& rows) const {
  const Tensor real = mask_.flatten().nonzero().squeeze(1);
  return ops::zeros({mask_.numel(), rows.size(1)}, rows.type()).index_copy(0, real, rows);
}

Tensor Padded::collect(const Tensor& columns) const {
  return columns.index_select(0, mask_.flatten().nonzero().squeeze(1));
}

void Padded::check(const Tensor& t, const std::string& name) const {
  check_matrix(t, name);
  if (t.sizes() != mask_.sizes())
    fail("{}: expected the shape [{}], found [{}]", name, fmt::join(mask_.sizes(), ", "),
         fmt::join(t.sizes(), ", "));
}

void check_ids(const Padded& text, const StackSpec& stack, const std::string& name) {
  const Tensor ids = text.unpad(text.ids());
  const Tensor outside = ids.masked_select(ids.lt(0).logical_or(ids.ge(stack.embeddings.vocabulary)));
  if (outside.numel() > 0)
    fail("{}: {} is outside the model's token ids, 0 to {}", name, outside[0].item<std::int64_t>(),
         stack.embeddings.vocabulary - 1);
}

Tensor pad_weights(const std::vector<Tensor>& weights, const Padded& queries, const Padded& keys) {
  const std::int64_t heads = weights.empty() ? 0 : weights[0].size(0);
  Tensor padded = ops::zeros({queries.sequences(), heads, queries.length(), keys.length()});
  for (std::size_t b = 0; b < weights.size(); ++b) {
    const auto n = static_cast<std::int64_t>(b);
    padded[n].permute({1, 2, 0}).index_put_({queries.columns(n).unsqueeze(1), keys.columns(n).unsqueeze(0)},
                                            weights[b].permute({1, 2, 0}));
  }
  return padded;
}

Tensor pad_own_weights(const std::vector<Tensor>& weights, const Padded& text) {
  const std::int64_t before = weights.empty() ? 0 : weights[0].size(2) - weights[0].size(1);
  if (before == 0) return pad_weights(weights, text, text);
  std::vector<Tensor> own;
  Tensor front = ops::zeros({text.sequences(), weights[0].size(0), text.length(), before});
  for (std::size_t b = 0; b < weights.size(); ++b) {
    const auto n = static_cast<std::int64_t>(b);
    own.push_back(weights[b].narrow(2, before, weights[b].size(1)));
    front[n].index_copy_(1, text.columns(n), weights[b].narrow(2, 0, before));
  }
  return ops::cat({front, pad_weights(own, text, text)}, 3);
}

}  // namespace attend
