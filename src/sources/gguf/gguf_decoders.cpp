// Llama and its relatives in GGUF files.
#include "base/error.h"
#include "sources/gguf/gguf_architectures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace attend {
namespace {

using GgufRows = GgufName::Rows;

// The converter's names for the parts of Llama's blocks, and of its relatives that have more.
constexpr GgufName llama_names[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm"},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj"},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj"},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
    {"blk.#.attn_qkv", "model.layers.#.self_attn.qkv_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm"},
    {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm"},
    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm"},
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
    {"blk.#.post_ffw_norm", "model.layers.#.post_feedforward_layernorm"},
};
// llama.cpp rotates neighbours in these, so the converter changed the order of rows.
constexpr GgufName pair_names[] = {
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj", GgufRows::query_pairs},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj", GgufRows::key_pairs},
};
constexpr GgufName gemma2_names[] = {{"blk.#.ffn_norm", "model.layers.#.pre_feedforward_layernorm"}};
constexpr GgufName olmo_names[] = {{"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm"}};
constexpr GgufName phi_names[] = {
    {"output_norm", "model.final_layernorm"},
    {"blk.#.attn_output", "model.layers.#.self_attn.dense"},
    {"blk.#.ffn_up", "model.layers.#.mlp.fc1"},
    {"blk.#.ffn_down", "model.layers.#.mlp.fc2"},
};
constexpr GgufName phi3_names[] = {{"blk.#.ffn_up", "model.layers.#.mlp.gate_up_proj"}};
constexpr GgufName starcoder2_names[] = {
    {"blk.#.ffn_up", "model.layers.#.mlp.c_fc"},
    {"blk.#.ffn_down", "model.layers.#.mlp.c_proj"},
};
constexpr GgufName neox_names[] = {
    {"token_embd", "gpt_neox.embed_in"},
    {"output_norm", "gpt_neox.final_layer_norm"},
    {"output", "embed_out"},
    {"blk.#.attn_norm", "gpt_neox.layers.#.input_layernorm"},
    {"blk.#.attn_qkv", "gpt_neox.layers.#.attention.query_key_value", GgufRows::by_head},
    {"blk.#.attn_output", "gpt_neox.layers.#.attention.dense"},
    {"blk.#.ffn_norm", "gpt_neox.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_up", "gpt_neox.layers.#.mlp.dense_h_to_4h"},
    {"blk.#.ffn_down", "gpt_neox.layers.#.mlp.dense_4h_to_h"},
};

// Divisors for the frequencies of rotary positions, one per pair.
std::vector<float> read_divisors(const GgufParts& files, const std::string& name, std::int64_t pairs) {
  const GgufTensor& tensor = files.tensor(name);
  if (tensor.shape != std::vector<std::int64_t>{pairs})
    fail("{}: tensor {}: expected {} numbers, one for each rotated pair", files.source(), name, pairs);
  std::vector<float> divisors(static_cast<std::size_t>(pairs));
  decode_blocks(*tensor.type, tensor.data, divisors);
  return divisors;
}

// rope_scaling; null: none. `turned`: the number of rotated elements of a head.
Json read_scaling(const GgufParts& files, const GgufArchitecture& architecture, std::int64_t turned,
                  Json& config) {
  const Fields& metadata = files.metadata();
  const auto key = [&](const char* name) { return architecture.key(std::string("rope.scaling.") + name); };
  if (const auto original = metadata.maybe_integer({key("original_context_length")}, 1);
      original && files.find("rope_factors_long.weight") != nullptr)
    config["original_max_position_embeddings"] = *original;
  if (files.find("rope_factors_long.weight") != nullptr)  // Phi-3
    return {{"type", "longrope"},
            {"short_factor", read_divisors(files, "rope_factors_short.weight", turned / 2)},
            {"long_factor", read_divisors(files, "rope_factors_long.weight", turned / 2)}};
  if (files.find("rope_freqs.weight") != nullptr) {  // Llama 3.1's scaling; its parameters are not in the
                                                     // file
    const std::vector<float> divisors = read_divisors(files, "rope_freqs.weight", turned / 2);
    return {
        {"rope_type", "longrope"},  {"factor", 1.0},
        {"attention_factor", 1.0},  {"original_max_position_embeddings", config["max_position_embeddings"]},
        {"short_factor", divisors}, {"long_factor", divisors}};
  }
  const double factor = metadata.number({key("factor"), architecture.key("rope.scale_linear")}, 1, 0, 1e6);
  const std::string kind = metadata.text({key("type")}, factor > 0 && factor != 1 ? "linear" : "none");
  if (kind == "none" || kind == "longrope" || factor == 0) return nullptr;
  if (kind == "linear") return {{"rope_type", "linear"}, {"factor", factor}};
  if (kind != "yarn")
    fail("{}: {}: expected none, linear, yarn or longrope, found {}", files.source(), key("type"), kind);
  Json scaling = {{"rope_type", "yarn"}, {"factor", factor}};
  if (const auto original = metadata.maybe_integer({key("original_context_length")}, 1))
    scaling["original_max_position_embeddings"] = *original;
  for (const char* name : {"beta_fast", "beta_slow"})
    if (const auto value = metadata.maybe_number({key(std::string("yarn_").append(name).c_str())}))
      scaling[name] = *value;
  const double scores = metadata.number({key("attn_factor")}, 1, 1e-6, 1e6);
  if (scores != 1) scaling["attention_factor"] = scores * (0.1 * std::log(factor) + 1);
  return scaling;
}

// For all families: sizes that must be computed, and rotary settings.
void complete_decoder(const GgufParts& files, Json& config) {
  const GgufArchitecture& architecture = gguf_architecture(files.first());
  const Fields fields(config, files.source());
  if (files.metadata().integer({architecture.key("expert_count")}, 0, 0) > 0)
    fail("{}: {}: layers of experts in GGUF files are not supported; give the Hugging Face directory",
         files.source(), architecture.key("expert_count"));
  const std::int64_t width = fields.integer({"hidden_size"}), heads = fields.integer({"num_attention_heads"}),
                     head = fields.integer({"head_dim"}, std::max<std::int64_t>(1, width / heads)),
                     turned = files.metadata().integer({architecture.key("rope.dimension_count")}, head);
  if (turned > head)
    fail("{}: {}: expected at most the {} numbers of a head, found {}", files.source(),
         architecture.key("rope.dimension_count"), head, turned);
  config["head_dim"] = head;
  if (!config.contains("rope_theta")) config["rope_theta"] = 10000.0;
  const char* const part = config.contains("rotary_pct") ? "rotary_pct" : "partial_rotary_factor";
  if (turned != head || config.contains(part))
    config[part] = static_cast<double>(turned) / static_cast<double>(head);
  if (const Json scaling = read_scaling(files, architecture, turned, config); !scaling.is_null())
    config["rope_scaling"] = scaling;
  if (config.contains("sliding_window") && config["sliding_window"] == 0) config["sliding_window"] = nullptr;
  if (!config.contains("pad_token_id")) config["pad_token_id"] = nullptr;
  config["tie_word_embeddings"] = !has_own_head(files);
}

// Which layers have a window: a flag for each, or every how many layers one has none.
void complete_windows(const GgufParts& files, Json& config) {
  const std::string key = gguf_architecture(files.first()).key("attention.sliding_window_pattern");
  if (!files.first().has_array(key)) {
    if (const auto pattern = files.metadata().maybe_integer({key}, 1))
      config["sliding_window_pattern"] = *pattern;
    return;
  }
  config["layer_types"] = Json::array();
  for (const std::int64_t sliding : files.first().integers(key))
    config["layer_types"].push_back(sliding != 0 ? "sliding_attention" : "full_attention");
}

// The largest model of each generation scales its scores by width / heads, the others by head_size.
void complete_gemma(const GgufParts& files, Json& config) {
  complete_decoder(files, config);
  complete_windows(files, config);
  constexpr std::int64_t layers_of_27b[] = {46, 62};
  const std::int64_t layers = config["num_hidden_layers"], width = config["hidden_size"],
                     heads = config["num_attention_heads"], head = config["head_dim"];
  const bool largest = layers == layers_of_27b[config["model_type"] == "gemma2" ? 0 : 1];
  config["query_pre_attn_scalar"] = largest ? width / heads : head;
}

void complete_granite(const GgufParts& files, Json& config) {
  complete_decoder(files, config);
  if (!config.contains("attention_multiplier"))
    config["attention_multiplier"] = 1 / std::sqrt(config["head_dim"].get<double>());
}

void complete_neox(const GgufParts& files, Json& config) {
  complete_decoder(files, config);
  config["rotary_emb_base"] = config["rope_theta"];
  for (const char* field : {"rope_theta", "num_key_value_heads", "head_dim"}) config.erase(field);
}

// Both generations have the same blocks, but only the third has windows.
void complete_olmo(const GgufParts& files, Json& config) {
  complete_decoder(files, config);
  if (!config.contains("sliding_window")) return;
  config["model_type"] = "olmo3";
  config["architectures"] = {"Olmo3ForCausalLM"};
  complete_windows(files, config);
}

std::vector<GgufField> with(std::vector<GgufField> fields, const std::vector<GgufField>& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

// The fields that all of them have.
const std::vector<GgufField>& common_fields() {
  static const std::vector<GgufField> all = {
      {"num_hidden_layers", {"block_count"}},
      {"max_position_embeddings", {"context_length"}},
      {"hidden_size", {"embedding_length"}},
      {"intermediate_size", {"feed_forward_length"}},
      {"num_attention_heads", {"attention.head_count"}},
      {"num_key_value_heads", {"attention.head_count_kv", "attention.head_count"}},
      {"head_dim", {"attention.key_length"}},
      {"rope_theta", {"rope.freq_base"}}};
  return all;
}

// The common fields, with the name that a family's config has for the epsilon of its norms.
std::vector<GgufField> with_norm(const char* field) {
  return with(common_fields(),
              {{field, {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"}}});
}

std::vector<GgufField> with_window(const char* norm) {
  return with(with_norm(norm), {{"sliding_window", {"attention.sliding_window"}}});
}

// config.json's flags, true if the file has the tensor.
const GgufField kAttentionBias = {"attention_bias", {"blk.0.attn_q.bias"}};
const GgufField kFeedForwardBias = {"mlp_bias", {"blk.0.ffn_up.bias"}};

// Llama and its closest relatives.
std::vector<GgufArchitecture> llama_like() {
  const std::vector<GgufField> root = with_norm("rms_norm_eps");
  const std::vector<GgufField> window = with_window("rms_norm_eps");
  const std::vector<GgufField> biases = {kAttentionBias};
  const std::vector<GgufField> all_biases = {kAttentionBias, kFeedForwardBias};
  return {
      {"llama",
       "llama",
       "LlamaForCausalLM",
       {pair_names, llama_names},
       root,
       {},
       all_biases,
       complete_decoder},
      {"qwen2", "qwen2", "Qwen2ForCausalLM", {llama_names}, root, {}, {}, complete_decoder},
      {"qwen3", "qwen3", "Qwen3ForCausalLM", {llama_names}, root, {}, biases, complete_decoder},
      {"olmo2", "olmo2", "Olmo2ForCausalLM", {olmo_names, llama_names}, window, {}, biases, complete_olmo},
      {"smollm3",
       "smollm3",
       "SmolLM3ForCausalLM",
       {pair_names, llama_names},
       root,
       {{"no_rope_layer_interval", 4}},
       all_biases,
       complete_decoder},
      {"granite",
       "granite",
       "GraniteForCausalLM",
       {pair_names, llama_names},
       with(root, {{"embedding_multiplier", {"embedding_scale"}},
                   {"residual_multiplier", {"residual_scale"}},
                   {"attention_multiplier", {"attention.scale"}},
                   {"logits_scaling", {"logit_scale"}}}),
       {},
       all_biases,
       complete_granite},
  };
}

// The three Gemmas, whose norms have an offset of 1.
std::vector<GgufArchitecture> gemmas() {
  const std::vector<GgufField> root = with_norm("rms_norm_eps");
  const std::vector<GgufField> window = with_window("rms_norm_eps");
  const std::vector<GgufField> biases = {kAttentionBias};
  return {
      {"gemma", "gemma", "GemmaForCausalLM", {llama_names}, root, {}, biases, complete_decoder, 1},
      {"gemma2",
       "gemma2",
       "Gemma2ForCausalLM",
       {gemma2_names, llama_names},
       with(window, {{"attn_logit_softcapping", {"attn_logit_softcapping"}},
                     {"final_logit_softcapping", {"final_logit_softcapping"}}}),
       {},
       biases,
       complete_gemma,
       1},
      {"gemma3",
       "gemma3_text",
       "Gemma3ForCausalLM",
       {gemma2_names, llama_names},
       with(window, {{"final_logit_softcapping", {"final_logit_softcapping"}},
                     {"rope_local_base_freq", {"rope.freq_base_swa"}}}),
       {},
       biases,
       complete_gemma,
       1},
  };
}

// Families with norms, biases or rotary parts of their own.
std::vector<GgufArchitecture> others() {
  const std::vector<GgufField> layer = with_norm("layer_norm_eps");
  const std::vector<GgufField> window = with_window("rms_norm_eps");
  const std::vector<GgufField> biases = {kAttentionBias};
  return {
      {"phi2",
       "phi",
       "PhiForCausalLM",
       {phi_names, llama_names},
       layer,
       {{"partial_rotary_factor", 1.0}},
       {},
       complete_decoder},
      {"phi3", "phi3", "Phi3ForCausalLM", {phi3_names, llama_names}, window, {}, {}, complete_decoder},
      {"command-r",
       "cohere",
       "CohereForCausalLM",
       {llama_names},
       with(layer, {{"logit_scale", {"logit_scale"}}}),
       {},
       with(biases, {{"use_qk_norm", {"blk.0.attn_q_norm.weight"}}}),
       complete_decoder},
      {"stablelm",
       "stablelm",
       "StableLmForCausalLM",
       {llama_names},
       with(layer, {{"use_parallel_residual", {"use_parallel_residual"}}}),
       {{"partial_rotary_factor", 1.0}},
       {{"use_qkv_bias", {"blk.0.attn_q.bias"}}, {"qk_layernorm", {"blk.0.attn_q_norm.weight"}}},
       complete_decoder},
      {"starcoder2",
       "starcoder2",
       "Starcoder2ForCausalLM",
       {starcoder2_names, llama_names},
       with_norm("norm_epsilon"),
       {},
       {{"use_bias", {"blk.0.attn_q.bias"}}},
       complete_decoder},
      {"gptneox",
       "gpt_neox",
       "GPTNeoXForCausalLM",
       {neox_names},
       with(layer, {{"use_parallel_residual", {"use_parallel_residual"}}}),
       {{"rotary_pct", 1.0}},
       {{"attention_bias", {"blk.0.attn_qkv.bias"}}},
       complete_neox},
  };
}

}  // namespace

std::vector<GgufArchitecture> gguf_decoders() {
  std::vector<GgufArchitecture> all;
  for (const auto group : {llama_like, gemmas, others})
    for (const GgufArchitecture& each : group()) all.push_back(each);
  return all;
}

}  // namespace attend
