#include "models/families/sliding_layers.h"

#include "base/error.h"

namespace attend {

std::vector<bool> read_sliding_layers(const Fields& config, std::size_t layers,
                                      const std::function<bool(std::size_t)>& usual) {
  const std::vector<std::string> kinds = config.texts({"layer_types"});
  std::vector<bool> sliding;
  if (kinds.empty()) {
    for (std::size_t i = 0; i < layers; ++i) sliding.push_back(usual(i));
    return sliding;
  }
  if (kinds.size() != layers)
    fail("{}: layer_types: expected one for each of the {} layers, found {}", config.source(), layers,
         kinds.size());
  for (const std::string& kind : kinds) {
    if (kind != "full_attention" && kind != "sliding_attention")
      fail("{}: layer_types: expected full_attention or sliding_attention, found \"{}\"", config.source(),
           kind);
    sliding.push_back(kind == "sliding_attention");
  }
  return sliding;
}

}  // namespace attend
