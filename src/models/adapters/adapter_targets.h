// The default target modules of an adapter for each family: peft's, and the same parts in families that peft
// does not support.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend {

struct Ia3Targets {
  std::vector<std::string> all, feed_forward;  // the second: those whose input is scaled
};

// An Error for an unknown family.
std::vector<std::string> default_lora_targets(std::string_view model_type);
Ia3Targets default_ia3_targets(std::string_view model_type);

}  // namespace attend
