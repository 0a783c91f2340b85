// Processors that make a distribution flatter or steeper and keep every token.
#pragma once

#include "generation/scores/processors.h"

namespace attend {

Processor temperature(double temperature);
// As in llama.cpp: temperature - range if one token is certain, temperature + range if all are equally
// likely.
Processor dynamic_temperature(double temperature, double range, double exponent);
Processor renormalize();

}  // namespace attend
