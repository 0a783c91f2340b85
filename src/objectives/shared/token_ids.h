// From texts to ids, and from ids to the tensors of a batch.
#pragma once

#include <attend/tokenizer.h>

#include "objectives/base/batch.h"

namespace attend {

// Every text's ids; on all cores.
std::vector<TokenIds> encode(const Tokenizer& tokenizer, std::span<const std::string> texts,
                             EncodeOptions options = {});

// All parts joined: [sum of their lengths] int64.
Tensor joined(std::span<const TokenIds> parts);
std::int64_t count_labels(const Tensor& labels);  // those that are not kIgnoredLabel

}  // namespace attend
