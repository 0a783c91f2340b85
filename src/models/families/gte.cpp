// GTE v1.5: Zhang et al. 2024, arXiv:2407.19669: BERT with rotary positions and gated feed-forward layers.
// Checkpoints: Alibaba-NLP/gte-*-en-v1.5, Alibaba-NLP/gte-multilingual-*. Its code is part of the checkpoints
// ("new-impl"), not of transformers 4.
#include "base/error.h"
#include "models/families/bert_encoder.h"
#include "nn/spec/rotary_frequencies.h"

#include <cmath>

namespace attend {
namespace {

constexpr BertRelative gte_relative = {.vocabulary = 30528};

// Fields whose other values the published models do not use.
void check_gte_fields(const Fields& config) {
  if (config.text({"position_embedding_type"}, "rope") != "rope")
    fail("{}: position_embedding_type: only rope is supported", config.source());
  if (config.text({"layer_norm_type"}, "layer_norm") != "layer_norm")
    fail("{}: layer_norm_type: only layer_norm is supported", config.source());
  if (config.flag({"logn_attention_scale"}, false))
    fail("{}: logn_attention_scale: only false is supported", config.source());
}

// rope_scaling of the type ntk: the base is greater and all pairs are slower, at every length. With mixed_b a
// pair is the slower, the later it comes.
RotarySpec read_gte_rotary(const Fields& config, std::int64_t head_size) {
  if (head_size % 2 != 0)
    fail("{}: hidden_size: expected an even number for each head, found {}", config.source(), head_size);
  const double base = config.number({"rope_theta"}, 10000, 1e-3, 1e30);
  RotarySpec spec = {.size = head_size, .halves = true, .frequencies = rotary_frequencies(base, head_size)};
  if (!config.has({"rope_scaling"})) return spec;
  const Fields scaling(config.json()["rope_scaling"], config.source() + ": rope_scaling");
  if (const std::string kind = scaling.text({"type", "rope_type"}); kind != "ntk")
    fail("{}: type: only ntk is supported, found \"{}\"", scaling.source(), kind);
  const double factor = scaling.number({"factor"}, {}, 1e-6, 1e6);
  if (factor <= 1) return spec;  // the original then never reaches the length where it scales
  const std::optional<double> mixed = scaling.maybe_number({"mixed_b"});
  if (!mixed) spec.frequencies = rotary_frequencies(base * factor, head_size);
  const auto pairs = static_cast<double>(head_size) / 2;
  for (std::size_t i = 0; i < spec.frequencies.size(); ++i) {
    const double share = mixed ? std::pow(static_cast<double>(i + 1) / pairs, *mixed) : 1 / pairs;
    spec.frequencies[i] /= static_cast<float>(std::pow(factor, share));
  }
  return spec;
}

ModelSpec gte_spec(const Fields& config, std::string_view architecture) {
  check_gte_fields(config);
  BertRelative relative = gte_relative;
  relative.types = config.integer({"type_vocab_size"}, 1, 0);
  Json fields = config.json();
  if (!config.has({"attention_probs_dropout_prob"})) fields["attention_probs_dropout_prob"] = 0;
  ModelSpec model = bert_model(Fields(fields, config.source()), architecture, relative);
  StackSpec& stack = *model.encoder;
  for (LayerSpec& layer : stack.layers) {
    layer.self_attention.rotary = 0;
    layer.feed_forward.gated = true;
    layer.feed_forward.input_bias = false;
    layer.feed_forward.dropout = layer.feed_forward_result_dropout;
  }
  stack.embeddings.positions = RotaryPositions{config.integer({"max_position_embeddings"}, 2048)};
  stack.rotaries = {read_gte_rotary(config, stack.layers.front().self_attention.head_size)};
  if (architecture.ends_with("Model")) model.pooler = false;
  if (model.language_model_head) model.language_model_head->untied = false;
  model.quirks.other_names = !config.flag({"pack_qkv"}, true);
  return model;
}

std::vector<WeightName> gte_weights(const ModelSpec& model) {
  const std::string theirs = "new.encoder.layer.{i}.", ours = "encoder.layers.{i}.";
  return {
      // checkpoint, ours
      {"new.embeddings.word_embeddings.weight", "encoder.embeddings.tokens"},
      {"new.embeddings.token_type_embeddings.weight", "encoder.embeddings.types"},
      {"new.embeddings.LayerNorm.{weight|bias}", "encoder.embeddings.norm.{weight|bias}"},
      {theirs + (model.quirks.other_names ? "attention.{q_proj|k_proj|v_proj}.{weight|bias}"
                                          : "attention.qkv_proj.{weight|bias}"),
       ours + "self_attention.query_key_value.{weight|bias}"},
      {theirs + "attention.o_proj.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {theirs + "attn_ln.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {theirs + "mlp.up_gate_proj.weight", ours + "feed_forward.in.weight", WeightLayout::swapped},
      {theirs + "mlp.down_proj.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {theirs + "mlp_ln.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {"new.pooler.dense.{weight|bias}", "pooler.dense.{weight|bias}"},
      {"lm_head.{dense|norm}.{weight|bias}", "language_model_head.{dense|norm}.{weight|bias}"},
      {"lm_head.decoder.{weight|bias}", "language_model_head.{weight|bias}"},
      score_weights(model),
  };
}

Json fresh_gte(std::string_view preset) {
  Json config = fresh_bert_config("new", "NewForMaskedLM", sized(gte_relative, preset));
  config.update({{"attention_probs_dropout_prob", 0.0},
                 {"max_position_embeddings", 8192},
                 {"type_vocab_size", 0},
                 {"layer_norm_type", "layer_norm"},
                 {"position_embedding_type", "rope"},
                 {"rope_theta", 160000.0},
                 {"rope_scaling", nullptr},
                 {"pack_qkv", true}});
  return config;
}

}  // namespace

extern const Family gte;
const Family gte = {
    .model_type = "new",
    .prefix = "new",
    .architectures = {"NewModel", "NewForMaskedLM", "NewForSequenceClassification",
                      "NewForTokenClassification", "NewForQuestionAnswering", "NewForMultipleChoice"},
    .spec = gte_spec,
    .weights = gte_weights,
    .ignored = {"new.embeddings.position_ids", "new.pooler.dense.{weight|bias}",
                "lm_head.{dense|norm|decoder}.{weight|bias}", "classifier.{weight|bias}"},
    .optional_fields = {"num_labels", "id2label", "label2id", "problem_type", "classifier_dropout"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_gte,
};

}  // namespace attend
