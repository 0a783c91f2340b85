// Adapters that put rows before each text: prefix and prompt tuning (nn/layers/virtual_tokens.h).
#include "base/error.h"
#include "models/adapters/adapter.h"

namespace attend {
namespace {

constexpr const char* kName = "prompt_embeddings";

// Why a stack cannot have keys and values before its texts; null: it can.
const char* no_prefix(const StackSpec& stack) {
  const AttentionSpec& attention = stack.layers.front().self_attention;
  if (stack.two_streams || stack.memory || stack.looks_back || attention.empty_keys > 0)
    return "it has memories in that place";
  if (attention.blocks) return "its attention is sparse, in blocks";
  if (attention.distance) return "its distances need more than keys and values";
  return nullptr;
}

// Why a stack cannot have vectors instead of tokens; null: it can.
const char* no_prompt(const StackSpec& stack) {
  if (stack.patches) return "it reads images";
  if (stack.two_streams || stack.memory || stack.looks_back) return "it has memories in that place";
  if (stack.layers.front().self_attention.blocks) return "its attention is sparse, in blocks";
  return nullptr;
}

}  // namespace

void Adapter::attach_virtual_tokens(const PretrainedModel& model, std::int64_t index, double share) {
  if (share != 1)
    fail("{}: expected the weight 1, because virtual tokens cannot be scaled, found {}", source_, share);
  if (config_.kind() == AdapterConfig::Kind::prompt)
    attach_prompt(model, index);
  else
    attach_prefix(model, index);
}

void Adapter::attach_prefix(const PretrainedModel& model, std::int64_t index) {
  const auto net = model.network().ptr();
  StackImpl& stack = net->decoder ? *net->decoder : *net->encoder;
  const AttentionSpec& attention = stack.spec().layers.front().self_attention;
  if (const char* reason = no_prefix(stack.spec()))
    fail("{}: {} ({}) cannot have a prefix before its texts: {}", source_, model.architecture(),
         model.source(), reason);
  const auto places = 2 * static_cast<std::int64_t>(stack.spec().layers.size());
  const std::int64_t width = attention.key_width();
  // peft counts the layers of a pair of stacks in twos, so each layer appears twice.
  stack.prefixes.push_back({.adapter = index,
                            .numbers = shaped(kName, Role::virtual_tokens, {-1, places * width}),
                            .places = places,
                            .stride = net->is_encoder_decoder() ? 4 : 2});
}

void Adapter::attach_prompt(const PretrainedModel& model, std::int64_t index) {
  const auto net = model.network().ptr();
  StackImpl& stack = net->encoder ? *net->encoder : *net->decoder;
  if (const char* reason = no_prompt(stack.spec()))
    fail("{}: {} ({}) cannot have virtual tokens before its texts: {}", source_, model.architecture(),
         model.source(), reason);
  const std::int64_t width = stack.embeddings->tokens.size(1),
                     count = config_.fields().integer({"num_virtual_tokens"}, {}, 1, 1 << 16);
  // For a pair of stacks, peft stores a second half for the decoder, which is never used.
  const std::int64_t halves = net->is_encoder_decoder() ? 2 : 1;
  stack.embeddings->prompts.push_back(
      {.adapter = index,
       .count = count,
       .numbers = shaped(kName, Role::virtual_tokens, {halves * count, width})});
}

}  // namespace attend
