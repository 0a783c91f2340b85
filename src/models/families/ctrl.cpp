// CTRL: Keskar et al. 2019, arXiv:1909.05858. Checkpoints: Salesforce/ctrl.
#include "models/families/gpt_decoder.h"

#include <cmath>

namespace attend {
namespace {

constexpr GptRelative ctrl_relative = {
    .vocabulary = 246534, .width = 1280, .layers = 48, .heads = 16, .positions = 256, .norm_epsilon = 1e-6};

ModelSpec ctrl_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = gpt_model(config, architecture, ctrl_relative);
  EmbeddingSpec& embeddings = model.decoder->embeddings;
  embeddings.scale = std::sqrt(static_cast<double>(embeddings.width));
  embeddings.positions =
      SinusoidalPositions{config.integer({"n_positions"}, ctrl_relative.positions, 1, 1 << 20)};
  for (LayerSpec& layer : model.decoder->layers) {
    layer.norm = {1e-6};  // the config's value applies only to the final norm
    layer.self_attention.dropout = 0;
    layer.self_attention.quirks.later_penalty = -1e4;
    layer.feed_forward.width = config.integer({"dff"}, 8192);
    layer.feed_forward.activation = Activation::relu;
  }
  if (model.language_model_head) model.language_model_head->bias = true;
  return model;
}

std::vector<WeightName> ctrl_weights(const ModelSpec& model) {
  const std::string theirs = "transformer.h.{i}.", ours = "decoder.layers.{i}.";
  std::vector<WeightName> table = {
      // checkpoint, ours
      {"transformer.w.weight", "decoder.embeddings.tokens"},
      {theirs + "multi_head_attention.{Wq|Wk|Wv}.{weight|bias}",
       ours + "self_attention.query_key_value.{weight|bias}"},
      {theirs + "multi_head_attention.dense.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {theirs + "layernorm1.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {theirs + "ffn.0.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {theirs + "ffn.2.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {theirs + "layernorm2.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {"transformer.layernorm.{weight|bias}", "decoder.final_norm.{weight|bias}"},
  };
  return with_gpt_heads(model, std::move(table), "classifier");
}

Json fresh_ctrl(std::string_view) {
  return {{"model_type", "ctrl"},
          {"architectures", {"CTRLLMHeadModel"}},
          {"vocab_size", 246534},
          {"n_positions", 256},
          {"n_embd", 1280},
          {"dff", 8192},
          {"n_layer", 48},
          {"n_head", 16},
          {"resid_pdrop", 0.1},
          {"embd_pdrop", 0.1},
          {"layer_norm_epsilon", 1e-6},
          {"initializer_range", 0.02}};
}

}  // namespace

extern const Family ctrl;
const Family ctrl = {
    .model_type = "ctrl",
    .prefix = "transformer",
    .architectures = {"CTRLLMHeadModel", "CTRLModel", "CTRLForSequenceClassification"},
    .spec = ctrl_spec,
    .weights = ctrl_weights,
    .ignored = {"transformer.pos_encoding"},
    .optional_fields = {"tie_word_embeddings", "pad_token_id", "num_labels", "id2label", "label2id",
                        "problem_type"},
    .presets = {"large"},
    .fresh_config = fresh_ctrl,
};

}  // namespace attend
