// BigBird: Zaheer et al. 2020, arXiv:2007.14062: BERT with block-sparse attention for long texts.
// Checkpoints: google/bigbird-roberta-*.
#include "base/error.h"
#include "models/families/bert_encoder.h"

#include <cmath>

namespace attend {
namespace {

constexpr BertRelative big_bird_relative = {.vocabulary = 50358, .activation = "gelu_new", .decodes = true};

ModelSpec big_bird_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  StackSpec& stack = put_bert_stack(model, config, architecture, big_bird_relative);
  const std::string kind = config.text({"attention_type"}, "block_sparse");
  if (kind != "block_sparse" && kind != "original_full")
    fail("{}: attention_type: expected block_sparse or original_full, found \"{}\"", config.source(), kind);
  for (LayerSpec& layer : stack.layers) {
    layer.self_attention.input_bias = config.flag({"use_bias"}, true);
    // In transformers 4.57, cross-attention replaces the decoder's own text.
    layer.cross_attention.reset();
    // Blocks look ahead, so a decoder has none. (The original lets it look ahead if a text is long.)
    if (kind == "block_sparse" && !layer.self_attention.causal)
      layer.self_attention.blocks =
          BlockSparse{.size = config.integer({"block_size"}, 64, 1, 1 << 20),
                      .random = config.integer({"num_random_blocks"}, 3, 0, 1 << 10),
                      .longest = config.integer({"max_position_embeddings"}, 4096)};
  }
  if (config.flag({"rescale_embeddings"}, false))
    stack.embeddings.scale = std::sqrt(static_cast<double>(stack.width()));
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);

  const LayerSpec& layer = stack.layers.front();
  if (architecture == "BigBirdForPreTraining" || architecture == "BigBirdForMaskedLM" || model.decoder)
    model.language_model_head = masked_language_model(config, layer.feed_forward.activation, layer.norm);
  const double dropout =
      read_dropout(config, {"classifier_dropout", "hidden_dropout_prob"}, big_bird_relative.dropout);
  const bool choice = architecture == "BigBirdForMultipleChoice";
  ScoreHeadSpec sentence = {.input = choice ? HeadInput::pooled : HeadInput::first_token,
                            .dense = {},
                            .problem = {},
                            .dense_dropout = dropout,
                            .dropout = dropout};
  if (!choice) sentence.dense = layer.feed_forward.activation;
  model.score_head = read_score_head(config, architecture, sentence);
  if (architecture == "BigBirdForPreTraining") put_pretraining_heads(model);
  if (architecture == "BigBirdForQuestionAnswering") {
    model.score_head->dropout = layer.feed_forward_result_dropout;
    model.score_head->block =
        ScoreHeadSpec::Block{layer.feed_forward, layer.norm, layer.feed_forward_result_dropout};
    model.score_head->question_end = config.integer({"sep_token_id"}, 66, 0);
  }
  // Checkpoints contain it for every other head, although few heads use it.
  model.pooler = architecture != "BigBirdForQuestionAnswering";
  return model;
}

std::vector<WeightName> big_bird_weights(const ModelSpec& model) {
  std::vector<WeightName> table = bert_embedding_weights("bert");
  table.push_back({"bert.pooler.{weight|bias}", "pooler.dense.{weight|bias}"});
  for (WeightName& row : bert_layer_weights("bert")) table.push_back(std::move(row));
  for (WeightName& row : bert_prediction_weights()) table.push_back(std::move(row));
  if (model.score_head && model.score_head->block) {
    table.push_back({"qa_classifier.intermediate.dense.{weight|bias}", "score_head.block.in.{weight|bias}"});
    table.push_back({"qa_classifier.output.dense.{weight|bias}", "score_head.block.out.{weight|bias}"});
    table.push_back({"qa_classifier.output.LayerNorm.{weight|bias}", "score_head.block_norm.{weight|bias}"});
    table.push_back({"qa_classifier.qa_outputs.{weight|bias}", "score_head.out.{weight|bias}"});
  } else if (model.score_head && model.score_head->dense) {
    table.push_back({"classifier.dense.{weight|bias}", "score_head.dense.{weight|bias}"});
    table.push_back({"classifier.out_proj.{weight|bias}", "score_head.out.{weight|bias}"});
  } else {
    table.push_back(bert_score_weights(model));
  }
  return table;
}

Json fresh_big_bird(std::string_view preset) {
  Json config = fresh_bert_config("big_bird", "BigBirdForMaskedLM", sized(big_bird_relative, preset));
  config.update({{"max_position_embeddings", 4096},
                 {"attention_type", "block_sparse"},
                 {"block_size", 64},
                 {"num_random_blocks", 3},
                 {"use_bias", true},
                 {"rescale_embeddings", false},
                 {"bos_token_id", 1},
                 {"eos_token_id", 2},
                 {"sep_token_id", 66}});
  return config;
}

}  // namespace

extern const Family big_bird;
const Family big_bird = {
    .model_type = "big_bird",
    .prefix = "bert",
    .architectures = {"BigBirdModel", "BigBirdForMaskedLM", "BigBirdForPreTraining",
                      "BigBirdForSequenceClassification", "BigBirdForTokenClassification",
                      "BigBirdForMultipleChoice", "BigBirdForQuestionAnswering", "BigBirdForCausalLM"},
    .spec = big_bird_spec,
    .weights = big_bird_weights,
    .ignored = {"bert.embeddings.position_ids", "bert.embeddings.token_type_ids", "bert.pooler.{weight|bias}",
                "cls.seq_relationship.{weight|bias}",
                "cls.predictions.transform.{dense|LayerNorm}.{weight|bias}",
                "cls.predictions.{bias|decoder.weight|decoder.bias}"},
    .optional_fields = bert_optional_fields(),
    .presets = {"base", "tiny"},
    .fresh_config = fresh_big_bird,
};

}  // namespace attend
