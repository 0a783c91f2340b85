#include "models/adapters/adapter_targets.h"

#include "base/error.h"

#include <map>

namespace attend {
namespace {

struct Targets {
  std::vector<std::string> lora;
  Ia3Targets ia3;
};

using Table = std::map<std::string, Targets, std::less<>>;

// What several families share.
const Targets kBert{{"query", "value"}, {{"key", "value", "output.dense"}, {"output.dense"}}};
const Targets kBart{{"q_proj", "v_proj"}, {{"q_proj", "v_proj", "fc2"}, {"fc2"}}};
const Targets kGpt2{{"c_attn"}, {{"c_attn", "mlp.c_proj"}, {"mlp.c_proj"}}};
const Targets kLlama{{"q_proj", "v_proj"}, {{"k_proj", "v_proj", "down_proj"}, {"down_proj"}}};
const Targets kQwen{{"q_proj", "v_proj"}, {{"q_proj", "v_proj", "down_proj"}, {"down_proj"}}};
const Targets kNeox{{"query_key_value"}, {{"query_key_value", "dense_4h_to_h"}, {"dense_4h_to_h"}}};
const Targets kLin{{"q_lin", "v_lin"}, {{"k_lin", "v_lin", "lin2"}, {"lin2"}}};

// As in peft's tables; for IA3, xlm-roberta and electra are like bert.
const Table& peft_table() {
  static const Table all = {
      {"bert", kBert},
      {"roberta", kBert},
      {"xlm-roberta", kBert},
      {"electra", kBert},
      {"deberta", {{"in_proj"}, {{"in_proj", "output.dense"}, {"output.dense"}}}},
      {"deberta-v2",
       {{"query_proj", "value_proj"}, {{"key_proj", "value_proj", "output.dense"}, {"output.dense"}}}},
      {"gpt2", kGpt2},
      {"gpt_neo", {{"q_proj", "v_proj"}, {{"q_proj", "v_proj", "c_proj"}, {"c_proj"}}}},
      {"gptj", {{"q_proj", "v_proj"}, {{"q_proj", "v_proj", "fc_out"}, {"fc_out"}}}},
      {"t5", {{"q", "v"}, {{"k", "v", "wo"}, {"wo"}}}},
      {"mt5", {{"q", "v"}, {{"k", "v", "wi_1"}, {}}}},
      {"bart", kBart},
      {"llama", kLlama},
      {"mistral", kLlama},
      {"qwen2", kQwen},
      {"qwen3", kQwen},
      {"mixtral", {{"q_proj", "v_proj"}, {{"k_proj", "v_proj", "w2"}, {"w2"}}}},
      {"qwen2_moe", kQwen},
      {"qwen3_moe", kQwen},
      {"gemma", kQwen},
      {"gemma2", kQwen},
      {"gemma3_text", kQwen},
      {"phi", {{"q_proj", "v_proj", "fc1", "fc2"}, {{"q_proj", "v_proj", "fc2"}, {"fc2"}}}},
      {"gpt_neox", kNeox},
      {"bloom", {{"query_key_value"}, {{"query_key_value", "mlp.dense_4h_to_h"}, {"mlp.dense_4h_to_h"}}}},
      {"falcon", kNeox},
      {"mpt", {{"Wqkv"}, {{"Wqkv", "down_proj"}, {"down_proj"}}}},  // peft has no IA3 targets for it
      {"stablelm", kQwen},
      {"opt", {{"q_proj", "v_proj"}, {{"q_proj", "k_proj", "fc2"}, {"fc2"}}}},
      {"codegen", {{"qkv_proj"}, {{"qkv_proj", "fc_out"}, {"fc_out"}}}},  // for IA3 like GPT-J
  };
  return all;
}

// Families that peft does not support.
const Table& own_table() {
  static const Table all = {
      {"attend-gpt3", kGpt2},
      {"openai-gpt", kGpt2},
      {"phi3", {{"qkv_proj"}, {{"qkv_proj", "down_proj"}, {"down_proj"}}}},
      {"smollm3", kQwen},
      {"granite", kQwen},
      {"olmo2", kQwen},
      {"olmo3", kQwen},
      {"modernbert", {{"Wqkv"}, {{"Wqkv", "mlp.Wo"}, {"mlp.Wo"}}}},
      {"nomic_bert", {{"Wqkv"}, {{"Wqkv", "mlp.fc2"}, {"mlp.fc2"}}}},
      {"new", {{"qkv_proj"}, {{"qkv_proj", "down_proj"}, {"down_proj"}}}},
      {"jina_bert", {{"query", "value"}, {{"key", "value", "mlp.wo"}, {"mlp.wo"}}}},
      {"olmoe", kQwen},
      {"gpt_oss", {{"q_proj", "v_proj"}, {{"k_proj", "v_proj"}, {}}}},
      {"starcoder2", {{"q_proj", "v_proj"}, {{"q_proj", "v_proj", "c_proj"}, {"c_proj"}}}},
      {"cohere", kQwen},
      {"marian", kBart},
      {"m2m_100", kBart},
      {"mbart", kBart},
      {"plbart", kBart},
      {"pegasus", kBart},
      {"blenderbot", kBart},
      {"blenderbot-small", kBart},
      {"xglm", kBart},
      {"biogpt", kBart},
      {"umt5", {{"q", "v"}, {{"k", "v", "wo"}, {"wo"}}}},
      {"data2vec-text", kBert},
      {"ernie", kBert},
      {"megatron-bert", kBert},
      {"roberta-prelayernorm", kBert},
      {"roformer", kBert},
      {"xlm-roberta-xl", kBert},
      {"mpnet", {{"q", "v"}, {{"k", "v", "output.dense"}, {"output.dense"}}}},
      {"big_bird", kBert},
      {"camembert", kBert},
      {"vit", kBert},
      {"vit_msn", kBert},
      {"albert", {{"query", "value"}, {{"key", "value", "ffn_output"}, {"ffn_output"}}}},
      {"distilbert", kLin},
      {"xlm", kLin},
      {"ctrl", {{"Wq", "Wv"}, {{"Wk", "Wv", "ffn.2"}, {"ffn.2"}}}},
      {"xlnet", {{"layer_1", "layer_2"}, {{"layer_2"}, {"layer_2"}}}},
      {"transfo-xl", {{"qkv_net"}, {{"qkv_net", "CoreNet.3"}, {"CoreNet.3"}}}},
  };
  return all;
}

const Targets& find_targets(std::string_view model_type) {
  for (const Table* table : {&peft_table(), &own_table()})
    if (const auto found = table->find(model_type); found != table->end()) return found->second;
  fail("{}: this model type has no default target modules; name them (`lora_targets`)", model_type);
}

}  // namespace

std::vector<std::string> default_lora_targets(std::string_view model_type) {
  return find_targets(model_type).lora;
}

Ia3Targets default_ia3_targets(std::string_view model_type) {
  return find_targets(model_type).ia3;
}

}  // namespace attend
