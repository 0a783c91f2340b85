// BlenderBot: Roller et al. 2020, arXiv:2004.13637: a model for conversations. The small one has BART's
// norms. Checkpoints: facebook/blenderbot-*, facebook/blenderbot_small-90M.
#include "models/families/encoder_decoder.h"

namespace attend {
namespace {

constexpr SequenceToSequenceRelative blenderbot_relative = {.order = NormOrder::pre,
                                                            .vocabulary = 8008,
                                                            .width = 2560,
                                                            .heads = 32,
                                                            .inner = 10240,
                                                            .positions = 128,
                                                            .encoder_layers = 2,
                                                            .decoder_layers = 24,
                                                            .padding_id = 0};
constexpr SequenceToSequenceRelative small_relative = {.embedding_norm = true,
                                                       .vocabulary = 50265,
                                                       .width = 512,
                                                       .heads = 16,
                                                       .inner = 2048,
                                                       .positions = 512,
                                                       .encoder_layers = 8,
                                                       .decoder_layers = 8,
                                                       .padding_id = 0};

ModelSpec blenderbot_spec(const Fields& config, std::string_view architecture) {
  return bart_model(config, architecture, blenderbot_relative,
                    learned_positions(config, blenderbot_relative, 0));
}

ModelSpec small_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model =
      bart_model(config, architecture, small_relative, learned_positions(config, small_relative, 0));
  model.decoder->embeddings.norm_before_positions = true;
  model.decoder->embeddings.scale = 1;  // scale_embedding applies only to the encoder
  return model;
}

Json with_blenderbot_ids(Json config) {
  config.update({{"pad_token_id", 0},
                 {"bos_token_id", 1},
                 {"eos_token_id", 2},
                 {"decoder_start_token_id", 1},
                 {"forced_eos_token_id", 2}});
  return config;
}

// Like facebook/blenderbot-400M-distill and blenderbot-3B.
Json fresh_blenderbot(std::string_view preset) {
  SequenceToSequenceRelative size = blenderbot_relative;
  size.scales_embeddings = true;
  if (preset == "400M") size.width = 1280, size.inner = 5120, size.decoder_layers = 12;
  return with_blenderbot_ids(
      fresh_bart_config("blenderbot", "BlenderbotForConditionalGeneration", sized(size, preset)));
}

Json fresh_blenderbot_small(std::string_view preset) {
  SequenceToSequenceRelative size = small_relative;
  size.vocabulary = 54944, size.scales_embeddings = true;
  return with_blenderbot_ids(
      fresh_bart_config("blenderbot-small", "BlenderbotSmallForConditionalGeneration", sized(size, preset)));
}

}  // namespace

extern const Family blenderbot, blenderbot_small;
const Family blenderbot = {
    .model_type = "blenderbot",
    .prefix = "model",
    .architectures = {"BlenderbotForConditionalGeneration", "BlenderbotModel", "BlenderbotForCausalLM"},
    .spec = blenderbot_spec,
    .weights = bart_weights,
    .optional_fields = {"tie_word_embeddings", "activation_dropout"},
    .presets = {"400M", "3B", "tiny"},
    .fresh_config = fresh_blenderbot,
};
const Family blenderbot_small = {
    .model_type = "blenderbot-small",
    .prefix = "model",
    .architectures = {"BlenderbotSmallForConditionalGeneration", "BlenderbotSmallModel",
                      "BlenderbotSmallForCausalLM"},
    .spec = small_spec,
    .weights = bart_weights,
    .optional_fields = {"tie_word_embeddings", "activation_dropout"},
    .presets = {"90M", "tiny"},
    .fresh_config = fresh_blenderbot_small,
};

}  // namespace attend
