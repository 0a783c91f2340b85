// Which models generate text, token by token.
#pragma once

#include "nn/spec.h"

namespace attend {

// Do its texts grow by reading them again with each token, for want of a cache (XLNet, XLM, Transformer-XL)?
bool rereads(const ModelSpec& model);
bool generates(const ModelSpec& model);

}  // namespace attend
