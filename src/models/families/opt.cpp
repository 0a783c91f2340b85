// OPT: Zhang et al. 2022, arXiv:2205.01068. Checkpoints: facebook/opt-*.
#include "base/error.h"
#include "models/families/fairseq_decoder.h"
#include "models/families/gpt_decoder.h"

namespace attend {
namespace {

constexpr FairseqRelative opt_relative = {.vocabulary = 50272,
                                          .width = 768,
                                          .layers = 12,
                                          .heads = 12,
                                          .inner = 3072,
                                          .positions = 2048,
                                          .activation = "relu",
                                          .scales_embeddings = false};

ModelSpec opt_spec(const Fields& config, std::string_view architecture) {
  if (!config.flag({"layer_norm_elementwise_affine"}, true))
    fail("{}: layer_norm_elementwise_affine: only true is supported", config.source());
  ModelSpec model;
  StackSpec& stack = model.decoder.emplace(read_fairseq_decoder(config, opt_relative));
  stack.embeddings.positions = positions_by_token(config, opt_relative);
  // The model with 350M parameters has BERT's norms and narrower embeddings.
  const bool before = config.flag({"do_layer_norm_before"}, true), bias = config.flag({"enable_bias"}, true);
  if (!before || config.flag({"_remove_final_layer_norm"}, false)) stack.final_norm.reset();
  for (LayerSpec& layer : stack.layers) {
    layer.order = before ? NormOrder::pre : NormOrder::post;
    layer.self_attention.input_bias = layer.self_attention.output_bias = layer.feed_forward.bias = bias;
  }
  const std::int64_t width = stack.width();
  stack.embeddings.width = config.maybe_integer({"word_embed_proj_dim"}, 1).value_or(width);
  if (stack.embeddings.width != width) {
    stack.embeddings.projected_width = width;
    stack.embeddings.projection = EmbeddingSpec::Projection::tokens;
    stack.projects_back = true;
  }
  put_gpt_heads(model, config, architecture);
  model.initialization.range = config.number({"init_std"}, 0.02, 0, 10);
  return model;
}

Json fresh_opt(std::string_view preset) {
  const bool tiny = preset == "tiny", larger = preset == "1.3b";
  return {{"model_type", "opt"},
          {"architectures", {"OPTForCausalLM"}},
          {"vocab_size", 50272},
          {"hidden_size", tiny     ? 256
                          : larger ? 2048
                                   : 768},
          {"word_embed_proj_dim", tiny     ? 256
                                  : larger ? 2048
                                           : 768},
          {"num_hidden_layers", tiny     ? 4
                                : larger ? 24
                                         : 12},
          {"num_attention_heads", tiny     ? 4
                                  : larger ? 32
                                           : 12},
          {"ffn_dim", tiny     ? 1024
                      : larger ? 8192
                               : 3072},
          {"max_position_embeddings", tiny ? 512 : 2048},
          {"do_layer_norm_before", true},
          {"activation_function", "relu"},
          {"dropout", 0.1},
          {"attention_dropout", 0.0},
          {"init_std", 0.02},
          {"pad_token_id", 1},
          {"bos_token_id", 2},
          {"eos_token_id", 2}};
}

}  // namespace

extern const Family opt;
const Family opt = {
    .model_type = "opt",
    .prefix = "model",
    .architectures = {"OPTForCausalLM", "OPTModel", "OPTForSequenceClassification",
                      "OPTForQuestionAnswering"},
    .spec = opt_spec,
    .weights =
        [](const ModelSpec& model) {
          return fairseq_decoder_weights(model, "model.decoder", "final_layer_norm");
        },
    .ignored = {"lm_head.weight"},
    .optional_fields = {"enable_bias", "tie_word_embeddings", "num_labels", "id2label", "label2id",
                        "problem_type"},
    .presets = {"125m", "1.3b", "tiny"},
    .fresh_config = fresh_opt,
};

}  // namespace attend
