// XGLM: Lin et al. 2021, arXiv:2112.10668: a multilingual language model. Checkpoints: facebook/xglm-*.
#include "base/error.h"
#include "models/families/fairseq_decoder.h"
#include "models/families/gpt_decoder.h"

namespace attend {
namespace {

constexpr FairseqRelative xglm_relative = {.vocabulary = 256008,
                                           .width = 1024,
                                           .layers = 24,
                                           .heads = 16,
                                           .inner = 4096,
                                           .positions = 2048,
                                           .attention_dropout = 0.1};

ModelSpec xglm_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  StackSpec& stack = model.decoder.emplace(read_fairseq_decoder(config, xglm_relative));
  if (stack.width() < 4) fail("{}: d_model: expected at least 4, found {}", config.source(), stack.width());
  stack.embeddings.positions = SinusoidalPositions{
      .count = config.integer({"max_position_embeddings"}, xglm_relative.positions, 1, 1 << 20),
      .offset = 2,
      .ends_included = true,
      .grows = true};
  if (config.flag({"add_cross_attention"}, false))
    for (LayerSpec& layer : stack.layers) {
      layer.cross_attention = layer.self_attention;
      layer.cross_attention->causal = false;
    }
  put_gpt_heads(model, config, architecture);
  model.initialization.range = config.number({"init_std"}, 0.02, 0, 10);
  return model;
}

Json fresh_xglm(std::string_view preset) {
  const bool tiny = preset == "tiny";
  return {{"model_type", "xglm"},
          {"architectures", {"XGLMForCausalLM"}},
          {"vocab_size", 256008},
          {"d_model", tiny ? 256 : 1024},
          {"num_layers", tiny ? 4 : 24},
          {"attention_heads", tiny ? 4 : 16},
          {"ffn_dim", tiny ? 1024 : 4096},
          {"max_position_embeddings", 2048},
          {"activation_function", "gelu"},
          {"dropout", 0.1},
          {"attention_dropout", 0.1},
          {"scale_embedding", true},
          {"init_std", 0.02},
          {"bos_token_id", 0},
          {"pad_token_id", 1},
          {"eos_token_id", 2},
          {"decoder_start_token_id", 2}};
}

}  // namespace

extern const Family xglm;
const Family xglm = {
    .model_type = "xglm",
    .prefix = "model",
    .architectures = {"XGLMForCausalLM", "XGLMModel"},
    .spec = xglm_spec,
    .weights = [](const ModelSpec& model) { return fairseq_decoder_weights(model, "model", "layer_norm"); },
    .ignored = {"model.embed_positions.weights"},
    .optional_fields = {"activation_dropout", "add_cross_attention", "tie_word_embeddings"},
    .presets = {"564M", "tiny"},
    .fresh_config = fresh_xglm,
};

}  // namespace attend
