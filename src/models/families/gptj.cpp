// GPT-J: Wang & Komatsuzaki 2021, https://github.com/kingoflolz/mesh-transformer-jax: rotary positions,
// attention and feed-forward in parallel. Checkpoints: EleutherAI/gpt-j-6b.
#include "base/error.h"
#include "models/families/gpt_decoder.h"

namespace attend {
namespace {

constexpr GptRelative gptj_relative = {.order = NormOrder::parallel,
                                       .vocabulary = 50400,
                                       .width = 4096,
                                       .layers = 28,
                                       .heads = 16,
                                       .positions = 2048,
                                       .dropout = 0};

ModelSpec gptj_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = gpt_model(config, architecture, gptj_relative);
  const std::int64_t head_size = model.decoder->layers.front().self_attention.head_size;
  put_gptj_blocks(model, config, config.maybe_integer({"rotary_dim"}, 2, head_size).value_or(head_size));
  return model;
}

std::vector<WeightName> gptj_weights(const ModelSpec& model) {
  return gptj_table(model, {"transformer.h.{i}.attn.{q_proj|k_proj|v_proj}.weight",
                            "decoder.layers.{i}.self_attention.query_key_value.weight"});
}

Json fresh_gptj(std::string_view) {
  return {{"model_type", "gptj"},
          {"architectures", {"GPTJForCausalLM"}},
          {"vocab_size", 50400},
          {"n_positions", 2048},
          {"n_embd", 4096},
          {"n_layer", 28},
          {"n_head", 16},
          {"rotary_dim", 64},
          {"activation_function", "gelu_new"},
          {"resid_pdrop", 0.0},
          {"embd_pdrop", 0.0},
          {"attn_pdrop", 0.0},
          {"layer_norm_epsilon", 1e-5},
          {"initializer_range", 0.02},
          {"tie_word_embeddings", false},
          {"bos_token_id", 50256},
          {"eos_token_id", 50256}};
}

}  // namespace

extern const Family gptj;
const Family gptj = {
    .model_type = "gptj",
    .prefix = "transformer",
    .architectures = {"GPTJForCausalLM", "GPTJModel", "GPTJForSequenceClassification",
                      "GPTJForQuestionAnswering"},
    .spec = gptj_spec,
    .weights = gptj_weights,
    .ignored = {"transformer.h.{i}.attn.{bias|masked_bias|embed_positions}"},
    .optional_fields = {"n_inner", "pad_token_id", "num_labels", "id2label", "label2id", "problem_type"},
    .presets = {"6b"},
    .fresh_config = fresh_gptj,
};

}  // namespace attend
