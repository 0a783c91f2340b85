#include "models/families/llama_decoder.h"

#include "base/error.h"
#include "models/families/expert_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attend {
namespace {

AttentionSpec read_heads(const Fields& config, const LlamaRelative& relative, std::int64_t width) {
  AttentionSpec attention;
  attention.heads = config.integer({"num_attention_heads"}, relative.heads);
  const auto size = config.maybe_integer({"head_dim"}, 1);
  if (!size && relative.head_size == 0 && width % attention.heads != 0)
    fail("{}: num_attention_heads: the hidden size {} cannot be divided among {} attention heads",
         config.source(), width, attention.heads);
  attention.head_size = size.value_or(relative.head_size > 0 ? relative.head_size : width / attention.heads);
  const bool named = config.json().contains("num_key_value_heads");  // null means the number of heads
  const std::int64_t usual = named || relative.key_heads == 0 ? attention.heads : relative.key_heads;
  attention.key_heads = config.integer({"num_key_value_heads"}, usual);
  if (attention.heads % attention.key_heads != 0)
    fail("{}: num_key_value_heads: expected a number that divides the {} attention heads, found {}",
         config.source(), attention.heads, attention.key_heads);
  attention.scale = 1 / std::sqrt(static_cast<double>(attention.head_size));
  attention.causal = true;
  attention.rotary = 0;
  attention.input_bias = attention.output_bias = false;
  attention.quirks.padding_sees_all = true;
  attention.dropout = read_dropout(config, {"attention_dropout"}, 0);
  return attention;
}

// The padding token; null means none.
std::optional<std::int64_t> read_padding_id(const Fields& config, const LlamaRelative& relative) {
  if (config.json().contains("pad_token_id") || relative.padding_id < 0)
    return config.maybe_integer({"pad_token_id"}, std::numeric_limits<std::int64_t>::min());
  return relative.padding_id;
}

// The row of an embedding; a negative id counts from the end (torch's padding_idx).
std::int64_t row_of_padding(const Fields& config, std::optional<std::int64_t> id, std::int64_t vocabulary) {
  if (!id) return -1;
  if (*id < -vocabulary || *id >= vocabulary)
    fail("{}: pad_token_id: expected one of {} tokens, found {}", config.source(), vocabulary, *id);
  return *id < 0 ? *id + vocabulary : *id;
}

StackSpec decoder(const Fields& config, const LlamaRelative& relative) {
  const std::int64_t width = config.integer({"hidden_size"}, relative.width),
                     vocabulary = config.integer({"vocab_size"}, relative.vocabulary),
                     positions = config.integer({"max_position_embeddings"}, relative.positions);
  NormSpec norm = relative.norm;
  norm.epsilon = config.number({"rms_norm_eps", "layer_norm_eps", "norm_epsilon"}, norm.epsilon, 0, 1);
  const AttentionSpec attention = read_heads(config, relative, width);
  const LayerSpec layer = {
      .order = relative.order,
      .norm = norm,
      .self_attention = attention,
      .cross_attention = {},
      .feed_forward = {.width = config.integer({"intermediate_size"}, relative.inner),
                       .activation = read_activation(config, {"hidden_act"}, relative.activation),
                       .gated = relative.gated,
                       .bias = false},
  };
  const RotarySpec rotary = read_rotary(config, {.head_size = attention.head_size,
                                                 .positions = positions,
                                                 .base = relative.rotary_base,
                                                 .part = relative.rotary_part,
                                                 .halves = relative.rotary_halves});
  // If the base grows with the text, no text is too long.
  const std::int64_t longest = rotary.growing ? std::numeric_limits<std::int64_t>::max() : positions;
  StackSpec stack = {
      .embeddings = {.vocabulary = vocabulary,
                     .width = width,
                     .positions = RotaryPositions{longest},
                     .padding_id = row_of_padding(config, read_padding_id(config, relative), vocabulary)},
      .layers =
          std::vector<LayerSpec>(config.integer({"num_hidden_layers"}, relative.layers, 1, 10000), layer),
      .final_norm = norm,
      .weights_of = {},
  };
  stack.rotaries = {rotary};
  return stack;
}

std::optional<ScoreHeadSpec> scores(const Fields& config, std::string_view architecture,
                                    const LlamaRelative& relative) {
  std::optional<ScoreHeadSpec> head = read_score_head(config, architecture,
                                                      {.input = HeadInput::last_token,
                                                       .dense = {},
                                                       .bias = false,
                                                       .token_id = read_padding_id(config, relative),
                                                       .problem = {}});
  if (head && head->kind == ScoreKind::token_classification)
    head->dropout = read_dropout(config, {"classifier_dropout", "hidden_dropout"}, 0.1);
  return head;
}

}  // namespace

ModelSpec llama_model(const Fields& config, std::string_view architecture, const LlamaRelative& relative) {
  ModelSpec model;
  model.decoder = decoder(config, relative);
  if (architecture.ends_with("ForCausalLM"))
    model.language_model_head = LanguageModelHeadSpec{
        .transform = {}, .untied = !config.flag({"tie_word_embeddings"}, relative.tied)};
  model.score_head = scores(config, architecture, relative);
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  return model;
}

std::vector<WeightName> llama_weights(const ModelSpec& model, const std::string& body_of_answers) {
  const bool spans = model.score_head && model.score_head->kind == ScoreKind::question_answering;
  const std::string body = spans ? body_of_answers : "model.";
  const std::string theirs = body + "layers.{i}.", ours = "decoder.layers.{i}.";
  const LayerSpec& layer = model.decoder->layers.front();
  const AttentionSpec& attention = layer.self_attention;
  const std::vector<std::int64_t> rows{attention.width(), attention.key_width(), attention.key_width()};
  std::vector<WeightName> table = {
      // checkpoint, ours
      {body + "embed_tokens.weight", "decoder.embeddings.tokens"},
      {body + "norm.{weight|bias}", "decoder.final_norm.{weight|bias}"},
      {.checkpoint = theirs + "self_attn.{q_proj|k_proj|v_proj}.{weight|bias}",
       .ours = ours + "self_attention.query_key_value.{weight|bias}",
       .rows = rows},
      {theirs + "self_attn.o_proj.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {theirs + "self_attn.q_norm.{weight|bias}", ours + "self_attention.query_norm.norm.{weight|bias}"},
      {theirs + "self_attn.k_norm.{weight|bias}", ours + "self_attention.key_norm.norm.{weight|bias}"},
      {theirs + "self_attn.sinks", ours + "self_attention.sinks"},
      {theirs + "mlp.{gate_proj|up_proj}.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {theirs + "mlp.down_proj.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {"lm_head.{weight|bias}", "language_model_head.{weight|bias}"},
  };
  for (WeightName& row : expert_weights(model, theirs)) table.push_back(std::move(row));
  const auto norm = [&](const char* name, const char* own) {
    table.push_back({theirs + name + ".{weight|bias}", ours + own + ".{weight|bias}"});
  };
  switch (layer.order) {
    case NormOrder::result:
      norm("post_attention_layernorm", "self_attention_norm");
      norm("post_feedforward_layernorm", "feed_forward_norm");
      break;
    case NormOrder::around:
      norm("input_layernorm", "self_attention_norm");
      norm("post_attention_layernorm", "attention_result_norm");
      norm("pre_feedforward_layernorm", "feed_forward_norm");
      norm("post_feedforward_layernorm", "feed_forward_result_norm");
      break;
    default:
      norm("input_layernorm", "self_attention_norm");
      norm("post_attention_layernorm", "feed_forward_norm");
  }
  table.push_back(
      {spans ? "qa_outputs.{weight|bias}" : "score.{weight|bias}", "score_head.out.{weight|bias}"});
  return table;
}

std::vector<WeightName> renamed(std::vector<WeightName> table,
                                const std::vector<std::pair<std::string, std::string>>& words) {
  for (WeightName& row : table)
    for (const auto& [word, other] : words)
      if (const std::size_t at = row.checkpoint.find(word); at != std::string::npos)
        row.checkpoint.replace(at, word.size(), other);
  return table;
}

std::vector<std::string_view> llama_optional_fields(const std::vector<std::string_view>& more) {
  std::vector<std::string_view> fields = {
      "head_dim",          "rope_scaling", "rope_parameters",   "original_max_position_embeddings",
      "attention_dropout", "pad_token_id", "num_labels",        "id2label",
      "label2id",          "problem_type", "classifier_dropout"};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

const LlamaSize& find_size(std::span<const LlamaSize> sizes, std::string_view name) {
  const auto found = std::ranges::find(sizes, name, &LlamaSize::name);
  if (found == sizes.end()) fail("unknown preset {}", name);
  return *found;
}

Json fresh_llama_config(std::string_view model_type, std::string_view architecture, const LlamaSize& size,
                        const LlamaRelative& relative) {
  return {{"model_type", model_type},
          {"architectures", {architecture}},
          {"vocab_size", relative.vocabulary},
          {"hidden_size", size.width},
          {"intermediate_size", size.inner},
          {"num_hidden_layers", size.layers},
          {"num_attention_heads", size.heads},
          {"num_key_value_heads", size.key_heads},
          {"hidden_act", relative.activation},
          {"max_position_embeddings", relative.positions},
          {"initializer_range", 0.02},
          {relative.norm.root_mean_square ? "rms_norm_eps" : "layer_norm_eps", relative.norm.epsilon},
          {"rope_theta", relative.rotary_base},
          {"tie_word_embeddings", relative.tied},
          {"bos_token_id", 1},
          {"eos_token_id", 2}};
}

}  // namespace attend
