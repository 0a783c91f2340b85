#include "sources/ctranslate2/ctranslate2_families.h"

#include "base/error.h"
#include "sources/ctranslate2/ctranslate2_fields.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace attend::ctranslate2 {
namespace {

using Names = std::vector<Name>;
using Attributes = std::vector<Attribute>;

// Fields of all files with a stack of this name.
void add_stack(Attributes& all, const std::string& stack, bool pre_norm) {
  all.insert(all.end(), {{stack + "/num_heads"},
                         {stack + "/activation"},
                         {stack + "/scale_embeddings"},
                         {stack + "/pre_norm", pre_norm}});
  if (stack == "encoder")
    all.insert(all.end(), {{"encoder/multi_query_attention", 0}, {"encoder/embeddings_merge"}});
  else  // how ALiBi would count has no meaning without ALiBi, nor have the heads that align words
    all.insert(all.end(), {{"decoder/alibi", 0},
                           {"decoder/alibi_use_positive_positions"},
                           {"decoder/scale_alibi"},
                           {"decoder/alignment_layer"},
                           {"decoder/alignment_heads"}});
}

Attributes two_stacks(bool pre_norm, bool starts_from_zeros) {
  Attributes all = {{"decoder/start_from_zero_embedding", starts_from_zeros}};
  for (const char* stack : {"encoder", "decoder"}) add_stack(all, stack, pre_norm);
  return all;
}

// The layers of Marian, BART and M2M-100. Their tables have `left_out` rows after and `position_rows` rows
// before those of the file.
Names sequence_to_sequence_names(const CTranslate2& file, std::int64_t left_out, bool learned_positions) {
  const bool shared = file.are_one(source_table, target_table), tied = is_tied(file);
  const std::string encoder_table = shared ? "" : "model.encoder.embed_tokens";
  Names names = {
      {"encoder/embeddings_0", encoder_table, false, 0, left_out},
      {"decoder/embeddings", shared ? "model.shared" : "model.decoder.embed_tokens", false, 0, left_out},
      {"decoder/projection", tied ? "" : "lm_head", false, 0, left_out},
  };
  const std::string cross = "model.decoder.layers.#.encoder_attn", their_cross = "decoder/layer_#/attention/";
  names.insert(names.end(), {{their_cross + "linear_0", cross + ".q_proj"},
                             {their_cross + "linear_1", cross + ".{k_proj|v_proj}"},
                             {their_cross + "linear_2", cross + ".out_proj"},
                             {their_cross + "layer_norm", cross + "_layer_norm"}});
  for (const std::string stack : {"encoder", "decoder"}) {
    const std::string theirs = stack + "/layer_#/", layer = "model." + stack + ".layers.#.";
    names.insert(names.end(),
                 {{theirs + "self_attention/linear_0", layer + "self_attn.{q_proj|k_proj|v_proj}"},
                  {theirs + "self_attention/linear_1", layer + "self_attn.out_proj"},
                  {theirs + "self_attention/layer_norm", layer + "self_attn_layer_norm"},
                  {theirs + "ffn/linear_0", layer + "fc1"},
                  {theirs + "ffn/linear_1", layer + "fc2"},
                  {theirs + "ffn/layer_norm", layer + "final_layer_norm"}});
    // BART's table begins with two unused rows.
    names.push_back({stack + "/position_encodings",
                     learned_positions ? "model." + stack + ".embed_positions" : "", false,
                     learned_positions ? 2 : 0});
  }
  return names;
}

// Its last token is padding; the decoder starts with it as a vector of zeros and never writes it.
Names marian_names(const CTranslate2& file) {
  return sequence_to_sequence_names(file, 1, false);
}
Names m2m_100_names(const CTranslate2& file) {
  Names names = sequence_to_sequence_names(file, 0, false);
  for (const std::string stack : {"encoder", "decoder"})
    names.push_back({stack + "/layer_norm", "model." + stack + ".layer_norm"});
  return names;
}
Names bart_names(const CTranslate2& file) {
  Names names = sequence_to_sequence_names(file, 0, true);
  for (const std::string stack : {"encoder", "decoder"})
    names.push_back({stack + "/layernorm_embedding", "model." + stack + ".layernorm_embedding"});
  return names;
}

Names t5_names(const CTranslate2& file) {
  const bool gated = is_gated(file);
  Names names = {{"encoder/embeddings_0", ""},
                 {"decoder/embeddings", "shared"},
                 {"decoder/projection", file.number(output_scale) ? "" : "lm_head"},
                 {"decoder/layer_#/attention/layer_norm", "decoder.block.#.layer.1.layer_norm"},
                 {"decoder/layer_#/attention/linear_0", "decoder.block.#.layer.1.EncDecAttention.q"},
                 {"decoder/layer_#/attention/linear_1", "decoder.block.#.layer.1.EncDecAttention.{k|v}"},
                 {"decoder/layer_#/attention/linear_2", "decoder.block.#.layer.1.EncDecAttention.o"}};
  for (const std::string stack : {"encoder", "decoder"}) {
    const std::string theirs = stack + "/layer_#/", block = stack + ".block.#.layer.";
    const std::string last = block + (stack == "encoder" ? "1." : "2.");
    names.insert(names.end(),
                 {{stack + "/layer_norm", stack + ".final_layer_norm"},
                  {theirs + "self_attention", block + "0.SelfAttention"},  // its bias depends on distances
                  {theirs + "self_attention/layer_norm", block + "0.layer_norm"},
                  {theirs + "self_attention/linear_0", block + "0.SelfAttention.{q|k|v}"},
                  {theirs + "self_attention/linear_1", block + "0.SelfAttention.o"},
                  {theirs + "ffn/layer_norm", last + "layer_norm"},
                  {theirs + "ffn/linear_0", last + (gated ? "DenseReluDense.wi_0" : "DenseReluDense.wi")},
                  {theirs + "ffn/linear_1", last + "DenseReluDense.wo"}});
    if (gated) names.push_back({theirs + "ffn/linear_0_noact", last + "DenseReluDense.wi_1"});
  }
  return names;
}

Attributes t5_attributes() {
  Attributes all = two_stacks(true, false);
  all.push_back({std::string(output_scale)});
  for (const char* attention :
       {"encoder/layer_#/self_attention", "decoder/layer_#/self_attention", "decoder/layer_#/attention"})
    all.insert(all.end(), {{std::string(attention) + "/queries_scale", 1},
                           {std::string(attention) + "/relative_attention_max_distance"}});
  return all;
}

Names gpt2_names(const CTranslate2& file) {
  return {{"decoder/embeddings", "transformer.wte"},
          {"decoder/position_encodings", "transformer.wpe"},
          {"decoder/layer_norm", "transformer.ln_f"},
          {"decoder/projection", is_tied(file) ? "" : "lm_head"},
          {"decoder/layer_#/self_attention/layer_norm", "transformer.h.#.ln_1"},
          {"decoder/layer_#/self_attention/linear_0", "transformer.h.#.attn.c_attn", true},
          {"decoder/layer_#/self_attention/linear_1", "transformer.h.#.attn.c_proj", true},
          {"decoder/layer_#/ffn/layer_norm", "transformer.h.#.ln_2"},
          {"decoder/layer_#/ffn/linear_0", "transformer.h.#.mlp.c_fc", true},
          {"decoder/layer_#/ffn/linear_1", "transformer.h.#.mlp.c_proj", true}};
}

Attributes gpt2_attributes() {
  Attributes all = {{"decoder/start_from_zero_embedding", 0}};
  add_stack(all, "decoder", true);
  return all;
}

Names bert_names(const CTranslate2&) {
  const std::string theirs = "encoder/layer_#/", layer = "bert.encoder.layer.#.";
  return {{"encoder/embeddings_0", "bert.embeddings.word_embeddings"},
          {"encoder/embeddings_1", "bert.embeddings.token_type_embeddings"},
          {"encoder/position_encodings", "bert.embeddings.position_embeddings"},
          {"encoder/layernorm_embedding", "bert.embeddings.LayerNorm"},
          {"pooler_dense", "bert.pooler.dense"},
          {theirs + "self_attention/linear_0", layer + "attention.self.{query|key|value}"},
          {theirs + "self_attention/linear_1", layer + "attention.output.dense"},
          {theirs + "self_attention/layer_norm", layer + "attention.output.LayerNorm"},
          {theirs + "ffn/linear_0", layer + "intermediate.dense"},
          {theirs + "ffn/linear_1", layer + "output.dense"},
          {theirs + "ffn/layer_norm", layer + "output.LayerNorm"}};
}

Attributes bert_attributes() {
  constexpr int added = 1, tanh = 5;
  Attributes all = {{"encoder/embeddings_merge", added}, {"pooler_activation", tanh}};
  add_stack(all, "encoder", false);
  return all;
}

constexpr std::string_view pieces = "tokenizer.json, or vocab.json and merges.txt";

const Family marian = {.model_type = "marian",
                       .class_name = "MarianMTModel",
                       .tokenizer_files =
                           "source.spm, target.spm, vocab.json and "
                           "tokenizer_config.json",
                       .names = marian_names,
                       .attributes = [] { return two_stacks(false, true); },
                       .config = marian_fields,
                       .left_out = 1,
                       .has_final_bias = true};
const Family m2m_100 = {.model_type = "m2m_100",
                        .class_name = "M2M100ForConditionalGeneration",
                        .tokenizer_files =
                            "tokenizer.json, or sentencepiece.bpe.model and "
                            "vocab.json, with tokenizer_config.json and "
                            "special_tokens_map.json",
                        .names = m2m_100_names,
                        .attributes = [] { return two_stacks(true, false); },
                        .config = m2m_100_fields};
const Family bart = {.model_type = "bart",
                     .class_name = "BartForConditionalGeneration",
                     .tokenizer_files = pieces,
                     .names = bart_names,
                     .attributes = [] { return two_stacks(false, false); },
                     .config = bart_fields,
                     .has_final_bias = true};
const Family t5 = {.model_type = "t5",
                   .class_name = "T5ForConditionalGeneration",
                   .tokenizer_files =
                       "tokenizer.json or spiece.model, with "
                       "tokenizer_config.json",
                   .names = t5_names,
                   .attributes = t5_attributes,
                   .config = t5_fields,
                   .has_biases = false};
const Family gpt2 = {.model_type = "gpt2",
                     .class_name = "GPT2LMHeadModel",
                     .tokenizer_files = pieces,
                     .names = gpt2_names,
                     .attributes = gpt2_attributes,
                     .config = gpt2_fields};
const Family bert = {.model_type = "bert",
                     .class_name = "BertModel",
                     .tokenizer_files = "tokenizer.json or vocab.txt, with tokenizer_config.json",
                     .names = bert_names,
                     .attributes = bert_attributes,
                     .config = bert_fields};

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

const Family& family_of(const CTranslate2& file) {
  constexpr std::pair<std::string_view, std::uint32_t> specs[] = {
      {"TransformerSpec", 7}, {"TransformerDecoderSpec", 8}, {"TransformerEncoderSpec", 1}};
  const auto spec = std::ranges::find(specs, file.spec(), &std::pair<std::string_view, std::uint32_t>::first);
  if (spec == std::end(specs))
    fail(
        "{}: expected CTranslate2's TransformerSpec, TransformerDecoderSpec or TransformerEncoderSpec, found "
        "{}; give the original model",
        file.source(), shown(Json(file.spec())));
  if (file.revision() != spec->second)
    fail(
        "{}: expected revision {} of {}, found {}; convert the original model with another version of "
        "CTranslate2, or give the original",
        file.source(), spec->second, spec->first, file.revision());
  if (spec->first == "TransformerDecoderSpec") return gpt2;
  if (spec->first == "TransformerEncoderSpec") return bert;
  if (file.find("encoder/layer_0/self_attention/relative_attention_bias") != nullptr) return t5;
  if (file.number("decoder/start_from_zero_embedding").value_or(0) != 0) return marian;
  return file.number("decoder/pre_norm").value_or(1) != 0 ? m2m_100 : bart;
}

Parts parts_of(const std::string& name) {
  constexpr std::string_view layer = "/layer_";
  const std::size_t end = std::min(name.rfind('/'), name.size());
  Parts parts = {name.substr(0, end), "", name.substr(std::min(end + 1, name.size()))};
  const std::size_t at = parts.module.find(layer);
  if (at == parts.module.npos) return parts;
  const std::size_t begin = at + layer.size();
  const std::string number = parts.module.substr(begin, parts.module.find('/', begin) - begin);
  if (!is_number(number)) return parts;
  parts.module.replace(begin, number.size(), "#");
  parts.number = number;
  return parts;
}

bool is_scale(const CTranslate2& file, const std::string& name) {
  constexpr std::string_view ending = "_scale";
  if (!name.ends_with(ending)) return false;
  const CTranslate2Variable* const of = file.find(name.substr(0, name.size() - ending.size()));
  return of != nullptr && !of->shape.empty();
}

void check_attributes(const Family& family, const CTranslate2& file) {
  const Attributes known = family.attributes();
  for (const auto& [name, variable] : file.variables()) {
    if (!variable.shape.empty() || is_scale(file, name)) continue;
    const Parts parts = parts_of(name);
    const std::string pattern = parts.leaf.empty() ? parts.module : parts.module + "/" + parts.leaf;
    const auto found = std::ranges::find(known, pattern, &Attribute::name);
    if (found == known.end())
      fail("{}: {}: this seems to be a model of type {}, which has no such number; give the original model",
           file.source(), shown(Json(name)), family.model_type);
    if (const double value = variable.at(0); found->value && value != *found->value)
      fail("{}: {}: expected {} in a model of type {}, found {}; give the original model", file.source(),
           shown(Json(name)), *found->value, family.model_type, value);
  }
}

}  // namespace attend::ctranslate2
