// How a family's config.json speaks of experts, and what Llama's relatives call them.
#pragma once

#include "models/family.h"

namespace attend {

// num_experts or num_local_experts, of which num_experts_per_tok are chosen; what counts where config.json is
// silent. Error where more are chosen than there are.
ExpertsSpec read_experts(const Fields& config, std::int64_t count, std::int64_t chosen);

// Every layer gets these experts, each so wide.
void put_experts(ModelSpec& model, const ExpertsSpec& experts, std::int64_t width);

// With output_router_logits, router_aux_loss_coef times a loss joins that of a model that predicts the next
// token. `factor`: where config.json is silent.
void put_router_loss(ModelSpec& model, const Fields& config, double factor);

// What Qwen's experts are called, in a layer with this prefix; nothing for a model without.
std::vector<WeightName> expert_weights(const ModelSpec& model, const std::string& layer);

// Fields of config.json that families with experts know beyond those of Llama's relatives.
std::vector<std::string_view> expert_optional_fields(const std::vector<std::string_view>& more = {});

}  // namespace attend
