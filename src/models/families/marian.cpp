// The original Transformer: Vaswani et al. 2017, arXiv:1706.03762, as Marian trains it and transformers
// stores it (model_type "marian"). Checkpoints: Helsinki-NLP/opus-mt-*, and models trained by `attend train`.
#include "base/error.h"
#include "models/families/encoder_decoder.h"

namespace attend {
namespace {

ModelSpec marian_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  const SinusoidalPositions positions{config.integer({"max_position_embeddings"}, 1024, 1, 1 << 20)};
  // As in the paper's original code; init_std in the config is for transformers' own new models.
  model.initialization.kind = InitializationSpec::Kind::xavier;
  StackSpec decoder = read_stack(config, {}, /*decoder=*/true);
  decoder.embeddings.positions = positions;
  if (architecture == "MarianForCausalLM") {
    put_decoder_alone(model, config, decoder);
    return model;
  }
  model.encoder = read_stack(config, {}, /*decoder=*/false);
  model.encoder->embeddings.positions = positions;
  model.decoder = decoder;
  model.share_embeddings = config.flag({"share_encoder_decoder_embeddings"}, true);
  if (model.share_embeddings && model.encoder->embeddings.vocabulary != model.decoder->embeddings.vocabulary)
    fail("{}: decoder_vocab_size differs from vocab_size, but share_encoder_decoder_embeddings is true",
         config.source());
  if (architecture == "MarianMTModel")
    model.language_model_head = LanguageModelHeadSpec{
        .transform = {}, .bias = true, .untied = !config.flag({"tie_word_embeddings"}, true)};
  return model;
}

std::vector<WeightName> marian_weights(const ModelSpec& model) {
  return sequence_to_sequence_weights(model);
}

Json fresh_marian(std::string_view preset) {
  struct Size {
    std::string_view name;
    int width, inner, heads, layers;
    double dropout;
  };
  // base and big: the paper's table 3. tiny: Wu et al. 2021 (arXiv:2105.14462), for corpora like Multi30k.
  static constexpr Size sizes[] = {{"transformer-tiny", 128, 256, 4, 4, 0.3},
                                   {"transformer-base", 512, 2048, 8, 6, 0.1},
                                   {"transformer-big", 1024, 4096, 16, 6, 0.3}};
  for (const Size& size : sizes) {
    if (size.name != preset) continue;
    return {{"model_type", "marian"},
            {"architectures", {"MarianMTModel"}},
            {"is_encoder_decoder", true},
            {"vocab_size", 32000},
            {"d_model", size.width},
            {"encoder_layers", size.layers},
            {"encoder_attention_heads", size.heads},
            {"encoder_ffn_dim", size.inner},
            {"decoder_layers", size.layers},
            {"decoder_attention_heads", size.heads},
            {"decoder_ffn_dim", size.inner},
            {"activation_function", "relu"},
            {"dropout", size.dropout},
            {"attention_dropout", 0.0},
            {"activation_dropout", 0.0},
            {"max_position_embeddings", 512},
            {"scale_embedding", true},
            {"share_encoder_decoder_embeddings", true},
            {"tie_word_embeddings", true},
            {"eos_token_id", 0},
            {"unk_token_id", 1},
            {"pad_token_id", 2},
            {"decoder_start_token_id", 2},
            {"forced_eos_token_id", 0},
            {"num_beams", 4},
            {"length_penalty", 1.0},
            {"max_length", 512}};
  }
  fail("marian has no preset {}", preset);
}

}  // namespace

extern const Family marian;
const Family marian = {
    .model_type = "marian",
    .prefix = "model",
    .architectures = {"MarianMTModel", "MarianModel", "MarianForCausalLM"},
    .spec = marian_spec,
    .weights = marian_weights,
    .ignored = {"model.{encoder|decoder}.embed_positions.weight"},
    .optional_fields = {"decoder_vocab_size", "init_std"},
    .presets = {"transformer-base", "transformer-tiny", "transformer-big"},
    .fresh_config = fresh_marian,
};

}  // namespace attend
