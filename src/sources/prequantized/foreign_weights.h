// Model directories with matrices quantized by other programs: bitsandbytes, GPTQ, AWQ, compressed-tensors,
// MXFP4.
// Each matrix becomes a float32 tensor that is decoded when it is read.
#pragma once

#include "formats/json/json.h"

namespace attend {

class WeightFiles;

// Whether config.json's quantization_config names one of these programs.
bool is_foreign(const Fields& config);
// Replaces the quantized tensors of a checkpoint by plain ones; unchanged unless is_foreign. An Error for an
// unsupported format, and for tensors that are missing or do not fit each other.
WeightFiles decode_foreign(WeightFiles checkpoint, const Fields& config);

}  // namespace attend
