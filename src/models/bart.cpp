// BART: Lewis et al. 2019, arXiv:1910.13461. Checkpoints: facebook/bart-*.
#include "models/encoder_decoder.h"

namespace attend {
namespace {

constexpr SequenceToSequenceRelative bart_relative = {
    .embedding_norm = true, .vocabulary = 50265, .padding_id = 1};

ModelSpec bart_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  // Its position table begins with two rows for ids that are never looked up.
  const LearnedPositions positions{
      .count = config.integer({"max_position_embeddings"}, bart_relative.positions), .offset = 2};
  model.initialization.range = config.number({"init_std"}, 0.02, 0, 10);
  StackSpec decoder = read_stack(config, bart_relative, /*decoder=*/true);
  decoder.embeddings.positions = positions;
  if (architecture == "BartForCausalLM") {
    put_decoder_alone(model, config, decoder);
    return model;
  }
  model.encoder = read_stack(config, bart_relative, /*decoder=*/false);
  model.encoder->embeddings.positions = positions;
  model.decoder = decoder;
  if (architecture == "BartForConditionalGeneration")
    model.language_model_head = LanguageModelHeadSpec{
        .transform = {}, .bias = true, .untied = !config.flag({"tie_word_embeddings"}, true)};
  // A sentence is scored where the decoder has read all of it: at its end token.
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

Json fresh_bart(std::string_view preset) {
  const bool tiny = preset == "tiny";
  const int layers = tiny ? 3 : 6, heads = tiny ? 4 : 12, inner = tiny ? 1024 : 3072;
  return {{"model_type", "bart"},
          {"architectures", {"BartForConditionalGeneration"}},
          {"is_encoder_decoder", true},
          {"vocab_size", bart_relative.vocabulary},
          {"d_model", tiny ? 256 : 768},
          {"encoder_layers", layers},
          {"encoder_attention_heads", heads},
          {"encoder_ffn_dim", inner},
          {"decoder_layers", layers},
          {"decoder_attention_heads", heads},
          {"decoder_ffn_dim", inner},
          {"activation_function", "gelu"},
          {"dropout", 0.1},
          {"max_position_embeddings", 1024},
          {"init_std", 0.02},
          {"bos_token_id", 0},
          {"pad_token_id", 1},
          {"eos_token_id", 2},
          {"decoder_start_token_id", 2},
          {"forced_eos_token_id", 2}};
}

}  // namespace

extern const Family bart;
const Family bart = {
    .model_type = "bart",
    .prefix = "model",
    .architectures = {"BartForConditionalGeneration", "BartModel", "BartForSequenceClassification",
                      "BartForQuestionAnswering", "BartForCausalLM"},
    .spec = bart_spec,
    .weights = bart_weights,
    .optional_fields = {"scale_embedding", "tie_word_embeddings", "attention_dropout", "activation_dropout",
                        "classifier_dropout", "num_labels", "id2label", "label2id", "problem_type"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_bart,
};

}  // namespace attend
