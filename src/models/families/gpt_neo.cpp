// GPT-Neo: Black et al. 2021, https://github.com/EleutherAI/gpt-neo: GPT-2 with full attention or a window in
// each layer. Checkpoints: EleutherAI/gpt-neo-*.
#include "base/error.h"
#include "models/families/gpt_decoder.h"

namespace attend {
namespace {

constexpr GptRelative gpt_neo_relative = {
    .width = 2048, .layers = 24, .heads = 16, .positions = 2048, .dropout = 0};

// attention_types: [[["global", "local"], 12]] means these two alternating, twelve times.
std::vector<std::string> read_attention_types(const Fields& config) {
  const Json types = config.json().value("attention_types", Json::parse(R"([[["global", "local"], 12]])"));
  const auto wrong = [&] {
    fail("{}: attention_types: expected a list such as [[[\"global\", \"local\"], 12]], found {}",
         config.source(), shown(types));
  };
  std::vector<std::string> names;
  if (!types.is_array()) wrong();
  for (const Json& entry : types) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_array() || !entry[1].is_number_integer() ||
        entry[1] < 0)
      wrong();
    if (entry[1] > 10000) wrong();
    for (std::int64_t i = 0; i < entry[1].get<std::int64_t>(); ++i)
      for (const Json& name : entry[0]) {
        if (name != "global" && name != "local") wrong();
        names.push_back(name.get<std::string>());
        if (names.size() > 10000) wrong();
      }
  }
  return names;
}

ModelSpec gpt_neo_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = gpt_model(config, architecture, gpt_neo_relative);
  const std::vector<std::string> types = read_attention_types(config);
  std::vector<LayerSpec>& layers = model.decoder->layers;
  if (types.size() != layers.size())
    fail("{}: attention_types: expected one for each of the {} layers, found {}", config.source(),
         layers.size(), types.size());
  const std::int64_t window = config.integer({"window_size"}, 256);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    AttentionSpec& attention = layers[i].self_attention;
    attention.scale = 1;  // the original omits 1 / sqrt(head size)
    attention.window = types[i] == "local" ? window : 0;
    attention.input_bias = false;
  }
  return model;
}

std::vector<WeightName> gpt_neo_weights(const ModelSpec& model) {
  const std::string theirs = "transformer.h.{i}.", ours = "decoder.layers.{i}.";
  std::vector<WeightName> table = {
      // checkpoint, ours
      {"transformer.wte.weight", "decoder.embeddings.tokens"},
      {"transformer.wpe.weight", "decoder.embeddings.positions"},
      {theirs + "ln_1.{weight|bias}", ours + "self_attention_norm.{weight|bias}"},
      {theirs + "attn.attention.{q_proj|k_proj|v_proj}.weight",
       ours + "self_attention.query_key_value.weight"},
      {theirs + "attn.attention.out_proj.{weight|bias}", ours + "self_attention.output.{weight|bias}"},
      {theirs + "ln_2.{weight|bias}", ours + "feed_forward_norm.{weight|bias}"},
      {theirs + "mlp.c_fc.{weight|bias}", ours + "feed_forward.in.{weight|bias}"},
      {theirs + "mlp.c_proj.{weight|bias}", ours + "feed_forward.out.{weight|bias}"},
      {"transformer.ln_f.{weight|bias}", "decoder.final_norm.{weight|bias}"},
  };
  return with_gpt_heads(model, std::move(table));
}

Json fresh_gpt_neo(std::string_view) {
  return {{"model_type", "gpt_neo"},   {"architectures", {"GPTNeoForCausalLM"}},
          {"vocab_size", 50257},       {"max_position_embeddings", 2048},
          {"hidden_size", 768},        {"num_layers", 12},
          {"num_heads", 12},           {"attention_types", {{{"global", "local"}, 6}}},
          {"window_size", 256},        {"activation_function", "gelu_new"},
          {"resid_dropout", 0.0},      {"embed_dropout", 0.0},
          {"attention_dropout", 0.0},  {"layer_norm_epsilon", 1e-5},
          {"initializer_range", 0.02}, {"bos_token_id", 50256},
          {"eos_token_id", 50256}};
}

}  // namespace

extern const Family gpt_neo;
const Family gpt_neo = {
    .model_type = "gpt_neo",
    .prefix = "transformer",
    .architectures = {"GPTNeoForCausalLM", "GPTNeoModel", "GPTNeoForSequenceClassification",
                      "GPTNeoForTokenClassification", "GPTNeoForQuestionAnswering"},
    .spec = gpt_neo_spec,
    .weights = gpt_neo_weights,
    .ignored = {"transformer.h.{i}.attn.attention.{bias|masked_bias}"},
    .optional_fields = {"intermediate_size", "tie_word_embeddings", "pad_token_id", "num_labels", "id2label",
                        "label2id", "problem_type"},
    .presets = {"125M"},
    .fresh_config = fresh_gpt_neo,
};

}  // namespace attend
