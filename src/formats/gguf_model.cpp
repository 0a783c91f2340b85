#include "formats/gguf_model.h"

#include "base/error.h"
#include "formats/gguf.h"

#include <algorithm>
#include <cctype>
#include <span>

#include <fmt/ranges.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

// A module's tensors, NAME.weight and NAME.bias; # is a number. Matrices lie as [out, in].
struct Name {
  std::string_view gguf, checkpoint;
  bool transposed = false;  // the checkpoint has [in, out] (Conv1D)
};

constexpr Name gpt2_names[] = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "transformer.h.#.ln_1"},
    {"blk.#.attn_qkv", "transformer.h.#.attn.c_attn", true},
    {"blk.#.attn_output", "transformer.h.#.attn.c_proj", true},
    {"blk.#.ffn_norm", "transformer.h.#.ln_2"},
    {"blk.#.ffn_up", "transformer.h.#.mlp.c_fc", true},
    {"blk.#.ffn_down", "transformer.h.#.mlp.c_proj", true},
};
constexpr Name gptj_names[] = {
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
constexpr Name bert_names[] = {
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
constexpr Name t5_names[] = {
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

// A field of config.json and the keys that say it, after "ARCHITECTURE.", the first that is there.
struct Field {
  const char* config;
  std::vector<const char*> keys;
};

struct Architecture {
  std::string_view name, model_type, class_name;
  std::span<const Name> names;
  std::vector<Field> fields;
  Json fixed;  // what the architecture is, and llama.cpp computes it
};

const std::vector<Architecture>& architectures() {
  static const std::vector<Field> gpt = {
      {"n_layer", {"block_count"}},         {"n_positions", {"context_length"}},
      {"n_embd", {"embedding_length"}},     {"n_inner", {"feed_forward_length"}},
      {"n_head", {"attention.head_count"}}, {"layer_norm_epsilon", {"attention.layer_norm_epsilon"}}};
  static const std::vector<Field> gptj = [] {
    std::vector<Field> fields = gpt;
    fields.push_back({"rotary_dim", {"rope.dimension_count"}});
    return fields;
  }();
  static const std::vector<Field> bert = {{"num_hidden_layers", {"block_count"}},
                                          {"max_position_embeddings", {"context_length"}},
                                          {"hidden_size", {"embedding_length"}},
                                          {"intermediate_size", {"feed_forward_length"}},
                                          {"num_attention_heads", {"attention.head_count"}},
                                          {"layer_norm_eps", {"attention.layer_norm_epsilon"}}};
  static const std::vector<Field> t5 = {
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
  static const std::vector<Architecture> all = {
      {"gpt2", "gpt2", "GPT2LMHeadModel", gpt2_names, gpt, {{"activation_function", "gelu_new"}}},
      {"gptj", "gptj", "GPTJForCausalLM", gptj_names, gptj, {{"activation_function", "gelu_new"}}},
      {"bert", "bert", "BertModel", bert_names, bert, {{"hidden_act", "gelu"}, {"add_pooling_layer", false}}},
      {"t5", "t5", "T5ForConditionalGeneration", t5_names, t5, {{"is_encoder_decoder", true}}},
      {"t5encoder", "t5", "T5EncoderModel", t5_names, t5, {{"is_encoder_decoder", false}}},
  };
  return all;
}

const Architecture& architecture_of(const Gguf& gguf) {
  const std::string name = gguf.metadata().text({"general.architecture"});
  const auto found = std::ranges::find(architectures(), name, &Architecture::name);
  if (found != architectures().end()) return *found;
  std::vector<std::string_view> known;
  for (const Architecture& each : architectures()) known.push_back(each.name);
  fail("{}: general.architecture: expected one of {}, found {}", gguf.source(), fmt::join(known, ", "),
       shown(Json(name)));
}

// The parts of "blk.12.attn_q.weight".
struct Parts {
  std::string module;  // "blk.#.attn_q"
  std::string number, ending;
};

Parts parts_of(const std::string& name) {
  Parts parts;
  const std::size_t dot = std::min(name.rfind('.'), name.size());
  parts.ending = name.substr(dot);
  for (std::size_t at = 0; at < dot;) {
    const std::size_t end = std::min(name.find('.', at), dot);
    const std::string word = name.substr(at, end - at);
    const bool is_number =
        !word.empty() && std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_number) parts.number = word;
    parts.module += (at > 0 ? "." : "") + (is_number ? std::string("#") : word);
    at = end + 1;
  }
  return parts;
}

const GgufTensor* find(const Gguf& gguf, const std::string& name) {
  const auto found = gguf.tensors().find(name);
  return found == gguf.tensors().end() ? nullptr : &found->second;
}

bool is_gated(const Gguf& gguf) {
  return find(gguf, "enc.blk.0.ffn_gate.weight") != nullptr;
}

// Is the head a matrix of its own? Older files have the table of tokens twice.
bool has_own_head(const Gguf& gguf) {
  const GgufTensor *head = find(gguf, "output.weight"), *table = find(gguf, "token_embd.weight");
  return head != nullptr && (table == nullptr || head->type != table->type || head->shape != table->shape ||
                             !std::ranges::equal(head->data, table->data));
}

std::int64_t rows_of(const Gguf& gguf, const std::string& name) {
  const GgufTensor* tensor = find(gguf, name);
  if (tensor == nullptr) fail("{}: the tensor {} is missing", gguf.source(), name);
  return tensor->shape.front();
}

Gguf open(const MappedFile& file) {
  return {file.bytes(), file.path().string()};
}

constexpr const char* key_model = "tokenizer.ggml.model";

// Roles of special tokens, and the keys of their ids.
constexpr std::pair<const char*, const char*> roles[] = {
    {"bos_token", "tokenizer.ggml.bos_token_id"},     {"eos_token", "tokenizer.ggml.eos_token_id"},
    {"unk_token", "tokenizer.ggml.unknown_token_id"}, {"sep_token", "tokenizer.ggml.seperator_token_id"},
    {"pad_token", "tokenizer.ggml.padding_token_id"}, {"cls_token", "tokenizer.ggml.cls_token_id"},
    {"mask_token", "tokenizer.ggml.mask_token_id"}};

}  // namespace

Json gguf_config(const fs::path& path) {
  const MappedFile file(path);
  const Gguf gguf = open(file);
  const Architecture& architecture = architecture_of(gguf);
  const Fields& metadata = gguf.metadata();
  Json config = {{"model_type", architecture.model_type}, {"architectures", {architecture.class_name}}};
  for (const Field& field : architecture.fields)
    for (const char* key : field.keys) {
      const auto found = metadata.json().find(fmt::format("{}.{}", architecture.name, key));
      if (found == metadata.json().end()) continue;
      if (!found->is_number())
        fail("{}: {}.{}: expected a number, found {}", gguf.source(), architecture.name, key, shown(*found));
      config[field.config] = *found;
      break;
    }
  config.update(architecture.fixed);
  config["vocab_size"] = rows_of(gguf, "token_embd.weight");
  for (const char* role : {"bos", "eos", "pad"})
    if (const auto id = metadata.maybe_integer(
            {fmt::format("tokenizer.ggml.{}_token_id", std::string_view(role) == "pad" ? "padding" : role)}))
      config[fmt::format("{}_token_id", role)] = *id;
  if (architecture.model_type == "bert") {
    config["type_vocab_size"] = rows_of(gguf, "token_types.weight");
    // Tokens' ids, not roles: what is padding does not show in the numbers.
    config["pad_token_id"] = metadata.integer({"tokenizer.ggml.padding_token_id"}, 0, 0);
  } else {
    config["tie_word_embeddings"] = !has_own_head(gguf);
  }
  if (architecture.model_type == "t5") config["feed_forward_proj"] = is_gated(gguf) ? "gated-gelu" : "relu";
  return config;
}

Json gguf_tokenizer_config(const fs::path& path) {
  const MappedFile file(path);
  const Gguf gguf = open(file);
  const Architecture& architecture = architecture_of(gguf);
  const Fields& metadata = gguf.metadata();
  const std::string kind = metadata.text({key_model});
  const std::vector<std::string_view> tokens = gguf.texts("tokenizer.ggml.tokens");
  Json config = {{"tokenizer_class", kind == "gpt2" ? "GPT2Tokenizer"
                                     : kind == "t5" ? "T5Tokenizer"
                                                    : "BertTokenizer"}};
  const auto token = [&](const char* key) -> std::optional<std::string> {
    const auto id = metadata.maybe_integer({key});
    if (!id) return {};
    if (static_cast<std::uint64_t>(*id) >= tokens.size())
      fail("{}: {}: expected one of the {} tokens, found {}", gguf.source(), key, tokens.size(), *id);
    return std::string(tokens[static_cast<std::size_t>(*id)]);
  };
  for (const auto& [role, key] : roles)
    if (const auto text = token(key)) config[role] = *text;
  // What BERT begins and ends a text with is called so here.
  if (kind == "bert") {
    if (!config.contains("cls_token") && config.contains("bos_token"))
      config["cls_token"] = config["bos_token"];
    if (!config.contains("sep_token") && config.contains("eos_token"))
      config["sep_token"] = config["eos_token"];
    // Not said; but what a lower-casing tokenizer could never give is not in its vocabulary.
    config["do_lower_case"] = std::ranges::none_of(tokens, [](std::string_view text) {
      return !text.starts_with('[') &&
             std::ranges::any_of(text, [](unsigned char c) { return c >= 'A' && c <= 'Z'; });
    });
  }
  if (std::ranges::find(tokens, "<extra_id_0>") != tokens.end()) config["extra_ids"] = 0;
  for (const char* flag : {"add_bos_token", "add_eos_token"})
    if (const std::string key = fmt::format("tokenizer.ggml.{}", flag); metadata.has({key}))
      config[flag] = metadata.flag({key});
  if (const auto most = metadata.maybe_integer({fmt::format("{}.context_length", architecture.name)}, 1))
    config["model_max_length"] = *most;
  if (metadata.has({"tokenizer.chat_template"}))
    config["chat_template"] = metadata.text({"tokenizer.chat_template"});
  return config;
}

std::optional<SentenceDirectory> gguf_sentences(const fs::path& path) {
  using Mode = SentencePooling::Mode;
  const MappedFile file(path);
  const Gguf gguf = open(file);
  const std::string key = fmt::format("{}.pooling_type", architecture_of(gguf).name);
  const std::int64_t type = gguf.metadata().integer({key}, 0, 0);
  if (type == 0) return {};
  if (type > 3)
    fail("{}: {}: expected 0 (none), 1 (mean), 2 (cls) or 3 (last), found {}", gguf.source(), key, type);
  SentenceDirectory sentences;
  sentences.modules = {{.modes = {type == 1   ? Mode::mean
                                  : type == 2 ? Mode::cls
                                              : Mode::last}},
                       {.kind = SentenceModule::Kind::unit_length}};
  return sentences;
}

std::optional<GgufTokenizerFacts> gguf_tokenizer_facts(const fs::path& path) {
  const MappedFile file(path);
  const Gguf gguf = open(file);
  const std::string kind = gguf.metadata().text({key_model}, "");
  if (kind.empty()) return {};
  return GgufTokenizerFacts{kind == "gpt2"   ? "BPE"
                            : kind == "bert" ? "WordPiece"
                            : kind == "t5"   ? "Unigram"
                                             : kind,
                            gguf.texts("tokenizer.ggml.tokens").size()};
}

GgufCheckpoint::GgufCheckpoint(const fs::path& path) : TensorFile(path) {
  const Gguf gguf = open(mapping());
  const Architecture& architecture = architecture_of(gguf);
  const bool gated = is_gated(gguf), own_head = has_own_head(gguf);
  for (const auto& [name, tensor] : gguf.tensors()) {
    const Parts parts = parts_of(name);
    const auto known = std::ranges::find(architecture.names, parts.module, &Name::gguf);
    TensorView view = {tensor.type->plain.value_or(DType::f32), tensor.shape, tensor.data};
    if (!tensor.type->plain)
      view.code = std::make_shared<const TensorCode>(TensorCode{
          std::string(tensor.type->name),
          [type = tensor.type, data = tensor.data](std::span<float> to) { decode_blocks(*type, data, to); }});
    std::string theirs = name;
    if (known != architecture.names.end()) {
      theirs = std::string(known->checkpoint) + parts.ending;
      if (const std::size_t place = theirs.find('#'); place != theirs.npos)
        theirs.replace(place, 1, parts.number);
      if (theirs.ends_with("DenseReluDense.wi.weight") && gated) theirs.insert(theirs.rfind('.'), "_1");
      if (known->transposed && view.shape.size() == 2) {
        std::swap(view.shape[0], view.shape[1]);
        view.transposed = true;
      }
    }
    if (name == "output.weight" && !own_head) continue;
    if (!add(theirs, view))
      fail("{}: tensor {} has the place of another one", gguf.source(), shown(Json(name)));
  }
}

}  // namespace attend
