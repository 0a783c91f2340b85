// Processors that put a watermark into a text; after all others but renormalize_logits.
#pragma once

#include "generation/scores/processors.h"

namespace attend {

Processor put_watermark(const Watermark& watermark);

}  // namespace attend
