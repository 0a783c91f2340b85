// Adds virtual tokens (prompt tuning, nn/layers/virtual_tokens.h) before padded inputs, as peft does.
#pragma once

#include "models/padded/forward_parts.h"

namespace attend {

// The inputs with the virtual tokens of this adapter (absent: of all) before each text: ids, the mask, types,
// and the labels of decoders. Given positions are ignored. None if there are no virtual tokens. The batch of
// such ids is `prompted`, and its results include rows of virtual tokens.
std::optional<Tensors> prompted_inputs(const Tensors& inputs, Transformer& net,
                                       std::optional<std::int64_t> adapter);

}  // namespace attend
