// Adapters that put rows before each text: prefix and prompt tuning (nn/virtual_tokens.h).
#include "base/error.h"
#include "models/adapter.h"

namespace attend {
namespace {

// Why a stack cannot have keys and values before its texts; null: it can.
const char* no_prefix(const StackSpec& stack) {
  const AttentionSpec& attention = stack.layers.front().self_attention;
  if (stack.two_streams || stack.memory || stack.looks_back || attention.empty_keys > 0)
    return "it has memories there";
  if (attention.blocks) return "its attention is sparse, in blocks";
  if (attention.distance) return "its distances need more than keys and values";
  return nullptr;
}

}  // namespace

void Adapter::attach_virtual_tokens(const Model& model, std::int64_t index, double share) {
  if (share != 1)
    fail("{}: expected the whole adapter, for virtual tokens cannot be there in part, found a share of {}",
         source_, share);
  const auto net = model.network().ptr();
  StackImpl& stack = net->decoder ? *net->decoder : *net->encoder;
  const AttentionSpec& attention = stack.spec().layers.front().self_attention;
  if (const char* reason = no_prefix(stack.spec()))
    fail("{}: no prefix can stand before the texts of {} ({}): {}", source_, model.architecture(),
         model.source(), reason);
  const auto places = 2 * static_cast<std::int64_t>(stack.spec().layers.size());
  const std::int64_t width = attention.heads * attention.head_size;
  // peft deals the layers of a pair of stacks out two by two, so that each is there twice.
  stack.prefixes.push_back(
      {.adapter = index,
       .numbers = shaped("prompt_embeddings", Role::virtual_tokens, {-1, places * width}),
       .places = places,
       .stride = net->is_encoder_decoder() ? 4 : 2});
}

}  // namespace attend
