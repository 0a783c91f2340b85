#include "models/families/encoder_decoder.h"

namespace attend {

PositionSpec learned_positions(const Fields& config, const SequenceToSequenceRelative& relative,
                               std::int64_t offset) {
  return LearnedPositions{.count = config.integer({"max_position_embeddings"}, relative.positions),
                          .offset = offset};
}

ModelSpec bart_model(const Fields& config, std::string_view architecture,
                     const SequenceToSequenceRelative& relative, PositionSpec positions) {
  ModelSpec model;
  model.initialization.range = config.number({"init_std"}, 0.02, 0, 10);
  StackSpec decoder = read_stack(config, relative, /*decoder=*/true);
  decoder.embeddings.positions = positions;
  if (architecture.ends_with("ForCausalLM")) {
    put_decoder_alone(model, config, decoder);
    return model;
  }
  model.encoder = read_stack(config, relative, /*decoder=*/false);
  model.encoder->embeddings.positions = positions;
  model.decoder = decoder;
  if (architecture.ends_with("ForConditionalGeneration"))
    model.language_model_head = LanguageModelHeadSpec{
        .transform = {}, .bias = true, .untied = !config.flag({"tie_word_embeddings"}, true)};
  // A sentence is scored at the decoder's end token, after it has read the whole text.
  const double dropout = read_dropout(config, {"classifier_dropout"}, 0);
  model.score_head = read_score_head(config, architecture,
                                     {.input = HeadInput::end_token,
                                      .dense = Activation::tanh,
                                      .token_id = config.integer({"eos_token_id"}, 2, 0),
                                      .problem = {},
                                      .dense_dropout = dropout,
                                      .dropout = dropout});
  return model;
}

std::vector<WeightName> bart_weights(const ModelSpec& model) {
  std::vector<WeightName> table = sequence_to_sequence_weights(model);
  table.push_back(
      {"model.{encoder|decoder}.embed_positions.weight", "{encoder|decoder}.embeddings.positions"});
  table.push_back({"classification_head.dense.{weight|bias}", "score_head.dense.{weight|bias}"});
  const bool sentence = model.score_head && model.score_head->kind == ScoreKind::sequence_classification;
  table.push_back({sentence ? "classification_head.out_proj.{weight|bias}" : "qa_outputs.{weight|bias}",
                   "score_head.out.{weight|bias}"});
  return table;
}

Json fresh_bart_config(std::string_view model_type, std::string_view architecture,
                       const SequenceToSequenceRelative& relative) {
  return {{"model_type", model_type},
          {"architectures", {architecture}},
          {"is_encoder_decoder", true},
          {"vocab_size", relative.vocabulary},
          {"d_model", relative.width},
          {"encoder_layers", relative.encoder_layers},
          {"encoder_attention_heads", relative.heads},
          {"encoder_ffn_dim", relative.inner},
          {"decoder_layers", relative.decoder_layers},
          {"decoder_attention_heads", relative.heads},
          {"decoder_ffn_dim", relative.inner},
          {"activation_function", relative.activation},
          {"dropout", 0.1},
          {"attention_dropout", relative.attention_dropout},
          {"max_position_embeddings", relative.positions},
          {"scale_embedding", relative.scales_embeddings},
          {"init_std", 0.02}};
}

std::vector<std::string_view> bart_optional_fields() {
  return {"tie_word_embeddings", "activation_dropout", "classifier_dropout",
          "num_labels",          "id2label",           "label2id",
          "problem_type"};
}

SequenceToSequenceRelative sized(SequenceToSequenceRelative relative, std::string_view preset) {
  if (preset == "tiny")
    relative.width = 256, relative.heads = 4, relative.inner = 1024, relative.encoder_layers = 3,
    relative.decoder_layers = 3;
  return relative;
}

}  // namespace attend
