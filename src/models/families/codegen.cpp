// CodeGen: Nijkamp et al. 2022, arXiv:2203.13474: GPT-J's blocks for programs. Queries, values and keys are
// one matrix in four groups of heads, one for each processor in training. Checkpoints: Salesforce/codegen-*.
#include "base/error.h"
#include "models/families/gpt_decoder.h"

namespace attend {
namespace {

constexpr GptRelative codegen_relative = {.order = NormOrder::parallel,
                                          .vocabulary = 50400,
                                          .width = 4096,
                                          .layers = 28,
                                          .heads = 16,
                                          .positions = 2048,
                                          .dropout = 0};
constexpr std::int64_t kHeadGroups = 4;

ModelSpec codegen_spec(const Fields& config, std::string_view architecture) {
  ModelSpec model = gpt_model(config, architecture, codegen_relative);
  const AttentionSpec& attention = model.decoder->layers.front().self_attention;
  if (attention.heads % kHeadGroups != 0)
    fail("{}: n_head: expected a multiple of {}, found {}", config.source(), kHeadGroups, attention.heads);
  const std::int64_t rotary = config.integer({"rotary_dim"}, 64, 2, attention.head_size);
  put_gptj_blocks(model, config, rotary);
  return model;
}

std::vector<WeightName> codegen_weights(const ModelSpec& model) {
  return gptj_table(model, {.checkpoint = "transformer.h.{i}.attn.qkv_proj.weight",
                            .ours = "decoder.layers.{i}.self_attention.query_key_value.weight",
                            .heads = kHeadGroups,
                            .values_before_keys = true});
}

Json fresh_codegen(std::string_view preset) {
  const bool tiny = preset == "tiny";
  return {{"model_type", "codegen"},    {"architectures", {"CodeGenForCausalLM"}},
          {"vocab_size", 51200},        {"n_positions", tiny ? 512 : 2048},
          {"n_ctx", tiny ? 512 : 2048}, {"n_embd", tiny ? 256 : 1024},
          {"n_layer", tiny ? 4 : 20},   {"n_head", tiny ? 4 : 16},
          {"rotary_dim", 32},           {"activation_function", "gelu_new"},
          {"resid_pdrop", 0.0},         {"embd_pdrop", 0.0},
          {"attn_pdrop", 0.0},          {"layer_norm_epsilon", 1e-5},
          {"initializer_range", 0.02},  {"tie_word_embeddings", false},
          {"bos_token_id", 1},          {"eos_token_id", 50256}};
}

}  // namespace

extern const Family codegen;
const Family codegen = {
    .model_type = "codegen",
    .prefix = "transformer",
    .architectures = {"CodeGenForCausalLM", "CodeGenModel"},
    .spec = codegen_spec,
    .weights = codegen_weights,
    .ignored = {"transformer.h.{i}.attn.{bias|masked_bias|causal_mask|embed_positions}"},
    .optional_fields = {"n_inner", "pad_token_id"},
    .presets = {"350M", "tiny"},
    .fresh_config = fresh_codegen,
};

}  // namespace attend
