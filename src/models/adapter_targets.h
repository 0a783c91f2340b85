// The default target modules of an adapter for each family: peft's, and for families that it does not know
// the same parts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend {

struct Ia3Targets {
  std::vector<std::string> all, feed_forward;  // the second: those whose input is scaled
};

// Error for an unknown family.
std::vector<std::string> default_lora_targets(std::string_view model_type);
Ia3Targets default_ia3_targets(std::string_view model_type);

}  // namespace attend
