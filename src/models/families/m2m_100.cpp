// M2M-100: Fan et al. 2020, arXiv:2010.11125: translates between many languages. Checkpoints:
// facebook/m2m100_*.
#include "base/error.h"
#include "models/families/encoder_decoder.h"

namespace attend {
namespace {

constexpr SequenceToSequenceRelative m2m_100_relative = {.order = NormOrder::pre,
                                                         .scales_embeddings = true,
                                                         .vocabulary = 128112,
                                                         .padding_id = 1,
                                                         .attention_dropout = 0.1,
                                                         .activation = "relu"};

ModelSpec m2m_100_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  const std::int64_t padding = config.integer({"pad_token_id"}, m2m_100_relative.padding_id, 0);
  const SinusoidalPositions positions{
      .count = config.integer({"max_position_embeddings"}, m2m_100_relative.positions, 1, 1 << 20),
      .offset = padding + 1,
      .skipped_id = padding,
      .ends_included = true,
      .grows = true};
  model.encoder = read_stack(config, m2m_100_relative, /*decoder=*/false);
  model.decoder = read_stack(config, m2m_100_relative, /*decoder=*/true);
  if (model.encoder->embeddings.width < 4)
    fail("{}: d_model: expected at least 4, found {}", config.source(), model.encoder->embeddings.width);
  for (StackSpec* stack : {&*model.encoder, &*model.decoder}) stack->embeddings.positions = positions;
  if (architecture == "M2M100ForConditionalGeneration")
    model.language_model_head =
        LanguageModelHeadSpec{.transform = {}, .untied = !config.flag({"tie_word_embeddings"}, true)};
  model.initialization.range = config.number({"init_std"}, 0.02, 0, 10);
  return model;
}

std::vector<WeightName> m2m_100_weights(const ModelSpec& model) {
  return sequence_to_sequence_weights(model);
}

Json fresh_m2m_100(std::string_view) {
  return {{"model_type", "m2m_100"},
          {"architectures", {"M2M100ForConditionalGeneration"}},
          {"is_encoder_decoder", true},
          {"vocab_size", m2m_100_relative.vocabulary},
          {"d_model", 1024},
          {"encoder_layers", 12},
          {"encoder_attention_heads", 16},
          {"encoder_ffn_dim", 4096},
          {"decoder_layers", 12},
          {"decoder_attention_heads", 16},
          {"decoder_ffn_dim", 4096},
          {"activation_function", "relu"},
          {"dropout", 0.1},
          {"attention_dropout", 0.1},
          {"max_position_embeddings", 1024},
          {"scale_embedding", true},
          {"init_std", 0.02},
          {"bos_token_id", 0},
          {"pad_token_id", 1},
          {"eos_token_id", 2},
          {"decoder_start_token_id", 2}};
}

}  // namespace

extern const Family m2m_100;
const Family m2m_100 = {
    .model_type = "m2m_100",
    .prefix = "model",
    .architectures = {"M2M100ForConditionalGeneration", "M2M100Model"},
    .spec = m2m_100_spec,
    .weights = m2m_100_weights,
    .ignored = {"model.{encoder|decoder}.embed_positions.weights"},
    .optional_fields = {"tie_word_embeddings", "activation_dropout"},
    .presets = {"418M"},
    .fresh_config = fresh_m2m_100,
};

}  // namespace attend
