// RoFormer: Su et al. 2021, arXiv:2104.09864: BERT with rotary positions. Checkpoints: junnyu/roformer_*.
#include "base/error.h"
#include "models/families/bert_encoder.h"
#include "models/families/summary.h"

namespace attend {
namespace {

constexpr BertRelative roformer_relative = {.vocabulary = 50000, .decodes = true};

StackSpec& put_roformer_stack(ModelSpec& model, const Fields& config, std::string_view architecture) {
  if (config.flag({"rotary_value"}, false))
    fail("{}: rotary_value: only false is supported", config.source());
  StackSpec& stack = put_bert_stack(model, config, architecture, roformer_relative);
  stack.embeddings.positions = RotaryPositions{config.integer({"max_position_embeddings"}, 1536)};
  const std::int64_t width = stack.width(),
                     narrow = config.maybe_integer({"embedding_size"}, 1).value_or(width);
  stack.embeddings.width = narrow;
  stack.embeddings.projected_width = narrow == width ? 0 : width;
  stack.rotaries = {{.size = stack.layers.front().self_attention.head_size}};
  for (LayerSpec& layer : stack.layers) {
    AttentionSpec& attention = layer.self_attention;
    if (attention.head_size % 2 != 0)
      fail("{}: hidden_size: expected an even number for each head, found {}", config.source(),
           attention.head_size);
    attention.rotary = 0;
  }
  return stack;
}

ModelSpec roformer_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model;
  const StackSpec& stack = put_roformer_stack(model, config, architecture);
  const LayerSpec& layer = stack.layers.front();
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  if (architecture == "RoFormerForMaskedLM" || model.decoder)
    model.language_model_head = masked_language_model(config, layer.feed_forward.activation, layer.norm);
  const double dropout = layer.feed_forward_result_dropout;
  ScoreHeadSpec sentence = {.input = HeadInput::first_token,
                            .dense = layer.feed_forward.activation,
                            .problem = {},
                            .dense_dropout = dropout,
                            .dropout = dropout};
  if (architecture == "RoFormerForMultipleChoice") {
    Json fields = config.json();
    if (!fields.contains("summary_use_proj")) fields["summary_use_proj"] = false;
    sentence = read_summary_before_scores(Fields(fields, config.source()), {.type = "last"},
                                          read_label_count(config), stack.width(), stack.width());
  }
  model.score_head = read_score_head(config, architecture, sentence);
  return model;
}

std::vector<WeightName> roformer_weights(const ModelSpec& model) {
  std::vector<WeightName> table = bert_weights(model, "roformer");
  table.pop_back();  // the row of the scores
  const bool sentence = model.score_head && model.score_head->kind == ScoreKind::sequence_classification;
  table.insert(
      table.end(),
      {{"roformer.embeddings_project.{weight|bias}", "{encoder|decoder}.embeddings.projection.{weight|bias}"},
       {sentence ? "classifier.dense.{weight|bias}" : "sequence_summary.summary.{weight|bias}",
        "score_head.dense.{weight|bias}"}});
  table.push_back(sentence ? WeightName{"classifier.out_proj.{weight|bias}", "score_head.out.{weight|bias}"}
                           : score_weights(model));
  return table;
}

Json fresh_roformer(std::string_view preset) {
  Json config = fresh_bert_config("roformer", "RoFormerForMaskedLM", sized(roformer_relative, preset));
  config.update({{"max_position_embeddings", 1536}, {"rotary_value", false}});
  return config;
}

}  // namespace

extern const Family roformer;
const Family roformer = {
    .model_type = "roformer",
    .prefix = "roformer",
    .architectures = {"RoFormerModel", "RoFormerForMaskedLM", "RoFormerForCausalLM",
                      "RoFormerForSequenceClassification", "RoFormerForTokenClassification",
                      "RoFormerForQuestionAnswering", "RoFormerForMultipleChoice"},
    .spec = roformer_spec,
    .weights = roformer_weights,
    .ignored = {"roformer.encoder.embed_positions.weight", "roformer.embeddings.position_ids",
                "roformer.pooler.dense.{weight|bias}", "cls.predictions.{bias|decoder.weight|decoder.bias}",
                "cls.predictions.transform.{dense|LayerNorm}.{weight|bias}"},
    .optional_fields = {"embedding_size", "is_decoder", "add_cross_attention", "num_labels", "id2label",
                        "label2id", "problem_type", "tie_word_embeddings"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_roformer,
};

}  // namespace attend
