// The encoder of BERT, RoBERTa, ELECTRA, DistilBERT and ALBERT: the config fields, blocks and checkpoint
// names that they share.
#pragma once

#include "models/families/family.h"

namespace attend {

// How a relative of BERT differs: its defaults for fields that config.json leaves out, and RoBERTa's
// positions, which begin after the padding id.
struct BertRelative {
  std::int64_t vocabulary = 30522, width = 768, layers = 12, heads = 12, inner = 3072, types = 2;
  std::int64_t padding_id = 0;
  double norm_epsilon = 1e-12, dropout = 0.1;
  std::string_view activation = "gelu";
  NormOrder order = NormOrder::post;  // pre: with a final norm after the layers
  bool embedding_norm = true;
  bool positions_after_padding = false;
  bool embedding_size = false;  // the config may give the embeddings their own width
  bool decodes = false;         // is_decoder makes it causal, and add_cross_attention lets it read an encoder
  bool distances = false;       // the config may ask for distance vectors (position_embedding_type)
};

// Post-norm layers over token, position and type embeddings. Fields have BERT's names or DistilBERT's.
StackSpec bert_encoder(const Fields& config, const BertRelative& relative);

// Puts this stack into a model: as its decoder if the architecture predicts the next token, else as its
// encoder. Returns the stack.
StackSpec& put_bert_stack(ModelSpec& model, const Fields& config, std::string_view architecture,
                          const BertRelative& relative);
bool is_causal_language_model(std::string_view architecture);

// The stack with BERT's heads, and with RoBERTa's.
ModelSpec bert_model(const Fields& config, std::string_view architecture, const BertRelative& relative);
ModelSpec roberta_model(const Fields& config, std::string_view architecture, const BertRelative& relative);

// BERT's scores over the vocabulary: a transform of each hidden state, then the embedding matrix, then a
// bias.
LanguageModelHeadSpec masked_language_model(const Fields& config, Activation activation,
                                            const NormSpec& norm);

// "bert.embeddings...", "bert.encoder.layer.N...", "bert.pooler...", with another prefix instead of "bert".
std::vector<WeightName> bert_embedding_weights(const std::string& prefix);
// The checkpoint names of the norms: those of a layer, after its prefix, and the final one.
struct BertNormNames {
  std::string attention = "attention.output.LayerNorm", cross_attention = "crossattention.output.LayerNorm",
              feed_forward = "output.LayerNorm", last = {};
};
std::vector<WeightName> bert_layer_weights(const std::string& prefix, const BertNormNames& norms = {});
// "cls.predictions...", for masked_language_model.
std::vector<WeightName> bert_prediction_weights();
// The whole tables: with BERT's heads, and with RoBERTa's.
std::vector<WeightName> bert_weights(const ModelSpec& model, const std::string& prefix,
                                     const BertNormNames& norms = {});
std::vector<WeightName> roberta_weights(const ModelSpec& model, const std::string& prefix,
                                        const BertNormNames& norms = {});
std::vector<WeightName> roberta_head_weights(const ModelSpec& model);

// BERT's pretraining: masked tokens, and whether the second sentence follows the first.
void put_pretraining_heads(ModelSpec& model);
// Like score_weights, and "cls.seq_relationship" for the next sentence.
WeightName bert_score_weights(const ModelSpec& model);

// The sizes of a preset: "tiny" learns something within minutes on a CPU; others keep the relative's.
BertRelative sized(BertRelative relative, std::string_view preset);
// config.json of a new model, and further fields that it may contain.
Json fresh_bert_config(std::string_view model_type, std::string_view architecture,
                       const BertRelative& relative);
std::vector<std::string_view> bert_optional_fields();

}  // namespace attend
