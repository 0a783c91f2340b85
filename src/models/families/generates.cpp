#include "models/families/generates.h"

namespace attend {

bool lacks_kv_cache(const ModelSpec& model) {
  if (model.appended_mask) return true;
  const auto& stack = model.decoder ? model.decoder : model.encoder;
  return stack && (stack->two_streams || stack->layers.front().self_attention.empty_keys > 0 ||
                   stack->memory || std::holds_alternative<SinusoidalDistances>(stack->distances));
}

bool generates(const ModelSpec& model) {
  return (model.decoder || lacks_kv_cache(model)) && model.language_model_head;
}

}  // namespace attend
