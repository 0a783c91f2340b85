#include "sources/gguf/gguf_architectures.h"

#include "base/error.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attend {
namespace {

constexpr GgufName gpt2_names[] = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "transformer.h.#.ln_1"},
    {"blk.#.attn_qkv", "transformer.h.#.attn.c_attn", GgufName::Rows::transposed},
    {"blk.#.attn_output", "transformer.h.#.attn.c_proj", GgufName::Rows::transposed},
    {"blk.#.ffn_norm", "transformer.h.#.ln_2"},
    {"blk.#.ffn_up", "transformer.h.#.mlp.c_fc", GgufName::Rows::transposed},
    {"blk.#.ffn_down", "transformer.h.#.mlp.c_proj", GgufName::Rows::transposed},
};
constexpr GgufName gptj_names[] = {
    {"token_embd", "transformer.wte"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "transformer.h.#.ln_1"},
    {"blk.#.attn_q", "transformer.h.#.attn.q_proj"},
    {"blk.#.attn_k", "transformer.h.#.attn.k_proj"},
    {"blk.#.attn_v", "transformer.h.#.attn.v_proj"},
    {"blk.#.attn_output", "transformer.h.#.attn.out_proj"},
    {"blk.#.ffn_up", "transformer.h.#.mlp.fc_in"},
    {"blk.#.ffn_down", "transformer.h.#.mlp.fc_out"},
};
constexpr GgufName bert_names[] = {
    {"token_embd", "bert.embeddings.word_embeddings"},
    {"position_embd", "bert.embeddings.position_embeddings"},
    {"token_types", "bert.embeddings.token_type_embeddings"},
    {"token_embd_norm", "bert.embeddings.LayerNorm"},
    {"blk.#.attn_q", "bert.encoder.layer.#.attention.self.query"},
    {"blk.#.attn_k", "bert.encoder.layer.#.attention.self.key"},
    {"blk.#.attn_v", "bert.encoder.layer.#.attention.self.value"},
    {"blk.#.attn_output", "bert.encoder.layer.#.attention.output.dense"},
    {"blk.#.attn_output_norm", "bert.encoder.layer.#.attention.output.LayerNorm"},
    {"blk.#.ffn_up", "bert.encoder.layer.#.intermediate.dense"},
    {"blk.#.ffn_down", "bert.encoder.layer.#.output.dense"},
    {"blk.#.layer_output_norm", "bert.encoder.layer.#.output.LayerNorm"},
};
constexpr GgufName t5_names[] = {
    {"token_embd", "shared"},
    {"output", "lm_head"},
    {"enc.output_norm", "encoder.final_layer_norm"},
    {"enc.blk.#.attn_norm", "encoder.block.#.layer.0.layer_norm"},
    {"enc.blk.#.attn_q", "encoder.block.#.layer.0.SelfAttention.q"},
    {"enc.blk.#.attn_k", "encoder.block.#.layer.0.SelfAttention.k"},
    {"enc.blk.#.attn_v", "encoder.block.#.layer.0.SelfAttention.v"},
    {"enc.blk.#.attn_o", "encoder.block.#.layer.0.SelfAttention.o"},
    {"enc.blk.#.attn_rel_b", "encoder.block.#.layer.0.SelfAttention.relative_attention_bias"},
    {"enc.blk.#.ffn_norm", "encoder.block.#.layer.1.layer_norm"},
    {"enc.blk.#.ffn_gate", "encoder.block.#.layer.1.DenseReluDense.wi_0"},
    {"enc.blk.#.ffn_up", "encoder.block.#.layer.1.DenseReluDense.wi"},
    {"enc.blk.#.ffn_down", "encoder.block.#.layer.1.DenseReluDense.wo"},
    {"dec.output_norm", "decoder.final_layer_norm"},
    {"dec.blk.#.attn_norm", "decoder.block.#.layer.0.layer_norm"},
    {"dec.blk.#.attn_q", "decoder.block.#.layer.0.SelfAttention.q"},
    {"dec.blk.#.attn_k", "decoder.block.#.layer.0.SelfAttention.k"},
    {"dec.blk.#.attn_v", "decoder.block.#.layer.0.SelfAttention.v"},
    {"dec.blk.#.attn_o", "decoder.block.#.layer.0.SelfAttention.o"},
    {"dec.blk.#.attn_rel_b", "decoder.block.#.layer.0.SelfAttention.relative_attention_bias"},
    {"dec.blk.#.cross_attn_norm", "decoder.block.#.layer.1.layer_norm"},
    {"dec.blk.#.cross_attn_q", "decoder.block.#.layer.1.EncDecAttention.q"},
    {"dec.blk.#.cross_attn_k", "decoder.block.#.layer.1.EncDecAttention.k"},
    {"dec.blk.#.cross_attn_v", "decoder.block.#.layer.1.EncDecAttention.v"},
    {"dec.blk.#.cross_attn_o", "decoder.block.#.layer.1.EncDecAttention.o"},
    {"dec.blk.#.cross_attn_rel_b", "decoder.block.#.layer.1.EncDecAttention.relative_attention_bias"},
    {"dec.blk.#.ffn_norm", "decoder.block.#.layer.2.layer_norm"},
    {"dec.blk.#.ffn_gate", "decoder.block.#.layer.2.DenseReluDense.wi_0"},
    {"dec.blk.#.ffn_up", "decoder.block.#.layer.2.DenseReluDense.wi"},
    {"dec.blk.#.ffn_down", "decoder.block.#.layer.2.DenseReluDense.wo"},
};

bool is_gated(const GgufParts& files) {
  return files.find("enc.blk.0.ffn_gate.weight") != nullptr;
}

void complete_bert(const GgufParts& files, Json& config) {
  config["type_vocab_size"] = files.tensor("token_types.weight").shape.front();
  // A token id, not a role: the numbers do not depend on which token is padding.
  config["pad_token_id"] = files.metadata().integer({"tokenizer.ggml.padding_token_id"}, 0, 0);
}

void complete_gpt(const GgufParts& files, Json& config) {
  config["tie_word_embeddings"] = !has_own_head(files);
}

void complete_t5(const GgufParts& files, Json& config) {
  config["tie_word_embeddings"] = !has_own_head(files);
  config["feed_forward_proj"] = is_gated(files) ? "gated-gelu" : "relu";
}

std::vector<GgufArchitecture> all_architectures() {
  const std::vector<GgufField> gpt = {
      {"n_layer", {"block_count"}},         {"n_positions", {"context_length"}},
      {"n_embd", {"embedding_length"}},     {"n_inner", {"feed_forward_length"}},
      {"n_head", {"attention.head_count"}}, {"layer_norm_epsilon", {"attention.layer_norm_epsilon"}}};
  std::vector<GgufField> gptj = gpt;
  gptj.push_back({"rotary_dim", {"rope.dimension_count"}});
  const std::vector<GgufField> bert = {{"num_hidden_layers", {"block_count"}},
                                       {"max_position_embeddings", {"context_length"}},
                                       {"hidden_size", {"embedding_length"}},
                                       {"intermediate_size", {"feed_forward_length"}},
                                       {"num_attention_heads", {"attention.head_count"}},
                                       {"layer_norm_eps", {"attention.layer_norm_epsilon"}}};
  const std::vector<GgufField> t5 = {
      {"num_layers", {"block_count"}},
      {"num_decoder_layers", {"decoder_block_count", "block_count"}},
      {"n_positions", {"context_length"}},
      {"d_model", {"embedding_length"}},
      {"d_ff", {"feed_forward_length"}},
      {"num_heads", {"attention.head_count"}},
      {"d_kv", {"attention.key_length"}},
      {"layer_norm_epsilon", {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"}},
      {"relative_attention_num_buckets", {"attention.relative_buckets_count"}},
      {"decoder_start_token_id", {"decoder_start_token_id"}}};
  const Json gelu_new = {{"activation_function", "gelu_new"}};
  std::vector<GgufArchitecture> all = {
      {"gpt2", "gpt2", "GPT2LMHeadModel", {gpt2_names}, gpt, gelu_new, {}, complete_gpt},
      {"gptj", "gptj", "GPTJForCausalLM", {gptj_names}, gptj, gelu_new, {}, complete_gpt},
      {"bert",
       "bert",
       "BertModel",
       {bert_names},
       bert,
       {{"hidden_act", "gelu"}, {"add_pooling_layer", false}},
       {},
       complete_bert},
      {"t5",
       "t5",
       "T5ForConditionalGeneration",
       {t5_names},
       t5,
       {{"is_encoder_decoder", true}},
       {},
       complete_t5},
      {"t5encoder", "t5", "T5EncoderModel", {t5_names}, t5, {{"is_encoder_decoder", false}}, {}, complete_t5},
  };
  for (GgufArchitecture& each : gguf_decoders()) all.push_back(std::move(each));
  return all;
}

}  // namespace

const GgufName* GgufArchitecture::find(std::string_view module) const {
  for (const std::span<const GgufName> table : names)
    if (const auto found = std::ranges::find(table, module, &GgufName::gguf); found != table.end())
      return &*found;
  return nullptr;
}

std::optional<std::pair<std::string, GgufName::Rows>> GgufArchitecture::to_gguf(
    const std::string& checkpoint) const {
  const TensorNameParts parts(checkpoint);
  for (const std::span<const GgufName> table : names)
    for (const GgufName& name : table)
      if (name.checkpoint == parts.module && find(name.gguf) == &name)
        return {{parts.with_number(name.gguf), name.rows}};
  return {};
}

TensorNameParts::TensorNameParts(const std::string& name) {
  const std::size_t dot = std::min(name.rfind('.'), name.size());
  ending = name.substr(dot);
  for (std::size_t at = 0; at < dot;) {
    const std::size_t end = std::min(name.find('.', at), dot);
    const std::string word = name.substr(at, end - at);
    const bool is_number =
        !word.empty() && std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_number) number = word;
    module += (at > 0 ? "." : "") + (is_number ? std::string("#") : word);
    at = end + 1;
  }
}

std::string TensorNameParts::with_number(std::string_view other) const {
  std::string name = std::string(other) + ending;
  if (const std::size_t place = name.find('#'); place != name.npos) name.replace(place, 1, number);
  return name;
}

const GgufArchitecture& gguf_architecture(const Gguf& gguf) {
  static const std::vector<GgufArchitecture> all = all_architectures();
  const std::string name = gguf.metadata().text({"general.architecture"});
  const auto found = std::ranges::find(all, name, &GgufArchitecture::name);
  if (found != all.end()) return *found;
  std::vector<std::string_view> known;
  for (const GgufArchitecture& each : all) known.push_back(each.name);
  fail("{}: general.architecture: expected one of {}, found {}", gguf.source(), fmt::join(known, ", "),
       shown(Json(name)));
}

std::optional<Json> gguf_value(const Gguf& gguf, const std::string& key) {
  if (gguf.has_array(key)) {
    const std::vector<std::int64_t> values = gguf.integers(key);
    if (values.empty() || std::ranges::any_of(values, [&](auto each) { return each != values.front(); }))
      fail("{}: {}: expected the same number for each layer; layers that differ are not supported",
           gguf.source(), key);
    return values.front();
  }
  const auto found = gguf.metadata().json().find(key);
  if (found == gguf.metadata().json().end()) return {};
  if (!found->is_number() && !found->is_boolean())
    fail("{}: {}: expected a number, found {}", gguf.source(), key, shown(*found));
  return *found;
}

bool has_own_head(const GgufParts& files) {
  const GgufTensor *head = files.find("output.weight"), *table = files.find("token_embd.weight");
  return head != nullptr && (table == nullptr || head->type != table->type || head->shape != table->shape ||
                             !std::ranges::equal(head->data, table->data));
}

}  // namespace attend
