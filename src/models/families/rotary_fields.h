// Reads the rotary position settings of a family's config.json.
#pragma once

#include "formats/json/json.h"
#include "nn/spec/spec.h"

namespace attend {

struct RotaryDefaults {
  std::int64_t head_size = 0, positions = 2048;
  double base = 10000;
  double part = 1;     // the rotated part of a head, unless partial_rotary_factor gives it
  bool halves = true;  // as in RotarySpec
};

// Reads rope_theta, partial_rotary_factor and rope_scaling, or transformers 5's rope_parameters, which holds
// all of them. If that distinguishes kinds of layers, reads the object for `layers` ("full_attention" if that
// is empty). An Error for an unknown kind of scaling.
RotarySpec read_rotary(const Fields& config, const RotaryDefaults& defaults, std::string_view layers = {});
// The same for layers with a window, if these are never scaled: `defaults` as they are, unless
// rope_parameters has an object for them.
RotarySpec read_sliding_rotary(const Fields& config, const RotaryDefaults& defaults);
// rope_theta, from where read_rotary finds it.
double rotary_base(const Fields& config, double usual);
// Without scaling.
RotarySpec unscaled_rotary(const RotaryDefaults& defaults);

}  // namespace attend
