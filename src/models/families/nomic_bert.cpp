// NomicBERT: Nussbaum et al. 2024, arXiv:2402.01613: BERT with rotary positions and gated feed-forward
// layers, and without most biases. Checkpoints: nomic-ai/nomic-embed-text-v1, -v1.5,
// nomic-ai/nomic-bert-2048. Its code is part of the checkpoints, not of transformers 4.
#include "base/error.h"
#include "models/families/bert_encoder.h"
#include "nn/spec/rotary_frequencies.h"

namespace attend {
namespace {

constexpr std::int64_t kNomicPositions = 8192, kNomicMultiple = 256;

// Fields whose other values the published models do not use.
void check_nomic_fields(const Fields& config) {
  for (const char* name : {"prenorm", "causal", "use_rms_norm", "parallel_block", "norm_mlp"})
    if (config.flag({name}, false)) fail("{}: {}: only false is supported", config.source(), name);
  if (config.has({"rotary_emb_scale_base"}))
    fail("{}: rotary_emb_scale_base: only null is supported", config.source());
  if (config.integer({"moe_every_n_layers"}, 0, 0) > 0)
    fail("{}: moe_every_n_layers: only 0 is supported", config.source());
  if (config.flag({"mlp_fc1_bias"}, true) && !config.flag({"mlp_fc2_bias"}, true))
    fail("{}: mlp_fc2_bias: expected true, as mlp_fc1_bias", config.source());
}

// How the layers' activation is called, and whether it is gated. Plain ones are GELU, whatever their name.
struct NomicActivation {
  Activation activation;
  bool gated;
};
NomicActivation read_nomic_activation(const Fields& config) {
  const std::string name = config.text({"activation_function"}, "gelu");
  if (name == "swiglu") return {Activation::silu, true};
  if (name == "geglu") return {Activation::gelu, true};
  if (name == "glu") return {Activation::sigmoid, true};
  if (name == "gelu" || name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh")
    return {Activation::gelu, false};
  fail(
      "{}: activation_function: expected swiglu, geglu, glu, gelu, gelu_new, gelu_fast or gelu_pytorch_tanh, "
      "found \"{}\"",
      config.source(), name);
}

// Longer texts than in training have a greater base.
RotarySpec read_nomic_rotary(const Fields& config, std::int64_t head_size) {
  const double base = config.number({"rotary_emb_base"}, 10000, 1e-3, 1e30),
               part = config.number({"rotary_emb_fraction"}, 0, 0, 1);
  RotarySpec spec = {.size = static_cast<std::int64_t>(static_cast<double>(head_size) * part),
                     .halves = !config.flag({"rotary_emb_interleaved"}, false)};
  if (spec.size < 2 || spec.size % 2 != 0)
    fail("{}: rotary_emb_fraction: expected an even number of rotated elements among a head's {}, found {}",
         config.source(), head_size, spec.size);
  spec.frequencies = rotary_frequencies(base, spec.size);
  const double factor = config.number({"rotary_scaling_factor"}, 0, 0, 1e6);
  if (factor > 0 && spec.size > 2)
    spec.growing = {base, factor, config.integer({"max_trained_positions"}, 2048)};
  return spec;
}

Fields usual_nomic_fields(const Fields& config) {
  Json fields = with_usual_names(config, {{"n_embd", "hidden_size"},
                                          {"n_layer", "num_hidden_layers"},
                                          {"n_head", "num_attention_heads"},
                                          {"n_inner", "intermediate_size"},
                                          {"n_positions", "max_position_embeddings"},
                                          {"resid_pdrop", "hidden_dropout_prob"},
                                          {"attn_pdrop", "attention_probs_dropout_prob"},
                                          {"layer_norm_epsilon", "layer_norm_eps"}})
                    .json();
  const std::int64_t vocabulary = config.integer({"vocab_size"}, 50257),
                     multiple = config.integer({"pad_vocab_size_multiple"}, 1);
  fields["vocab_size"] = (vocabulary + multiple - 1) / multiple * multiple;
  fields["hidden_act"] = "gelu";
  if (!config.has({"pad_token_id"})) fields["pad_token_id"] = -1;
  if (!config.has({"classifier_dropout"})) fields["classifier_dropout"] = config.number({"embd_pdrop"}, 0.1);
  return {fields, config.source()};
}

ModelSpec nomic_bert_spec(const Fields& given, std::string_view architecture) {
  check_nomic_fields(given);
  const Fields config = usual_nomic_fields(given);
  const BertRelative relative = {.vocabulary = 50257,
                                 .types = config.integer({"type_vocab_size"}, 0, 0),
                                 .padding_id = -1,
                                 .norm_epsilon = 1e-5};
  const bool predicts = architecture == "NomicBertForPreTraining";  // masked words, and nothing else
  ModelSpec model = bert_model(config, predicts ? "NomicBertForMaskedLM" : architecture, relative);
  StackSpec& stack = *model.encoder;
  const auto [activation, gated] = read_nomic_activation(config);
  const bool attention_bias = config.flag({"qkv_proj_bias"}, true),
             input_bias = config.flag({"mlp_fc1_bias"}, true);
  for (LayerSpec& layer : stack.layers) {
    layer.self_attention.rotary = 0;
    layer.self_attention.input_bias = layer.self_attention.output_bias = attention_bias;
    FeedForwardSpec& inner = layer.feed_forward;
    inner.activation = activation;
    inner.gated = gated;
    if (gated) inner.width = (inner.width + kNomicMultiple - 1) / kNomicMultiple * kNomicMultiple;
    inner.bias = config.flag({"mlp_fc2_bias"}, true);
    inner.input_bias = input_bias;
  }
  stack.embeddings.positions = RotaryPositions{config.integer({"max_position_embeddings"}, kNomicPositions)};
  stack.rotaries = {read_nomic_rotary(config, stack.layers.front().self_attention.head_size)};
  if (architecture.ends_with("Model")) model.pooler = false;
  if (predicts) {
    LanguageModelHeadSpec& head = *model.language_model_head;
    const std::string name = config.text({"activation_function"}, "gelu");
    head.transform->activation = name == "swiglu"            ? Activation::silu
                                 : name.starts_with("gelu_") ? Activation::gelu_tanh
                                                             : Activation::gelu;
    head.transform->bias = head.bias = input_bias;
    head.untied = false;
  }
  return model;
}

std::vector<WeightName> nomic_bert_weights(const ModelSpec& model) {
  const std::string theirs = "bert.encoder.layers.{i}.", ours = "encoder.layers.{i}.";
  const bool gated = model.encoder->layers.front().feed_forward.gated;
  return {
      // checkpoint, ours
      {"bert.embeddings.word_embeddings.weight", "encoder.embeddings.tokens"},
      {"bert.embeddings.token_type_embeddings.weight", "encoder.embeddings.types"},
      {"bert.emb_ln.{weight|bias}", "encoder.embeddings.norm.{weight|bias}"},
      {theirs + "attn.Wqkv.{weight|bias}", ours + "self_attention.query_key_value.{weight|bias}"},
      {theirs + "attn.out_proj.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {theirs + "norm1.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      // The activation is that of the second matrix.
      {theirs + (gated ? "mlp.{fc12|fc11}.{weight|bias}" : "mlp.fc1.{weight|bias}"),
       ours + "feed_forward.in.{weight|bias}"},
      {theirs + "mlp.fc2.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {theirs + "norm2.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {"bert.pooler.dense.{weight|bias}", "pooler.dense.{weight|bias}"},
      {"cls.predictions.transform.dense.{weight|bias}", "language_model_head.dense.{weight|bias}"},
      {"cls.predictions.transform.layer_norm.{weight|bias}", "language_model_head.norm.{weight|bias}"},
      {"cls.predictions.decoder.{weight|bias}", "language_model_head.{weight|bias}"},
      score_weights(model),
  };
}

Json fresh_nomic_bert(std::string_view preset) {
  const bool tiny = preset == "tiny";
  return {{"model_type", "nomic_bert"},
          {"architectures", {"NomicBertForPreTraining"}},
          {"vocab_size", 30528},
          {"n_embd", tiny ? 256 : 768},
          {"n_layer", tiny ? 4 : 12},
          {"n_head", tiny ? 4 : 12},
          {"n_inner", tiny ? 768 : 3072},
          {"n_positions", kNomicPositions},
          {"activation_function", "swiglu"},
          {"type_vocab_size", 2},
          {"layer_norm_epsilon", 1e-12},
          {"initializer_range", 0.02},
          {"rotary_emb_base", 1000},
          {"rotary_emb_fraction", 1.0},
          {"rotary_emb_interleaved", false},
          {"rotary_scaling_factor", nullptr},
          {"max_trained_positions", 2048},
          {"qkv_proj_bias", false},
          {"mlp_fc1_bias", false},
          {"mlp_fc2_bias", false},
          {"pad_vocab_size_multiple", 64},
          {"attn_pdrop", 0.0},
          {"resid_pdrop", 0.0},
          {"embd_pdrop", 0.0},
          {"pad_token_id", 0}};
}

}  // namespace

extern const Family nomic_bert;
const Family nomic_bert = {
    .model_type = "nomic_bert",
    .prefix = "bert",
    .architectures = {"NomicBertModel", "NomicBertForPreTraining", "NomicBertForSequenceClassification"},
    .spec = nomic_bert_spec,
    .weights = nomic_bert_weights,
    .ignored = {"bert.pooler.dense.{weight|bias}", "cls.predictions.decoder.{weight|bias}",
                "cls.predictions.transform.{dense|layer_norm}.{weight|bias}"},
    .optional_fields = {"num_labels", "id2label", "label2id", "problem_type", "classifier_dropout"},
    .presets = {"base", "tiny"},
    .fresh_config = fresh_nomic_bert,
};

}  // namespace attend
