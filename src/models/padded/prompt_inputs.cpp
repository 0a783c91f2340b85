#include "models/padded/prompt_inputs.h"

namespace attend {
namespace {

// Puts `front` [P] before each row of t [B, L]: [B, P + L].
Tensor prepend(const Tensor& front, const Tensor& t) {
  return ops::cat({front.to(t.type()).unsqueeze(0).expand({t.size(0), -1}), t}, 1);
}

}  // namespace

std::optional<Tensors> prompted_inputs(const Tensors& inputs, Transformer& net,
                                       std::optional<std::int64_t> adapter) {
  Embeddings& embeddings = (net->encoder ? net->encoder : net->decoder)->embeddings;
  if (!embeddings || embeddings->prompts.empty()) return {};
  const std::vector<std::int64_t> prompt = embeddings->prompt(adapter);
  if (prompt.empty()) return {};
  const Tensor ids = ops::tensor(prompt, kLong);
  Tensors all = inputs;
  all["input_ids"] = prepend(ids, find(inputs, "input_ids").to(kLong));
  if (Tensor& mask = all["attention_mask"]; mask.defined())
    mask = prepend(ops::ones_like(ids), mask);
  else
    all.erase("attention_mask");
  // As in peft: types only if a head scores labels. The model counts positions, and then does not skip
  // padding.
  if (const Tensor types = find(inputs, "token_type_ids"); types.defined() && net->score_head)
    all["token_type_ids"] = prepend(ops::zeros_like(ids), types);
  else
    all.erase("token_type_ids");
  all.erase("position_ids");
  if (const std::int64_t first = embeddings->first_position(); first > 0)
    all["position_ids"] = (ops::arange(all["input_ids"].size(1)) + first).unsqueeze(0);
  if (const Tensor labels = find(inputs, "labels");
      labels.defined() && labels.dim() == 2 && net->decoder && !net->encoder)
    all["labels"] = prepend(ops::full_like(ids, kIgnoredLabel), labels);
  return all;
}

}  // namespace attend
