#include "nn/layers/normed_inputs.h"

namespace attend {
namespace {

void add(const StackSpec& stack, const std::string& stack_name, std::vector<NormedInput>& inputs) {
  if (!stack.weights_of.empty()) return;
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    const LayerSpec& layer = stack.layers[i];
    if (layer.order == NormOrder::post || layer.order == NormOrder::result) continue;
    if (layer.norm.around_one) continue;  // the stored numbers are not the factors
    const std::string name = stack_name + ".layers." + std::to_string(i) + ".";
    std::vector<std::string> readers = {name + "self_attention.query_key_value"};
    if (layer.order == NormOrder::parallel && !layer.two_norms)
      readers.push_back(name + "feed_forward.in");
    else if (!layer.experts)  // the router of experts reads it too, and the choice of experts depends on that
      inputs.push_back({name + "feed_forward_norm", {name + "feed_forward.in"}});
    if (!layer.self_attention.distance && layer.normed_input)
      inputs.push_back({name + "self_attention_norm", readers});
    if (layer.cross_attention)
      inputs.push_back({name + "cross_attention_norm", {name + "cross_attention.query"}});
  }
}

}  // namespace

std::vector<NormedInput> normed_inputs(const ModelSpec& spec) {
  std::vector<NormedInput> inputs;
  if (spec.encoder) add(*spec.encoder, "encoder", inputs);
  if (spec.decoder) add(*spec.decoder, "decoder", inputs);
  return inputs;
}

}  // namespace attend
