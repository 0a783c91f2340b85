// Which models generate text, token by token.
#pragma once

#include "nn/spec/spec.h"

namespace attend {

// Whether it has no KV cache, so that its texts are read again for each new token (XLNet, XLM,
// Transformer-XL).
bool lacks_kv_cache(const ModelSpec& model);
bool generates(const ModelSpec& model);

}  // namespace attend
