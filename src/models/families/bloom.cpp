// BLOOM: BigScience Workshop 2022, arXiv:2211.05100: GPT-2's blocks with ALiBi instead of positions, and a
// norm after the embeddings. Checkpoints: bigscience/bloom*, bigscience/bloomz*. MPT: MosaicML 2023,
// https://github.com/mosaicml/llm-foundry: ALiBi, no biases. Checkpoints: mosaicml/mpt-7b*,
// mosaicml/mpt-30b*.
#include "models/families/gpt_decoder.h"

#include <limits>

namespace attend {
namespace {

constexpr GptRelative bloom_relative = {
    .vocabulary = 250880, .width = 64, .layers = 2, .heads = 8, .dropout = 0};
constexpr GptRelative mpt_relative = {
    .vocabulary = 50368, .width = 2048, .layers = 24, .heads = 16, .dropout = 0};

// A decoder with ALiBi whose feed-forward layers are four times as wide as the model.
ModelSpec linear_model(const Fields& config, std::string_view architecture, const GptRelative& relative) {
  ModelSpec model = gpt_model(config, architecture, relative);
  StackSpec& stack = *model.decoder;
  stack.embeddings.positions = DistantPositions{std::numeric_limits<std::int64_t>::max()};
  stack.embeddings.types_are_tokens = false;
  stack.embeddings.dropout = 0;
  stack.distances = LinearDistances{};
  for (LayerSpec& layer : stack.layers) {
    layer.self_attention.quirks.padding_sees_all = true;
    layer.feed_forward.width = 4 * stack.width();
  }
  return model;
}

ModelSpec bloom_spec(const Fields& given, std::string_view architecture) {
  const Fields config = with_usual_names(given, {{"n_embed", "hidden_size"}});
  ModelSpec model = linear_model(config, architecture, bloom_relative);
  StackSpec& stack = *model.decoder;
  stack.embeddings.norm = stack.final_norm;
  const double dropout = read_dropout(config, {"hidden_dropout"}, 0);
  for (LayerSpec& layer : stack.layers) {
    layer.adds_to_normed = config.flag({"apply_residual_connection_post_layernorm"}, false);
    layer.self_attention.dropout = read_dropout(config, {"attention_dropout"}, 0);
    layer.feed_forward.activation = Activation::gelu_tanh;
    layer.attention_result_dropout = layer.feed_forward_result_dropout = dropout;
  }
  return model;
}

std::vector<WeightName> bloom_weights(const ModelSpec& model) {
  const std::string theirs = "transformer.h.{i}.", ours = "decoder.layers.{i}.";
  std::vector<WeightName> table = {
      // checkpoint, ours
      {"transformer.word_embeddings.weight", "decoder.embeddings.tokens"},
      {"transformer.word_embeddings_layernorm.{weight|bias}", "decoder.embeddings.norm.{weight|bias}"},
      {theirs + "input_layernorm.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {.checkpoint = theirs + "self_attention.query_key_value.{weight|bias}",
       .ours = ours + "self_attention.query_key_value.{weight|bias}",
       .heads = model.decoder->layers.front().self_attention.heads},
      {theirs + "self_attention.dense.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {theirs + "post_attention_layernorm.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {theirs + "mlp.dense_h_to_4h.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {theirs + "mlp.dense_4h_to_h.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {"transformer.ln_f.{weight|bias}", "decoder.final_norm.{weight|bias}"},
  };
  return with_gpt_heads(model, std::move(table));
}

// The original ignores config.json here: it always has ALiBi with alibi_bias_max 8, and no biases.
ModelSpec mpt_spec(const Fields& given, std::string_view architecture) {
  const Fields config = with_usual_names(
      given,
      {{"d_model", "hidden_size"}, {"n_heads", "num_attention_heads"}, {"n_layers", "num_hidden_layers"}});
  ModelSpec model = linear_model(config, architecture, mpt_relative);
  StackSpec& stack = *model.decoder;
  stack.embeddings.positions = DistantPositions{config.integer({"max_seq_len"}, 2048)};
  const Json inner = config.json().value("attn_config", Json());
  const Fields attention(inner.is_null() ? Json::object() : inner, config.source() + ": attn_config");
  const double dropout = read_dropout(attention, {"attn_pdrop"}, 0);
  for (LayerSpec& layer : stack.layers) {
    AttentionSpec& own = layer.self_attention;
    own.quirks.later_scores_are_equal = true;
    own.scale = attention.number({"softmax_scale"}, own.scale, -1e9, 1e9);
    own.clip = attention.number({"clip_qkv"}, 0, 0, 1e9);
    own.input_bias = own.output_bias = layer.feed_forward.bias = layer.norm.bias = false;
    own.dropout = layer.attention_result_dropout = layer.feed_forward_result_dropout = dropout;
    layer.feed_forward.activation = Activation::gelu;
  }
  stack.final_norm->bias = false;
  return model;
}

std::vector<WeightName> mpt_weights(const ModelSpec& model) {
  const std::string theirs = "transformer.blocks.{i}.", ours = "decoder.layers.{i}.";
  std::vector<WeightName> table = {
      // checkpoint, ours
      {"transformer.wte.weight", "decoder.embeddings.tokens"},
      {theirs + "norm_1.weight", ours + "self_attention_norm.weight"},
      {theirs + "attn.Wqkv.weight", ours + "self_attention.query_key_value.weight"},
      {theirs + "attn.out_proj.weight", ours + "self_attention.output.weight"},
      {theirs + "norm_2.weight", ours + "feed_forward_norm.weight"},
      {theirs + "ffn.up_proj.weight", ours + "feed_forward.in.weight"},
      {theirs + "ffn.down_proj.weight", ours + "feed_forward.out.weight"},
      {"transformer.norm_f.weight", "decoder.final_norm.weight"},
  };
  return with_gpt_heads(model, std::move(table));
}

Json fresh_bloom(std::string_view preset) {
  const auto [width, layers, heads] = preset == "560m"  ? std::tuple(1024, 24, 16)
                                      : preset == "1b1" ? std::tuple(1536, 24, 16)
                                      : preset == "7b1" ? std::tuple(4096, 30, 32)
                                                        : std::tuple(256, 4, 4);
  return {{"model_type", "bloom"},
          {"architectures", {"BloomForCausalLM"}},
          {"vocab_size", 250880},
          {"hidden_size", width},
          {"n_layer", layers},
          {"n_head", heads},
          {"layer_norm_epsilon", 1e-5},
          {"initializer_range", 0.02},
          {"apply_residual_connection_post_layernorm", false},
          {"hidden_dropout", 0.0},
          {"attention_dropout", 0.0},
          {"bos_token_id", 1},
          {"eos_token_id", 2},
          {"pad_token_id", 3}};
}

Json fresh_mpt(std::string_view preset) {
  const bool tiny = preset == "tiny";
  return {{"model_type", "mpt"},
          {"architectures", {"MptForCausalLM"}},
          {"vocab_size", 50432},
          {"d_model", tiny ? 256 : 4096},
          {"n_layers", tiny ? 4 : 32},
          {"n_heads", tiny ? 4 : 32},
          {"max_seq_len", 2048},
          {"attn_config", {{"attn_pdrop", 0.0}, {"clip_qkv", nullptr}, {"softmax_scale", nullptr}}},
          {"layer_norm_epsilon", 1e-5},
          {"initializer_range", 0.02},
          {"bos_token_id", 0},
          {"eos_token_id", 0}};
}

}  // namespace

extern const Family bloom, mpt;
const Family bloom = {
    .model_type = "bloom",
    .prefix = "transformer",
    .architectures = {"BloomForCausalLM", "BloomModel", "BloomForSequenceClassification",
                      "BloomForTokenClassification", "BloomForQuestionAnswering"},
    .spec = bloom_spec,
    .weights = bloom_weights,
    .optional_fields = {"tie_word_embeddings", "num_labels", "id2label", "label2id", "problem_type",
                        "classifier_dropout"},
    .presets = {"560m", "1b1", "7b1", "tiny"},
    .fresh_config = fresh_bloom,
};

const Family mpt = {
    .model_type = "mpt",
    .prefix = "transformer",
    .architectures = {"MptForCausalLM", "MptModel", "MptForSequenceClassification",
                      "MptForTokenClassification", "MptForQuestionAnswering"},
    .spec = mpt_spec,
    .weights = mpt_weights,
    .optional_fields = {"tie_word_embeddings", "num_labels", "id2label", "label2id", "problem_type",
                        "classifier_dropout", "hidden_dropout", "pad_token_id"},
    .presets = {"7b", "tiny"},
    .fresh_config = fresh_mpt,
};

}  // namespace attend
