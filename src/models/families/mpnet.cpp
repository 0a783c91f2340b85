// MPNet: Song et al. 2020, arXiv:2004.09297: RoBERTa without token types; a number for each head and distance
// is added to the scores. Checkpoints: microsoft/mpnet-base, sentence-transformers/all-mpnet-base-v2.
#include "models/families/bert_encoder.h"

namespace attend {
namespace {

constexpr BertRelative mpnet_relative = {
    .vocabulary = 30527, .types = 0, .padding_id = 1, .positions_after_padding = true};

ModelSpec mpnet_spec(const Fields& config, std::string_view architecture) {
  // The original always uses 1 as padding and ignores config.json.
  Json fields = config.json();
  fields["pad_token_id"] = mpnet_relative.padding_id;
  ModelSpec model = roberta_model(Fields(fields, config.source()), architecture, mpnet_relative);
  // And it always uses 32 buckets, and ignores the size of the table.
  model.encoder->distances = BucketedBias{.rows = config.integer({"relative_attention_num_buckets"}, 32)};
  return model;
}

std::vector<WeightName> mpnet_weights(const ModelSpec& model) {
  const std::string layer = "mpnet.encoder.layer.{i}.", ours = "encoder.layers.{i}.";
  std::vector<WeightName> table = bert_embedding_weights("mpnet");
  table.insert(table.end(),
               {
                   // checkpoint, ours
                   {"mpnet.encoder.relative_attention_bias.weight", "encoder.distances.table"},
                   {layer + "attention.attn.{q|k|v}.{weight|bias}",
                    ours + "self_attention.query_key_value.{weight|bias}"},
                   {layer + "attention.attn.o.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
                   {layer + "attention.LayerNorm.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
                   {layer + "intermediate.dense.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
                   {layer + "output.dense.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
                   {layer + "output.LayerNorm.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
                   {"mpnet.pooler.dense.{weight|bias}", "pooler.dense.{weight|bias}"},
               });
  for (WeightName& row : roberta_head_weights(model)) table.push_back(std::move(row));
  return table;
}

Json fresh_mpnet(std::string_view preset) {
  Json config = fresh_bert_config("mpnet", "MPNetForMaskedLM", sized(mpnet_relative, preset));
  config.erase("type_vocab_size");
  config.update({{"layer_norm_eps", 1e-5}, {"relative_attention_num_buckets", 32}});
  return config;
}

}  // namespace

extern const Family mpnet;
const Family mpnet = {
    .model_type = "mpnet",
    .prefix = "mpnet",
    .architectures = {"MPNetModel", "MPNetForMaskedLM", "MPNetForSequenceClassification",
                      "MPNetForTokenClassification", "MPNetForQuestionAnswering", "MPNetForMultipleChoice"},
    .spec = mpnet_spec,
    .weights = mpnet_weights,
    .ignored = {"mpnet.embeddings.position_ids", "mpnet.pooler.dense.{weight|bias}",
                "lm_head.{bias|decoder.weight|decoder.bias}", "lm_head.{dense|layer_norm}.{weight|bias}"},
    .optional_fields = {"num_labels", "id2label", "label2id", "problem_type", "tie_word_embeddings"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_mpnet,
};

}  // namespace attend
