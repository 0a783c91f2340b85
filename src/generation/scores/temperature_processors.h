// Processors that make a distribution flatter or steeper and keep every token.
#pragma once

#include "generation/scores/processors.h"

namespace attend {

Processor temperature(double temperature);
// As llama.cpp has it: temperature - range where one token is certain, temperature + range where all are
// equally likely.
Processor dynamic_temperature(double temperature, double range, double exponent);
Processor renormalize();

}  // namespace attend
