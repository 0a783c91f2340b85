#include "objectives/base/batch_tensors.h"

#include "nn/losses/loss.h"

namespace attend {
namespace {

// [T] -> [B, L].
Tensor padded(const Tensor& rows, const Offsets& offsets, std::int64_t filler) {
  Tensor all = ops::full({offsets.count(), offsets.longest()}, filler, rows.type());
  for (std::int64_t b = 0; b < offsets.count(); ++b)
    all[b].narrow(0, 0, offsets.length(b)).copy_(offsets.part(rows, b));
  return all;
}

}  // namespace

std::map<std::string, Tensor> to_tensors(const Batch& batch) {
  std::map<std::string, Tensor> all;
  const auto put = [&](const std::string& prefix, const TokenBatch& tokens) {
    if (!tokens.ids.defined()) return;
    all[prefix + "input_ids"] = padded(tokens.ids, tokens.offsets, 0);
    all[prefix + "attention_mask"] = padded(ops::ones_like(tokens.ids), tokens.offsets, 0);
  };
  put("", batch.tokens);
  put("decoder_", batch.target);
  if (batch.tokens.types.defined())
    all["token_type_ids"] = padded(batch.tokens.types, batch.tokens.offsets, 0);
  if (batch.tokens.positions_given)
    all["position_ids"] = padded(batch.tokens.positions, batch.tokens.offsets, 0);
  if (batch.tokens.languages.defined())
    all["langs"] = padded(batch.tokens.languages, batch.tokens.offsets, 0);
  if (batch.tokens.visible)
    for (std::size_t b = 0; b < batch.tokens.visible->own.size(); ++b)
      all[fmt::format("visible.{}", b)] = batch.tokens.visible->own[b].penalty;
  if (batch.images.pixels.defined()) all["pixel_values"] = batch.images.pixels;
  if (batch.images.hidden.defined()) all["bool_masked_pos"] = batch.images.hidden.to(kLong);
  if (batch.rows.defined()) all["rows"] = batch.rows;
  if (batch.token_labels.defined()) {
    const Offsets& offsets = batch.target.ids.defined() ? batch.target.offsets : batch.tokens.offsets;
    const bool of_rows = batch.token_labels.numel() != offsets.total();
    all["labels"] = of_rows ? batch.token_labels : padded(batch.token_labels, offsets, kIgnoredLabel);
  }
  if (batch.labels.defined()) all["text_labels"] = batch.labels;
  if (batch.starts.defined()) all["start_positions"] = batch.starts;
  if (batch.ends.defined()) all["end_positions"] = batch.ends;
  if (batch.groups.count() > 0) all["groups"] = ops::tensor(batch.groups.lengths(), kLong);
  for (auto& [name, tensor] : all) tensor = tensor.contiguous();
  return all;
}

}  // namespace attend
