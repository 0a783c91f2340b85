#include "models/padded/text_inputs.h"

namespace attend {
namespace {

// XLM's mask: the number of columns is in `lengths`, or it is the number of ids that are not padding.
Tensor mask_by_length(const Tensors& inputs, std::int64_t padding) {
  const Tensor mask = find(inputs, "attention_mask"), ids = find(inputs, "input_ids");
  if (mask.defined()) return mask;
  check_matrix(ids, "input_ids");
  Tensor lengths = find(inputs, "lengths");
  if (!lengths.defined()) lengths = ids.ne(padding).sum(1);
  if (lengths.numel() != ids.size(0))
    fail("lengths: expected one for each of {} texts, found {}", ids.size(0), lengths.numel());
  return ops::arange(ids.size(1)).unsqueeze(0).lt(lengths.reshape({-1, 1}));
}

// DeBERTa accepts positions and types even if it has no vectors for them; its tokenizers always give types.
bool passes_over_types(const StackSpec& stack) {
  return stack.quirks.padding_begins_as_zero;
}

}  // namespace

std::set<std::string> text_inputs(const StackSpec& stack) {
  std::set<std::string> known = {"input_ids", "attention_mask"};
  // Ignored if there are no vectors for them.
  if (passes_over_types(stack) || !std::holds_alternative<std::monostate>(stack.embeddings.positions))
    known.insert("position_ids");
  if (passes_over_types(stack) || takes_types(stack)) known.insert("token_type_ids");
  // XLM always accepts both, and ignores languages if it has no vectors for them.
  if (stack.quirks.padding_is_zero) known.insert({"langs", "lengths"});
  if (stack.embeddings.tasks > 0) known.insert("task_type_ids");
  if (stack.two_streams) known.insert({"perm_mask", "target_mapping", "input_mask"});
  return known;
}

Tensor read_mask(const Tensors& inputs, const StackSpec& stack) {
  if (stack.quirks.padding_is_zero) return mask_by_length(inputs, stack.embeddings.padding_id);
  const Tensor mask = find(inputs, "attention_mask"), padding = find(inputs, "input_mask");
  if (!padding.defined()) return mask;
  if (mask.defined())
    fail("attention_mask and input_mask: expected only one of them, because they mean the same");
  return 1 - padding;
}

namespace {

// The index of each real token among the real ones; -1 for padding. [B, L]
Tensor places_by_mask(const Tensor& mask) {
  const Tensor real = mask.ne(0).to(kLong);
  return real.cumsum(1) * real - 1;
}

}  // namespace

TokenBatch read_text(const Tensors& inputs, const Padded& layout, const StackSpec& stack,
                     const std::string& prefix) {
  Tensor types = find(inputs, prefix + "token_type_ids");
  if (passes_over_types(stack) && stack.embeddings.types == 0) types = Tensor();
  Tensor positions = find(inputs, prefix + "position_ids");
  const auto* learned = std::get_if<LearnedPositions>(&stack.embeddings.positions);
  const Tensor mask = find(inputs, prefix + "attention_mask");
  if (learned && learned->skips_padding && !positions.defined() && mask.defined())
    positions = places_by_mask(mask);
  TokenBatch batch = layout.batch(positions, types);
  if (const Tensor tasks = find(inputs, prefix + "task_type_ids"); tasks.defined()) {
    layout.check(tasks, prefix + "task_type_ids");
    batch.tasks = layout.unpad(tasks.to(kLong));
  }
  if (const Tensor langs = find(inputs, prefix + "langs"); langs.defined()) {
    layout.check(langs, prefix + "langs");
    batch.languages = layout.unpad(langs.to(kLong));
  }
  return batch;
}

}  // namespace attend
