#include "models/families/gpt_decoder.h"

#include "base/error.h"
#include "models/families/summary.h"

#include <cmath>

namespace attend {
namespace {

StackSpec decoder(const Fields& config, const GptRelative& relative) {
  const std::int64_t width = config.integer({"n_embd", "hidden_size"}, relative.width);
  AttentionSpec attention =
      read_attention(config, {"n_head", "num_attention_heads", "num_heads"}, relative.heads, width);
  attention.causal = true;
  attention.dropout = read_dropout(config, {"attn_pdrop", "attention_dropout"}, relative.dropout);
  const double dropout = read_dropout(config, {"resid_pdrop", "resid_dropout"}, relative.dropout);
  const NormSpec norm{config.number({"layer_norm_epsilon"}, relative.norm_epsilon, 0, 1)};
  const LayerSpec layer = {
      .order = relative.order,
      .norm = norm,
      .self_attention = attention,
      .cross_attention = {},
      .feed_forward =
          {.width = config.maybe_integer({"n_inner", "intermediate_size", "dff"}, 1).value_or(4 * width),
           .activation = read_activation(config, {"activation_function"}, "gelu_new")},
      .attention_result_dropout = dropout,
      .feed_forward_result_dropout = dropout,
  };
  return {
      .embeddings = {.vocabulary = config.integer({"vocab_size"}, relative.vocabulary),
                     .width = width,
                     .positions =
                         LearnedPositions{.count = config.integer({"n_positions", "max_position_embeddings"},
                                                                  relative.positions)},
                     .types_are_tokens = true,
                     .norm = {},
                     .dropout = read_dropout(config, {"embd_pdrop", "embed_dropout"}, relative.dropout)},
      .layers = std::vector<LayerSpec>(
          config.integer({"n_layer", "num_hidden_layers", "num_layers"}, relative.layers, 1, 10000), layer),
      .final_norm = relative.order == NormOrder::post ? std::nullopt : std::optional(norm),
      .weights_of = {},
  };
}

std::optional<LanguageModelHeadSpec> language_model(const Fields& config, std::string_view architecture) {
  if (!architecture.ends_with("LMHeadModel") && !architecture.ends_with("ForCausalLM") &&
      !architecture.ends_with("DoubleHeadsModel"))
    return {};
  return LanguageModelHeadSpec{.transform = {}, .untied = !config.flag({"tie_word_embeddings"}, true)};
}

std::optional<ScoreHeadSpec> scores(const Fields& config, std::string_view architecture) {
  if (architecture.ends_with("DoubleHeadsModel")) {
    ScoreHeadSpec head =
        read_summary_scores(config, {.type = "cls_index", .to_labels = true, .first_dropout = 0.1},
                            /*labels=*/1, /*width=*/0);
    // Other summaries do not give a score for each choice: the original would confuse choices with tokens.
    if (head.input != HeadInput::chosen_token || head.labels != 1)
      fail(
          "{}: two heads are supported with summary_type \"cls_index\" and a projection to one label "
          "(summary_use_proj and summary_proj_to_labels)",
          config.source());
    head.kind = ScoreKind::multiple_choice;
    head.quirks.output = "mc_logits";
    head.quirks.label_input = "mc_labels";
    head.quirks.loss = "mc_loss";
    return head;
  }
  std::optional<ScoreHeadSpec> head = read_score_head(config, architecture,
                                                      {.input = HeadInput::last_token,
                                                       .dense = {},
                                                       .bias = false,
                                                       .token_id = config.maybe_integer({"pad_token_id"}, -1),
                                                       .problem = {}});
  if (head && head->kind == ScoreKind::token_classification)
    head->dropout = read_dropout(config, {"classifier_dropout", "hidden_dropout"}, 0.1);
  return head;
}

}  // namespace

ModelSpec gpt_model(const Fields& config, std::string_view architecture, const GptRelative& relative) {
  ModelSpec model;
  model.decoder = decoder(config, relative);
  put_gpt_heads(model, config, architecture);
  model.initialization.range = config.number({"initializer_range"}, 0.02, 0, 10);
  return model;
}

void put_gpt_heads(ModelSpec& model, const Fields& config, std::string_view architecture) {
  model.language_model_head = language_model(config, architecture);
  model.score_head = scores(config, architecture);
}

void put_gptj_blocks(ModelSpec& model, const Fields& config, std::int64_t rotary) {
  if (rotary % 2 != 0) fail("{}: rotary_dim: expected an even number, found {}", config.source(), rotary);
  model.decoder->embeddings.positions =
      RotaryPositions{config.integer({"n_positions", "max_position_embeddings"}, 2048)};
  model.decoder->rotaries = {{.size = rotary}};
  for (LayerSpec& layer : model.decoder->layers) {
    layer.self_attention.rotary = 0;
    layer.self_attention.input_bias = layer.self_attention.output_bias = false;
    layer.self_attention.quirks.padding_sees_all = true;
  }
  if (model.language_model_head) {
    model.language_model_head->bias = true;
    model.language_model_head->untied = !config.flag({"tie_word_embeddings"}, false);
  }
}

std::vector<WeightName> gptj_table(const ModelSpec& model, const WeightName& query_key_value) {
  const std::string theirs = "transformer.h.{i}.", ours = "decoder.layers.{i}.";
  std::vector<WeightName> table = {
      // checkpoint, ours
      {"transformer.wte.weight", "decoder.embeddings.tokens"},
      {theirs + "ln_1.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      query_key_value,
      {theirs + "attn.out_proj.weight", ours + "self_attention.output.weight"},
      {theirs + "mlp.fc_in.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {theirs + "mlp.fc_out.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {"transformer.ln_f.{weight|bias}", "decoder.final_norm.{weight|bias}"},
  };
  return with_gpt_heads(model, std::move(table));
}

std::vector<WeightName> with_gpt_heads(const ModelSpec& model, std::vector<WeightName> table,
                                       const std::string& sentence) {
  table.push_back({"lm_head.{weight|bias}", "language_model_head.{weight|bias}"});
  if (!model.score_head) return table;
  const ScoreKind kind = model.score_head->kind;
  const std::string name = kind == ScoreKind::sequence_classification ? sentence
                           : kind == ScoreKind::token_classification  ? "classifier"
                           : kind == ScoreKind::question_answering    ? "qa_outputs"
                                                                      : "multiple_choice_head.summary";
  table.push_back({name + ".{weight|bias}", "score_head.out.{weight|bias}"});
  return table;
}

}  // namespace attend
