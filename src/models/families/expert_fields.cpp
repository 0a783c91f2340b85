#include "models/families/expert_fields.h"

#include "base/error.h"
#include "models/families/llama_decoder.h"

#include <algorithm>

namespace attend {
namespace {

const LayerSpec* layer_with_experts(const ModelSpec& model) {
  const auto found = std::ranges::find_if(model.decoder->layers,
                                          [](const LayerSpec& layer) { return layer.experts.has_value(); });
  return found == model.decoder->layers.end() ? nullptr : &*found;
}

}  // namespace

ExpertsSpec read_experts(const Fields& config, std::int64_t count, std::int64_t chosen) {
  ExpertsSpec experts;
  experts.count = config.integer({"num_experts", "num_local_experts"}, count, 1, 1 << 16);
  experts.chosen = config.integer({"num_experts_per_tok"}, chosen);
  if (experts.chosen > experts.count)
    fail("{}: num_experts_per_tok: expected at most the number of experts, {}, found {}", config.source(),
         experts.count, experts.chosen);
  return experts;
}

void put_experts(ModelSpec& model, const ExpertsSpec& experts, std::int64_t width) {
  for (LayerSpec& layer : model.decoder->layers) {
    layer.experts = experts;
    layer.feed_forward.width = width;
  }
}

void put_router_loss(ModelSpec& model, const Fields& config, double factor) {
  const double wanted = config.number({"router_aux_loss_coef"}, factor);
  const LayerSpec* const layer = layer_with_experts(model);
  if (model.language_model_head && layer && wanted != 0 && config.flag({"output_router_logits"}, false))
    model.router_loss = RouterLoss{.factor = wanted, .chosen = layer->experts->chosen};
}

std::vector<WeightName> expert_weights(const ModelSpec& model, const std::string& layer) {
  const LayerSpec* const spec = layer_with_experts(model);
  if (spec == nullptr) return {};
  std::string numbers;  // "{0|1|2}"
  for (std::int64_t e = 0; e < spec->experts->count; ++e) numbers += (e == 0 ? "{" : "|") + std::to_string(e);
  numbers += "}";
  const std::string theirs = layer + "mlp.", ours = "decoder.layers.{i}.experts.";
  return {
      {theirs + "gate.{weight|bias}", ours + "router.{weight|bias}"},
      {theirs + "experts." + numbers + ".{gate_proj|up_proj}.weight", ours + "in.weight"},
      {theirs + "experts." + numbers + ".down_proj.weight", ours + "out.weight"},
      {theirs + "shared_expert.{gate_proj|up_proj}.weight", ours + "shared.in.weight"},
      {theirs + "shared_expert.down_proj.weight", ours + "shared.out.weight"},
      {theirs + "shared_expert_gate.weight", ours + "shared_gate.weight"},
  };
}

std::vector<std::string_view> expert_optional_fields(const std::vector<std::string_view>& more) {
  std::vector<std::string_view> fields =
      llama_optional_fields({"output_router_logits", "router_aux_loss_coef"});
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

}  // namespace attend
