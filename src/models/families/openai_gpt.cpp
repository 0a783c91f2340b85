// GPT: Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training".
// Checkpoints: openai-community/openai-gpt.
#include "models/families/gpt_decoder.h"

namespace attend {
namespace {

constexpr GptRelative openai_gpt_relative = {.order = NormOrder::post, .vocabulary = 40478, .positions = 512};

ModelSpec openai_gpt_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = gpt_model(config, architecture, openai_gpt_relative);
  // Its "gelu" is the approximation that later models call gelu_new.
  const bool gelu = config.text({"afn"}, "gelu") == "gelu";
  for (LayerSpec& layer : model.decoder->layers) {
    layer.feed_forward.activation = gelu ? Activation::gelu_tanh : read_activation(config, {"afn"}, "gelu");
    layer.self_attention.quirks.later_penalty = -1e4;
    layer.self_attention.quirks.later_scores_are_equal = true;
  }
  return model;
}

std::vector<WeightName> openai_gpt_weights(const ModelSpec& model) {
  constexpr auto conv1d = WeightLayout::transposed;
  const std::string theirs = "transformer.h.{i}.", ours = "decoder.layers.{i}.";
  std::vector<WeightName> table = {
      // checkpoint, ours
      {"transformer.tokens_embed.weight", "decoder.embeddings.tokens"},
      {"transformer.positions_embed.weight", "decoder.embeddings.positions"},
      {theirs + "attn.c_attn.weight", ours + "self_attention.query_key_value.weight", conv1d},
      {theirs + "attn.c_attn.bias", ours + "self_attention.query_key_value.bias"},
      {theirs + "attn.c_proj.weight", ours + "self_attention.output.weight", conv1d},
      {theirs + "attn.c_proj.bias", ours + "self_attention.output.bias"},
      {theirs + "ln_1.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {theirs + "mlp.c_fc.weight", ours + "feed_forward.in.weight", conv1d},
      {theirs + "mlp.c_fc.bias", ours + "feed_forward.in.bias"},
      {theirs + "mlp.c_proj.weight", ours + "feed_forward.out.weight", conv1d},
      {theirs + "mlp.c_proj.bias", ours + "feed_forward.out.bias"},
      {theirs + "ln_2.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
  };
  return with_gpt_heads(model, std::move(table));
}

Json fresh_openai_gpt(std::string_view) {
  return {{"model_type", "openai-gpt"},
          {"architectures", {"OpenAIGPTLMHeadModel"}},
          {"vocab_size", 40478},
          {"n_positions", 512},
          {"n_embd", 768},
          {"n_layer", 12},
          {"n_head", 12},
          {"afn", "gelu"},
          {"resid_pdrop", 0.1},
          {"embd_pdrop", 0.1},
          {"attn_pdrop", 0.1},
          {"layer_norm_epsilon", 1e-5},
          {"initializer_range", 0.02}};
}

}  // namespace

extern const Family openai_gpt;
const Family openai_gpt = {
    .model_type = "openai-gpt",
    .prefix = "transformer",
    .architectures = {"OpenAIGPTLMHeadModel", "OpenAIGPTModel", "OpenAIGPTDoubleHeadsModel",
                      "OpenAIGPTForSequenceClassification"},
    .spec = openai_gpt_spec,
    .weights = openai_gpt_weights,
    .ignored = {"transformer.h.{i}.attn.bias", "transformer.position_ids"},
    .optional_fields = {"tie_word_embeddings", "pad_token_id", "num_labels", "id2label", "label2id",
                        "problem_type"},
    .presets = {"base"},
    .fresh_config = fresh_openai_gpt,
};

}  // namespace attend
