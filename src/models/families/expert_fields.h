// How config.json describes experts, and the names of experts in Llama's relatives.
#pragma once

#include "models/families/family.h"

namespace attend {

// num_experts or num_local_experts; each token uses num_experts_per_tok of them. `count` and `chosen` are the
// defaults. An Error if more are chosen than exist.
ExpertsSpec read_experts(const Fields& config, std::int64_t count, std::int64_t chosen);

// Gives every layer these experts, each of this width.
void put_experts(ModelSpec& model, const ExpertsSpec& experts, std::int64_t width);

// With output_router_logits, adds router_aux_loss_coef times a router loss to the loss of a model that
// predicts the next token. `factor`: the default.
void put_router_loss(ModelSpec& model, const Fields& config, double factor);

// The names of Qwen's experts in a layer with this prefix; none for a model without experts.
std::vector<WeightName> expert_weights(const ModelSpec& model, const std::string& layer);

// Fields of config.json of families with experts, in addition to those of Llama's relatives.
std::vector<std::string_view> expert_optional_fields(const std::vector<std::string_view>& more = {});

}  // namespace attend
