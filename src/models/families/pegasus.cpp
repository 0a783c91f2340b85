// PEGASUS: Zhang et al. 2019, arXiv:1912.08777: trained to write sentences that were removed from a text.
// Checkpoints: google/pegasus-*.
#include "models/families/encoder_decoder.h"

namespace attend {
namespace {

constexpr SequenceToSequenceRelative pegasus_relative = {
    .order = NormOrder::pre, .vocabulary = 50265, .padding_id = 0};

ModelSpec pegasus_spec(const Fields& config, std::string_view architecture) {
  const std::int64_t count =
      config.integer({"max_position_embeddings"}, pegasus_relative.positions, 1, 1 << 20);
  return bart_model(config, architecture, pegasus_relative, SinusoidalPositions{count});
}

// Like google/pegasus-large.
Json fresh_pegasus(std::string_view preset) {
  SequenceToSequenceRelative large = pegasus_relative;
  large.vocabulary = 96103, large.encoder_layers = large.decoder_layers = 16;
  large.activation = "relu", large.attention_dropout = 0.1, large.scales_embeddings = true;
  Json config = fresh_bart_config("pegasus", "PegasusForConditionalGeneration", sized(large, preset));
  config.update(
      {{"pad_token_id", 0}, {"eos_token_id", 1}, {"decoder_start_token_id", 0}, {"forced_eos_token_id", 1}});
  return config;
}

}  // namespace

extern const Family pegasus;
const Family pegasus = {
    .model_type = "pegasus",
    .prefix = "model",
    .architectures = {"PegasusForConditionalGeneration", "PegasusModel", "PegasusForCausalLM"},
    .spec = pegasus_spec,
    .weights = sequence_to_sequence_weights,
    .ignored = {"model.{encoder|decoder}.embed_positions.weight"},
    .optional_fields = {"tie_word_embeddings", "activation_dropout"},
    .presets = {"large", "tiny"},
    .fresh_config = fresh_pegasus,
};

}  // namespace attend
