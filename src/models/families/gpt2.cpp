// GPT-2: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
// Checkpoints: openai-community/gpt2*, distilbert/distilgpt2.
// GPT-3: Brown et al. 2020, arXiv:2005.14165, section 2.1: the same, with layers that alternate between full
// attention and a band of the last tokens. Its weights are not public; model_type "attend-gpt3" has GPT-2's
// names.
#include "base/error.h"
#include "models/families/gpt_decoder.h"

namespace attend {
namespace {

ModelSpec gpt2_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = gpt_model(config, architecture, {});
  model.initialization.narrow_results = true;
  const bool scaled = config.flag({"scale_attn_weights"}, true),
             by_layer = config.flag({"scale_attn_by_inverse_layer_idx"}, false);
  for (std::size_t i = 0; i < model.decoder->layers.size(); ++i) {
    double& scale = model.decoder->layers[i].self_attention.scale;
    if (!scaled) scale = 1;
    if (by_layer) scale /= static_cast<double>(i + 1);
  }
  if (config.flag({"add_cross_attention"}, false))
    for (LayerSpec& layer : model.decoder->layers) {
      layer.cross_attention = layer.self_attention;
      layer.cross_attention->causal = false;
    }
  return model;
}

// Every second layer sees only the last `window_size` tokens, including its own.
ModelSpec banded_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = gpt2_spec(config, architecture);
  const std::int64_t window = config.integer({"window_size"}, 256);
  for (std::size_t i = 1; i < model.decoder->layers.size(); i += 2)
    model.decoder->layers[i].self_attention.window = window;
  return model;
}

std::vector<WeightName> gpt2_weights(const ModelSpec& model) {
  constexpr auto conv1d = WeightLayout::transposed;
  const std::string cross = "transformer.h.{i}.crossattention.",
                    our_cross = "decoder.layers.{i}.cross_attention.";
  std::vector<WeightName> table = {
      // checkpoint, ours
      {"transformer.wte.weight", "decoder.embeddings.tokens"},
      {"transformer.wpe.weight", "decoder.embeddings.positions"},
      {"transformer.h.{i}.ln_1.{weight|bias}", "decoder.layers.{i}.self_attention_norm.{weight|bias}"},
      {"transformer.h.{i}.attn.c_attn.weight", "decoder.layers.{i}.self_attention.query_key_value.weight",
       conv1d},
      {"transformer.h.{i}.attn.c_attn.bias", "decoder.layers.{i}.self_attention.query_key_value.bias"},
      {"transformer.h.{i}.attn.c_proj.weight", "decoder.layers.{i}.self_attention.output.weight", conv1d},
      {"transformer.h.{i}.attn.c_proj.bias", "decoder.layers.{i}.self_attention.output.bias"},
      {cross + "q_attn.weight", our_cross + "query.weight", conv1d},
      {cross + "q_attn.bias", our_cross + "query.bias"},
      {cross + "c_attn.weight", our_cross + "key_value.weight", conv1d},
      {cross + "c_attn.bias", our_cross + "key_value.bias"},
      {cross + "c_proj.weight", our_cross + "output.weight", conv1d},
      {cross + "c_proj.bias", our_cross + "output.bias"},
      {"transformer.h.{i}.ln_cross_attn.{weight|bias}",
       "decoder.layers.{i}.cross_attention_norm.{weight|bias}"},
      {"transformer.h.{i}.ln_2.{weight|bias}", "decoder.layers.{i}.feed_forward_norm.{weight|bias}"},
      {"transformer.h.{i}.mlp.c_fc.weight", "decoder.layers.{i}.feed_forward.in.weight", conv1d},
      {"transformer.h.{i}.mlp.c_fc.bias", "decoder.layers.{i}.feed_forward.in.bias"},
      {"transformer.h.{i}.mlp.c_proj.weight", "decoder.layers.{i}.feed_forward.out.weight", conv1d},
      {"transformer.h.{i}.mlp.c_proj.bias", "decoder.layers.{i}.feed_forward.out.bias"},
      {"transformer.ln_f.{weight|bias}", "decoder.final_norm.{weight|bias}"},
  };
  return with_gpt_heads(model, std::move(table));
}

Json fresh_gpt2(std::string_view preset) {
  struct Size {
    std::string_view name;
    int width, layers, heads, positions;
    double dropout;
  };
  // The four of the paper, and nanoGPT's CPU configuration of the character model.
  static constexpr Size sizes[] = {{"small", 768, 12, 12, 1024, 0.1},  {"medium", 1024, 24, 16, 1024, 0.1},
                                   {"large", 1280, 36, 20, 1024, 0.1}, {"xl", 1600, 48, 25, 1024, 0.1},
                                   {"character", 128, 4, 4, 64, 0.0},  {"tiny", 256, 4, 4, 512, 0.1}};
  for (const Size& size : sizes) {
    if (size.name != preset) continue;
    return {{"model_type", "gpt2"},        {"architectures", {"GPT2LMHeadModel"}},
            {"vocab_size", 50257},         {"n_positions", size.positions},
            {"n_embd", size.width},        {"n_layer", size.layers},
            {"n_head", size.heads},        {"activation_function", "gelu_new"},
            {"resid_pdrop", size.dropout}, {"embd_pdrop", size.dropout},
            {"attn_pdrop", size.dropout},  {"layer_norm_epsilon", 1e-5},
            {"initializer_range", 0.02},   {"bos_token_id", 50256},
            {"eos_token_id", 50256}};
  }
  fail("gpt2 has no preset {}", preset);
}

Json fresh_banded_config(std::string_view preset) {
  struct Size {
    std::string_view name;
    int width, layers, heads;
  };
  // From the paper's table 2.1; for larger ones, use --set n_embd and others.
  static constexpr Size sizes[] = {{"small", 768, 12, 12}, {"medium", 1024, 24, 16}, {"large", 1536, 24, 16}};
  Json config = fresh_gpt2("small");
  config.update({{"model_type", "attend-gpt3"},
                 {"architectures", {"AttendGPT3LMHeadModel"}},
                 {"n_positions", 2048},
                 {"window_size", 256}});
  for (const Size& size : sizes)
    if (size.name == preset)
      config.update({{"n_embd", size.width}, {"n_layer", size.layers}, {"n_head", size.heads}});
  return config;
}

}  // namespace

extern const Family gpt2, attend_gpt3;
const Family gpt2 = {
    .model_type = "gpt2",
    .prefix = "transformer",
    .architectures = {"GPT2LMHeadModel", "GPT2Model", "GPT2DoubleHeadsModel", "GPT2ForSequenceClassification",
                      "GPT2ForTokenClassification", "GPT2ForQuestionAnswering"},
    .spec = gpt2_spec,
    .weights = gpt2_weights,
    .ignored = {"transformer.h.{i}.{attn|crossattention}.{bias|masked_bias}"},
    .optional_fields = {"n_inner", "scale_attn_weights", "scale_attn_by_inverse_layer_idx",
                        "add_cross_attention", "summary_activation", "tie_word_embeddings", "pad_token_id",
                        "num_labels", "id2label", "label2id", "problem_type"},
    .presets = {"small", "medium", "large", "xl", "character", "tiny"},
    .fresh_config = fresh_gpt2,
};

const Family attend_gpt3 = {
    .model_type = "attend-gpt3",
    .prefix = "transformer",
    .architectures = {"AttendGPT3LMHeadModel", "AttendGPT3Model"},
    .spec = banded_spec,
    .weights = gpt2_weights,
    .optional_fields = gpt2.optional_fields,
    .presets = {"small", "medium", "large"},
    .fresh_config = fresh_banded_config,
};

}  // namespace attend
