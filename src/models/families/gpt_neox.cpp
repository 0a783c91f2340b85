// GPT-NeoX: Black et al. 2022, arXiv:2204.06745: attention and feed-forward in parallel, each with its own
// norm. Checkpoints: EleutherAI/gpt-neox-20b, EleutherAI/pythia-*. Cohere:
// https://huggingface.co/CohereForAI/c4ai-command-r-v01: both with one norm, without biases. Checkpoints:
// CohereForAI/c4ai-command-r*, CohereForAI/aya-23-*.
#include "models/families/llama_decoder.h"

namespace attend {
namespace {

constexpr LlamaRelative neox_relative = {.vocabulary = 50432,
                                         .width = 6144,
                                         .inner = 24576,
                                         .layers = 44,
                                         .heads = 64,
                                         .norm = {.epsilon = 1e-5},
                                         .activation = "gelu",
                                         .gated = false,
                                         .rotary_part = 0.25};
constexpr LlamaRelative cohere_relative = {.vocabulary = 256000,
                                           .width = 8192,
                                           .inner = 22528,
                                           .layers = 40,
                                           .heads = 64,
                                           .positions = 8192,
                                           .padding_id = 0,
                                           .norm = {.epsilon = 1e-5, .bias = false},
                                           .order = NormOrder::parallel,
                                           .tied = true,
                                           .rotary_halves = false};

ModelSpec neox_spec(const Fields& config, std::string_view architecture) {
  LlamaRelative relative = neox_relative;
  const bool parallel = config.flag({"use_parallel_residual"}, true);
  if (parallel) relative.order = NormOrder::parallel;
  relative.rotary_part = config.number({"rotary_pct"}, relative.rotary_part, 0, 1);
  relative.rotary_base = config.number({"rotary_emb_base"}, relative.rotary_base, 1e-3, 1e30);
  ModelSpec model = llama_model(config, architecture, relative);
  const bool biases = config.flag({"attention_bias"}, true);
  const double dropout = read_dropout(config, {"hidden_dropout"}, 0);
  for (LayerSpec& layer : model.decoder->layers) {
    layer.two_norms = parallel;
    layer.self_attention.input_bias = layer.self_attention.output_bias = biases;
    layer.feed_forward.bias = true;
    layer.attention_result_dropout = layer.feed_forward_result_dropout = dropout;
  }
  model.decoder->embeddings.dropout = dropout;
  model.decoder->embeddings.padding_id = -1;  // its table has gradients for all tokens
  if (model.score_head && model.score_head->kind == ScoreKind::token_classification)
    model.score_head->dropout = read_dropout(config, {"classifier_dropout"}, 0.1);
  return model;
}

std::vector<WeightName> neox_weights(const ModelSpec& model) {
  const std::string theirs = "gpt_neox.layers.{i}.", ours = "decoder.layers.{i}.";
  const bool tokens = model.score_head && model.score_head->kind == ScoreKind::token_classification,
             spans = model.score_head && model.score_head->kind == ScoreKind::question_answering;
  return {
      // checkpoint, ours
      {"gpt_neox.embed_in.weight", "decoder.embeddings.tokens"},
      {theirs + "input_layernorm.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {.checkpoint = theirs + "attention.query_key_value.{weight|bias}",
       .ours = ours + "self_attention.query_key_value.{weight|bias}",
       .heads = model.decoder->layers.front().self_attention.heads},
      {theirs + "attention.dense.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {theirs + "post_attention_layernorm.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {theirs + "mlp.dense_h_to_4h.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {theirs + "mlp.dense_4h_to_h.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {"gpt_neox.final_layer_norm.{weight|bias}", "decoder.final_norm.{weight|bias}"},
      {"embed_out.weight", "language_model_head.weight"},
      {spans    ? "qa_outputs.{weight|bias}"
       : tokens ? "classifier.{weight|bias}"
                : "score.{weight|bias}",
       "score_head.out.{weight|bias}"},
  };
}

ModelSpec cohere_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = llama_model(config, architecture, cohere_relative);
  const bool biases = config.flag({"attention_bias"}, false), normed = config.flag({"use_qk_norm"}, false);
  for (LayerSpec& layer : model.decoder->layers) {
    layer.self_attention.input_bias = layer.self_attention.output_bias = biases;
    if (normed) layer.self_attention.query_key_norm = {layer.norm, QueryKeyNorm::Of::own_heads};
  }
  if (model.language_model_head)
    model.language_model_head->scale = config.number({"logit_scale"}, 0.0625, 1e-9, 1e9);
  return model;
}

std::vector<WeightName> cohere_weights(const ModelSpec& model) {
  std::vector<WeightName> table = llama_weights(model);
  const AttentionSpec& attention = model.decoder->layers.front().self_attention;
  const std::string theirs = "model.layers.{i}.self_attn.", ours = "decoder.layers.{i}.self_attention.";
  table.push_back({.checkpoint = theirs + "q_norm.weight",
                   .ours = ours + "query_norm.weight",
                   .shape = {attention.heads, attention.head_size}});
  table.push_back({.checkpoint = theirs + "k_norm.weight",
                   .ours = ours + "key_norm.weight",
                   .shape = {attention.heads_of_keys(), attention.head_size}});
  return table;
}

Json fresh_neox(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"70M", 512, 2048, 6, 8, 8},      {"160M", 768, 3072, 12, 12, 12},
                                        {"410M", 1024, 4096, 24, 16, 16}, {"1B", 2048, 8192, 16, 8, 8},
                                        {"20B", 6144, 24576, 44, 64, 64}, {"tiny", 256, 1024, 4, 4, 4}};
  Json config = fresh_llama_config("gpt_neox", "GPTNeoXForCausalLM", find_size(sizes, preset), neox_relative);
  for (const char* field : {"num_key_value_heads", "rope_theta"}) config.erase(field);
  config.update({{"rotary_pct", 0.25},
                 {"rotary_emb_base", 10000},
                 {"use_parallel_residual", true},
                 {"bos_token_id", 0},
                 {"eos_token_id", 0}});
  return config;
}

Json fresh_cohere(std::string_view preset) {
  static constexpr LlamaSize sizes[] = {{"35B", 8192, 22528, 40, 64, 64}, {"tiny", 256, 688, 4, 4, 2}};
  Json config = fresh_llama_config("cohere", "CohereForCausalLM", find_size(sizes, preset), cohere_relative);
  config.update(
      {{"logit_scale", 0.0625}, {"pad_token_id", 0}, {"bos_token_id", 5}, {"eos_token_id", 255001}});
  return config;
}

}  // namespace

extern const Family gpt_neox, cohere;
const Family gpt_neox = {
    .model_type = "gpt_neox",
    .prefix = "gpt_neox",
    .architectures = {"GPTNeoXForCausalLM", "GPTNeoXModel", "GPTNeoXForSequenceClassification",
                      "GPTNeoXForTokenClassification", "GPTNeoXForQuestionAnswering"},
    .spec = neox_spec,
    .weights = neox_weights,
    .ignored = {"gpt_neox.layers.{i}.attention.{bias|masked_bias}",
                "gpt_neox.layers.{i}.attention.rotary_emb.inv_freq"},
    .optional_fields =
        llama_optional_fields({"attention_bias", "hidden_dropout", "rope_theta", "partial_rotary_factor"}),
    .presets = {"70M", "160M", "410M", "1B", "20B", "tiny"},
    .fresh_config = fresh_neox,
};

const Family cohere = {
    .model_type = "cohere",
    .prefix = "model",
    .architectures = {"CohereForCausalLM", "CohereModel"},
    .spec = cohere_spec,
    .weights = cohere_weights,
    .optional_fields = llama_optional_fields({"attention_bias", "use_qk_norm"}),
    .presets = {"35B", "tiny"},
    .fresh_config = fresh_cohere,
};

}  // namespace attend
