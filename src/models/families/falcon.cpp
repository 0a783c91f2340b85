// Falcon: Almazrouei et al. 2023, arXiv:2311.16867: attention and feed-forward in parallel, and one key head
// (Shazeer 2019, arXiv:1911.02150) or a few for all query heads; rotary positions or ALiBi. Checkpoints:
// tiiuae/falcon-7b*, tiiuae/falcon-40b*, tiiuae/falcon-rw-1b.
#include "base/error.h"
#include "models/families/gpt_decoder.h"
#include "models/families/rotary_fields.h"

#include <limits>

namespace attend {
namespace {

constexpr GptRelative falcon_relative = {
    .vocabulary = 65024, .width = 4544, .layers = 32, .heads = 71, .dropout = 0};

// The structure of a layer. An Error for structures that the original can build but not compute.
struct Shape {
  bool newer, parallel, two_norms;
  std::int64_t key_heads;
};

Shape read_shape(const Fields& config, std::int64_t heads) {
  Shape shape{.newer = config.flag({"new_decoder_architecture"}, false),
              .parallel = config.flag({"parallel_attn"}, true),
              .two_norms = false,
              .key_heads = heads};
  const auto norms = config.maybe_integer({"num_ln_in_parallel_attn"}, 1);
  shape.two_norms = shape.newer && norms.value_or(2) == 2;
  if (shape.newer && !shape.parallel)
    fail("{}: parallel_attn: only true is supported with new_decoder_architecture", config.source());
  if (norms && shape.parallel && (shape.newer ? *norms > 2 : *norms == 2))
    fail("{}: num_ln_in_parallel_attn: expected {}, found {}", config.source(),
         shape.newer ? "1 or 2" : "a number other than 2 without new_decoder_architecture", *norms);
  const std::int64_t given = config.integer({"num_kv_heads"}, heads);
  if (shape.newer)
    shape.key_heads = given;
  else if (config.flag({"multi_query"}, true))
    shape.key_heads = 1;
  else if (given != heads)
    fail(
        "{}: num_kv_heads: expected as many as the {} attention heads without new_decoder_architecture and "
        "multi_query, found {}",
        config.source(), heads, given);
  if (heads % shape.key_heads != 0)
    fail("{}: num_kv_heads: expected a number that divides the {} attention heads, found {}", config.source(),
         heads, shape.key_heads);
  return shape;
}

// Rotary positions, or ALiBi.
void read_positions(const Fields& config, StackSpec& stack) {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  const AttentionSpec& first = stack.layers.front().self_attention;
  if (config.flag({"alibi"}, false)) {
    stack.embeddings.positions = DistantPositions{any};
    stack.distances = LinearDistances{.factor = first.scale, .in_bfloat16 = true};
    return;
  }
  const std::int64_t positions = config.integer({"max_position_embeddings"}, 2048);
  stack.rotaries = {read_rotary(config, {.head_size = first.head_size, .positions = positions})};
  stack.embeddings.positions = RotaryPositions{stack.rotaries.front().growing ? any : positions};
  for (LayerSpec& layer : stack.layers) layer.self_attention.rotary = 0;
}

ModelSpec falcon_spec(const Fields& given, std::string_view architecture) {
  Json fields = given.json();
  if (given.has({"n_embed"})) fields["hidden_size"] = fields["n_embed"];
  const Fields config(fields, given.source());
  ModelSpec model = gpt_model(config, architecture, falcon_relative);
  StackSpec& stack = *model.decoder;
  const Shape shape = read_shape(config, stack.layers.front().self_attention.heads);
  const bool biases = config.flag({"bias"}, false), linear = config.flag({"alibi"}, false);
  const double dropout = read_dropout(config, {"hidden_dropout"}, 0),
               attention_dropout = read_dropout(config, {"attention_dropout"}, 0);
  for (LayerSpec& layer : stack.layers) {
    layer.order = shape.parallel ? NormOrder::parallel : NormOrder::pre;
    layer.two_norms = shape.two_norms;
    AttentionSpec& attention = layer.self_attention;
    attention.key_heads = shape.key_heads;
    attention.input_bias = attention.output_bias = layer.feed_forward.bias = biases;
    attention.quirks.padding_sees_all = true;
    // The original has attention dropout only with ALiBi.
    attention.dropout = linear ? attention_dropout : 0;
    layer.feed_forward.width = config.integer({"ffn_hidden_size"}, 4 * stack.width());
    layer.feed_forward.activation = read_activation(config, {"activation"}, "gelu");
    layer.attention_result_dropout = shape.parallel ? dropout : attention_dropout;
    layer.feed_forward_result_dropout = dropout;
  }
  stack.embeddings.types_are_tokens = false;
  stack.embeddings.dropout = 0;
  read_positions(config, stack);
  return model;
}

std::vector<WeightName> falcon_weights(const ModelSpec& model) {
  const std::string theirs = "transformer.h.{i}.", ours = "decoder.layers.{i}.";
  const LayerSpec& layer = model.decoder->layers.front();
  const std::int64_t heads = layer.self_attention.heads, key_heads = layer.self_attention.heads_of_keys();
  const std::string first = layer.two_norms ? "ln_attn" : "input_layernorm",
                    second = layer.two_norms ? "ln_mlp" : "post_attention_layernorm";
  std::vector<WeightName> table = {
      // checkpoint, ours
      {"transformer.word_embeddings.weight", "decoder.embeddings.tokens"},
      {theirs + first + ".{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {.checkpoint = theirs + "self_attention.query_key_value.{weight|bias}",
       .ours = ours + "self_attention.query_key_value.{weight|bias}",
       .heads = key_heads,
       .queries_per_head = heads / key_heads},
      {theirs + "self_attention.dense.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {theirs + second + ".{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {theirs + "mlp.dense_h_to_4h.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {theirs + "mlp.dense_4h_to_h.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {"transformer.ln_f.{weight|bias}", "decoder.final_norm.{weight|bias}"},
  };
  return with_gpt_heads(model, std::move(table));
}

Json fresh_falcon(std::string_view preset) {
  Json config = {{"model_type", "falcon"},
                 {"architectures", {"FalconForCausalLM"}},
                 {"vocab_size", 65024},
                 {"hidden_size", 4544},
                 {"num_hidden_layers", 32},
                 {"num_attention_heads", 71},
                 {"layer_norm_epsilon", 1e-5},
                 {"initializer_range", 0.02},
                 {"max_position_embeddings", 2048},
                 {"rope_theta", 10000.0},
                 {"alibi", false},
                 {"new_decoder_architecture", false},
                 {"multi_query", true},
                 {"parallel_attn", true},
                 {"bias", false},
                 {"hidden_dropout", 0.0},
                 {"attention_dropout", 0.0},
                 {"activation", "gelu"},
                 {"bos_token_id", 11},
                 {"eos_token_id", 11}};
  if (preset == "40b")
    config.update({{"hidden_size", 8192},
                   {"num_hidden_layers", 60},
                   {"num_attention_heads", 128},
                   {"new_decoder_architecture", true},
                   {"num_kv_heads", 8}});
  if (preset == "rw-1b")
    config.update({{"vocab_size", 50304},
                   {"hidden_size", 2048},
                   {"num_hidden_layers", 24},
                   {"num_attention_heads", 32},
                   {"alibi", true},
                   {"multi_query", false},
                   {"parallel_attn", false},
                   {"bias", true},
                   {"bos_token_id", 1},
                   {"eos_token_id", 2}});
  if (preset == "tiny")
    config.update({{"hidden_size", 256}, {"num_hidden_layers", 4}, {"num_attention_heads", 4}});
  return config;
}

}  // namespace

extern const Family falcon;
const Family falcon = {
    .model_type = "falcon",
    .prefix = "transformer",
    .architectures = {"FalconForCausalLM", "FalconModel", "FalconForSequenceClassification",
                      "FalconForTokenClassification", "FalconForQuestionAnswering"},
    .spec = falcon_spec,
    .weights = falcon_weights,
    .optional_fields = {"num_kv_heads", "num_ln_in_parallel_attn", "ffn_hidden_size", "rope_scaling",
                        "rope_parameters", "tie_word_embeddings", "pad_token_id", "num_labels", "id2label",
                        "label2id", "problem_type", "classifier_dropout"},
    .presets = {"7b", "40b", "rw-1b", "tiny"},
    .fresh_config = fresh_falcon,
};

}  // namespace attend
