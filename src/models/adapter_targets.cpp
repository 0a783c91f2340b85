#include "models/adapter_targets.h"

#include "base/error.h"

#include <map>

namespace attend {
namespace {

struct Targets {
  std::vector<std::string> lora;
  Ia3Targets ia3;
};

const std::map<std::string, Targets, std::less<>>& table() {
  static const Targets bert{{"query", "value"}, {{"key", "value", "output.dense"}, {"output.dense"}}};
  static const Targets bart{{"q_proj", "v_proj"}, {{"q_proj", "v_proj", "fc2"}, {"fc2"}}};
  static const Targets gpt2{{"c_attn"}, {{"c_attn", "mlp.c_proj"}, {"mlp.c_proj"}}};
  static const Targets llama{{"q_proj", "v_proj"}, {{"k_proj", "v_proj", "down_proj"}, {"down_proj"}}};
  static const Targets qwen{{"q_proj", "v_proj"}, {{"q_proj", "v_proj", "down_proj"}, {"down_proj"}}};
  static const Targets neox{{"query_key_value"}, {{"query_key_value", "dense_4h_to_h"}, {"dense_4h_to_h"}}};
  static const Targets lin{{"q_lin", "v_lin"}, {{"k_lin", "v_lin", "lin2"}, {"lin2"}}};
  static const std::map<std::string, Targets, std::less<>> all = {
      // As in peft's tables; for IA3, xlm-roberta and electra are like bert.
      {"bert", bert},
      {"roberta", bert},
      {"xlm-roberta", bert},
      {"electra", bert},
      {"deberta", {{"in_proj"}, {{"in_proj", "output.dense"}, {"output.dense"}}}},
      {"deberta-v2",
       {{"query_proj", "value_proj"}, {{"key_proj", "value_proj", "output.dense"}, {"output.dense"}}}},
      {"gpt2", gpt2},
      {"gpt_neo", {{"q_proj", "v_proj"}, {{"q_proj", "v_proj", "c_proj"}, {"c_proj"}}}},
      {"gptj", {{"q_proj", "v_proj"}, {{"q_proj", "v_proj", "fc_out"}, {"fc_out"}}}},
      {"t5", {{"q", "v"}, {{"k", "v", "wo"}, {"wo"}}}},
      {"mt5", {{"q", "v"}, {{"k", "v", "wi_1"}, {}}}},
      {"bart", bart},
      {"llama", llama},
      {"mistral", llama},
      {"qwen2", qwen},
      {"qwen3", qwen},
      {"mixtral", {{"q_proj", "v_proj"}, {{"k_proj", "v_proj", "w2"}, {"w2"}}}},
      {"qwen2_moe", qwen},
      {"qwen3_moe", qwen},
      {"gemma", qwen},
      {"gemma2", qwen},
      {"gemma3_text", qwen},
      {"phi", {{"q_proj", "v_proj", "fc1", "fc2"}, {{"q_proj", "v_proj", "fc2"}, {"fc2"}}}},
      {"gpt_neox", neox},
      {"bloom", {{"query_key_value"}, {{"query_key_value", "mlp.dense_4h_to_h"}, {"mlp.dense_4h_to_h"}}}},
      {"falcon", neox},
      {"mpt", {{"Wqkv"}, {{"Wqkv", "down_proj"}, {"down_proj"}}}},  // peft has no IA3 targets for it
      {"stablelm", qwen},
      {"opt", {{"q_proj", "v_proj"}, {{"q_proj", "k_proj", "fc2"}, {"fc2"}}}},
      {"codegen", {{"qkv_proj"}, {{"qkv_proj", "fc_out"}, {"fc_out"}}}},  // for IA3 like GPT-J
      // Families that peft does not support.
      {"attend-gpt3", gpt2},
      {"openai-gpt", gpt2},
      {"phi3", {{"qkv_proj"}, {{"qkv_proj", "down_proj"}, {"down_proj"}}}},
      {"smollm3", qwen},
      {"granite", qwen},
      {"olmo2", qwen},
      {"olmo3", qwen},
      {"modernbert", {{"Wqkv"}, {{"Wqkv", "mlp.Wo"}, {"mlp.Wo"}}}},
      {"olmoe", qwen},
      {"gpt_oss", {{"q_proj", "v_proj"}, {{"k_proj", "v_proj"}, {}}}},
      {"starcoder2", {{"q_proj", "v_proj"}, {{"q_proj", "v_proj", "c_proj"}, {"c_proj"}}}},
      {"cohere", qwen},
      {"marian", bart},
      {"m2m_100", bart},
      {"mbart", bart},
      {"plbart", bart},
      {"pegasus", bart},
      {"blenderbot", bart},
      {"blenderbot-small", bart},
      {"xglm", bart},
      {"biogpt", bart},
      {"umt5", {{"q", "v"}, {{"k", "v", "wo"}, {"wo"}}}},
      {"data2vec-text", bert},
      {"ernie", bert},
      {"megatron-bert", bert},
      {"roberta-prelayernorm", bert},
      {"roformer", bert},
      {"xlm-roberta-xl", bert},
      {"mpnet", {{"q", "v"}, {{"k", "v", "output.dense"}, {"output.dense"}}}},
      {"big_bird", bert},
      {"camembert", bert},
      {"vit", bert},
      {"vit_msn", bert},
      {"albert", {{"query", "value"}, {{"key", "value", "ffn_output"}, {"ffn_output"}}}},
      {"distilbert", lin},
      {"xlm", lin},
      {"ctrl", {{"Wq", "Wv"}, {{"Wk", "Wv", "ffn.2"}, {"ffn.2"}}}},
      {"xlnet", {{"layer_1", "layer_2"}, {{"layer_2"}, {"layer_2"}}}},
      {"transfo-xl", {{"qkv_net"}, {{"qkv_net", "CoreNet.3"}, {"CoreNet.3"}}}},
  };
  return all;
}

const Targets& find_targets(std::string_view model_type) {
  const auto found = table().find(model_type);
  if (found == table().end())
    fail("{}: this model type has no default target modules; name them (--lora-targets)", model_type);
  return found->second;
}

}  // namespace

std::vector<std::string> default_lora_targets(std::string_view model_type) {
  return find_targets(model_type).lora;
}

Ia3Targets default_ia3_targets(std::string_view model_type) {
  return find_targets(model_type).ia3;
}

}  // namespace attend
