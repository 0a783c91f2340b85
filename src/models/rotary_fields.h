// Reads the rotary position settings of a family's config.json.
#pragma once

#include "formats/json.h"
#include "nn/spec.h"

namespace attend {

struct RotaryDefaults {
  std::int64_t head_size = 0, positions = 2048;
  double base = 10000;
  double part = 1;     // of a head that turns, where partial_rotary_factor does not say
  bool halves = true;  // as in RotarySpec
};

// rope_theta, partial_rotary_factor and rope_scaling, or transformers 5's rope_parameters, which has them
// all; and there, where it tells kinds of layers apart ("full_attention"), what stands for `layers`. Error
// for a kind of scaling that is not known.
RotarySpec read_rotary(const Fields& config, const RotaryDefaults& defaults, std::string_view layers = {});
// The same without the scaling: what base the layers have.
RotarySpec unscaled_rotary(const RotaryDefaults& defaults);

}  // namespace attend
