// What T5 and its relatives share.
#pragma once

#include "models/families/family.h"

namespace attend {

// How a relative differs: its defaults for fields that config.json leaves out.
struct T5Relative {
  std::int64_t vocabulary = 32128, inner = 2048, layers = 6, heads = 8;
  std::string_view feed_forward = "relu";
  bool tied = true;
  bool layer_distances = false;
};
ModelSpec t5_model(const Fields& config, std::string_view architecture, const T5Relative& relative);
Json fresh_t5(std::string_view preset);
Family make_t5(std::string_view model_type, const std::vector<std::string_view>& architectures,
               ModelSpec (*spec)(const Fields&, std::string_view), Json (*fresh_config)(std::string_view));

}  // namespace attend
