// Processors that add a watermark; they come after all others except renormalize_logits.
#pragma once

#include "generation/scores/processors.h"

namespace attend {

Processor put_watermark(const Watermark& watermark);

}  // namespace attend
