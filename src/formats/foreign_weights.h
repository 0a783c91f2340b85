// Model directories with matrices quantized by other programs: bitsandbytes, GPTQ, AWQ, compressed-tensors,
// MXFP4.
// Each matrix becomes a float32 tensor that is decoded when it is read.
#pragma once

#include "formats/json.h"

namespace attend {

class WeightFiles;

// Does config.json's quantization_config name one of these programs?
bool is_foreign(const Fields& config);
// The checkpoint with plain tensors in the place of what they are stored as; unchanged unless is_foreign.
// Error for a format that is not read, and for tensors that are missing or do not fit each other.
WeightFiles decode_foreign(WeightFiles checkpoint, const Fields& config);

}  // namespace attend
