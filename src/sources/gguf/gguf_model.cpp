#include "sources/gguf/gguf_model.h"

#include "base/error.h"
#include "base/parallel.h"
#include "sources/gguf/gguf_architectures.h"
#include "sources/gguf/gguf_rows.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

Gguf open(const MappedFile& file) {
  return {file.bytes(), file.path().string()};
}

constexpr const char* key_model = "tokenizer.ggml.model";
constexpr const char* key_tokens = "tokenizer.ggml.tokens";

// The roles of special tokens, and the keys of their ids.
constexpr std::pair<const char*, const char*> roles[] = {
    {"bos_token", "tokenizer.ggml.bos_token_id"},     {"eos_token", "tokenizer.ggml.eos_token_id"},
    {"unk_token", "tokenizer.ggml.unknown_token_id"}, {"sep_token", "tokenizer.ggml.seperator_token_id"},
    {"pad_token", "tokenizer.ggml.padding_token_id"}, {"cls_token", "tokenizer.ggml.cls_token_id"},
    {"mask_token", "tokenizer.ggml.mask_token_id"}};

// Tokens that end a text: those in the file, and those whose texts llama.cpp knows.
Json ends_of_text(const Gguf& gguf) {
  std::set<std::int64_t> ends;
  for (const char* role : {"eos", "eot", "eom"})
    if (const auto id = gguf.metadata().maybe_integer({fmt::format("tokenizer.ggml.{}_token_id", role)}))
      ends.insert(*id);
  constexpr std::string_view known[] = {"<|eot_id|>", "<|eom_id|>",    "<|im_end|>",    "<|end|>",
                                        "<|return|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>"};
  if (gguf.metadata().text({key_model}, "none") != "none" && !ends.empty()) {
    const std::vector<std::string_view> tokens = gguf.texts(key_tokens);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (std::ranges::find(known, tokens[i]) != std::end(known)) ends.insert(static_cast<std::int64_t>(i));
  }
  if (ends.size() == 1) return *ends.begin();
  return ends.empty() ? Json() : Json(ends);
}

std::size_t heads_of(const GgufParts& files, GgufName::Rows rows) {
  const GgufArchitecture& architecture = gguf_architecture(files.first());
  const std::string key = architecture.key("attention.head_count"), keys = key + "_kv";
  const bool own = rows == GgufName::Rows::key_pairs && gguf_value(files.first(), keys).has_value();
  const Fields fields(Json{{"heads", gguf_value(files.first(), own ? keys : key).value_or(Json())}},
                      files.source() + ": " + (own ? keys : key));
  return static_cast<std::size_t>(fields.integer({"heads"}));
}

RowOrder row_order(const GgufParts& files, const std::string& name, GgufName::Rows rows,
                   const GgufTensor& tensor) {
  RowOrder order{rows, heads_of(files, rows)};
  const auto count = static_cast<std::size_t>(tensor.shape.front()),
             parts = order.heads * (rows == GgufName::Rows::by_head ? 3 : 2);
  if (tensor.shape.size() == 1 && tensor.type->count != 1)
    fail("{}: tensor {}: expected a type whose blocks do not cross rows, found {}", files.source(),
         shown(Json(name)), tensor.type->name);
  if (count % parts != 0)
    fail("{}: tensor {}: expected a number of rows that can be divided among {} heads, found {}",
         files.source(), shown(Json(name)), order.heads, count);
  order.size = rows == GgufName::Rows::by_head ? count / parts : count / order.heads;
  return order;
}

void decode_rows(const GgufTensor& tensor, const RowOrder& order, std::span<float> to) {
  const auto rows = static_cast<std::size_t>(tensor.shape.front());
  const std::size_t columns = to.size() / rows, bytes = tensor.data.size() / rows;
  parallel_for(rows, std::max<std::size_t>(1, (1 << 16) / columns), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row)
      tensor.type->decode(tensor.data.data() + order(row) * bytes, columns / tensor.type->count,
                          to.data() + row * columns);
  });
}

// The groups of a tensor, with the rows in the checkpoint's order; none: its type has none.
std::optional<TensorGroups> groups_of(const GgufTensor& tensor, const RowOrder& order) {
  const BlockType& type = *tensor.type;
  if (type.group == 0 || tensor.shape.size() != 2) return {};
  return TensorGroups{type.group, type.lowest, type.highest, type.has_starts,
                      [tensor, order](std::span<float> scales, std::span<float> starts) {
                        const BlockType& type = *tensor.type;
                        const auto rows = static_cast<std::size_t>(tensor.shape[0]),
                                   blocks = static_cast<std::size_t>(tensor.shape[1]) / type.count,
                                   each = type.count / type.group;
                        for (std::size_t i = 0; i < rows * blocks * each; ++i) {
                          const std::size_t row = i / (blocks * each), block = i / each % blocks;
                          const auto [scale, start] = type.scale(
                              tensor.data.data() + (order(row) * blocks + block) * type.bytes, i % each);
                          scales[i] = scale;
                          if (!starts.empty()) starts[i] = start;
                        }
                      }};
}

// `given` comes from a float32: written with as few digits as possible.
Json shortened(const Json& given) {
  if (!given.is_number_float()) return given;
  const auto single = static_cast<float>(given.get<double>());
  return std::isfinite(single) && double{single} == given.get<double>()
             ? Json::parse(fmt::format("{}", single))
             : given;
}

}  // namespace

Json GgufSource::config() const {
  const GgufParts files(path());
  const Gguf& gguf = files.first();
  const GgufArchitecture& architecture = gguf_architecture(gguf);
  Json config = {{"model_type", architecture.model_type}, {"architectures", {architecture.class_name}}};
  if (!architecture.fixed.is_null()) config.update(architecture.fixed);
  for (const GgufField& field : architecture.fields)
    for (const char* key : field.keys)
      if (const auto value = gguf_value(gguf, architecture.key(key))) {
        config[field.config] = shortened(*value);
        break;
      }
  for (const GgufField& flag : architecture.flags)
    config[flag.config] =
        std::ranges::any_of(flag.keys, [&](const char* name) { return files.find(name) != nullptr; });
  config["vocab_size"] = files.tensor("token_embd.weight").shape.front();
  for (const char* role : {"bos", "padding"})
    if (const auto id = gguf.metadata().maybe_integer({fmt::format("tokenizer.ggml.{}_token_id", role)}))
      config[std::string_view(role) == "bos" ? "bos_token_id" : "pad_token_id"] = *id;
  if (const Json ends = ends_of_text(gguf); !ends.is_null()) config["eos_token_id"] = ends;
  if (architecture.complete != nullptr) architecture.complete(files, config);
  return config;
}

Json GgufSource::tokenizer_config() const {
  const MappedFile file(path());
  const Gguf gguf = open(file);
  const GgufArchitecture& architecture = gguf_architecture(gguf);
  const Fields& metadata = gguf.metadata();
  const std::string kind = metadata.text({key_model});
  const std::vector<std::string_view> tokens = gguf.texts(key_tokens);
  const std::string cut = metadata.text({"tokenizer.ggml.pre"}, "gpt-2");
  const char* const own_class = kind == "t5"                       ? "T5Tokenizer"
                                : kind == "bert"                   ? "BertTokenizer"
                                : kind == "gpt2" && cut == "gpt-2" ? "GPT2Tokenizer"
                                                                   : "PreTrainedTokenizerFast";
  Json config = {{"tokenizer_class", own_class}};
  const auto token = [&](const char* key) -> std::optional<std::string> {
    const auto id = metadata.maybe_integer({key});
    if (!id) return {};
    if (static_cast<std::uint64_t>(*id) >= tokens.size())
      fail("{}: {}: expected one of the {} tokens, found {}", gguf.source(), key, tokens.size(), *id);
    return std::string(tokens[static_cast<std::size_t>(*id)]);
  };
  for (const auto& [role, key] : roles)
    if (const auto text = token(key)) config[role] = *text;
  // For BERT, the start and end tokens have these names here.
  if (kind == "bert") {
    if (!config.contains("cls_token") && config.contains("bos_token"))
      config["cls_token"] = config["bos_token"];
    if (!config.contains("sep_token") && config.contains("eos_token"))
      config["sep_token"] = config["eos_token"];
    // The file does not say it; but the vocabulary of a lowercasing tokenizer has no capital letters.
    config["do_lower_case"] = std::ranges::none_of(tokens, [](std::string_view text) {
      return !text.starts_with('[') &&
             std::ranges::any_of(text, [](unsigned char c) { return c >= 'A' && c <= 'Z'; });
    });
  }
  if (std::ranges::find(tokens, "<extra_id_0>") != tokens.end()) config["extra_ids"] = 0;
  for (const char* flag : {"add_bos_token", "add_eos_token"})
    if (const std::string key = fmt::format("tokenizer.ggml.{}", flag); metadata.has({key}))
      config[flag] = metadata.flag({key});
  if (kind == "llama") config["add_prefix_space"] = metadata.flag({"tokenizer.ggml.add_space_prefix"}, true);
  if (const auto max = metadata.maybe_integer({architecture.key("context_length")}, 1))
    config["model_max_length"] = *max;
  if (metadata.has({"tokenizer.chat_template"}))
    config["chat_template"] = metadata.text({"tokenizer.chat_template"});
  return config;
}

std::optional<SentenceDirectory> GgufSource::stored_sentences() const {
  using Mode = SentencePooling::Mode;
  const MappedFile file(path());
  const Gguf gguf = open(file);
  const std::string key = gguf_architecture(gguf).key("pooling_type");
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

std::optional<StoredTokenizer> GgufSource::stored_tokenizer() const {
  const MappedFile file(path());
  const Gguf gguf = open(file);
  const std::string kind = gguf.metadata().text({key_model}, "");
  if (kind.empty()) return {};
  return StoredTokenizer{kind == "gpt2"    ? "BPE"
                         : kind == "bert"  ? "WordPiece"
                         : kind == "t5"    ? "Unigram"
                         : kind == "llama" ? "SentencePiece"
                                           : kind,
                         gguf.texts(key_tokens).size()};
}

WeightFiles GgufSource::weight_files() const {
  const GgufParts files(path());
  WeightFiles checkpoint;
  for (const GgufParts::Part& part : files.parts()) checkpoint.add(GgufCheckpoint(files, part.file.path()));
  return checkpoint;
}

GgufCheckpoint::GgufCheckpoint(const GgufParts& files, const fs::path& part) : TensorFile(part) {
  const Gguf gguf = open(mapping());
  const GgufArchitecture& architecture = gguf_architecture(files.first());
  const bool gated = files.find("enc.blk.0.ffn_gate.weight") != nullptr, own_head = has_own_head(files);
  for (const auto& each : gguf.tensors()) {
    const std::string& name = each.first;
    const GgufTensor& tensor = each.second;
    if (name == "output.weight" && !own_head) continue;
    if (name == "rope_freqs.weight" || name.starts_with("rope_factors_")) continue;  // config.json has them
    const TensorNameParts parts(name);
    const GgufName* const known = architecture.find(parts.module);
    const GgufName::Rows rows = known == nullptr ? GgufName::Rows::as_they_lie : known->rows;
    TensorView view = {tensor.type->plain.value_or(DType::f32), tensor.shape, tensor.data};
    const auto set_code = [&](std::function<void(std::span<float>)> decode,
                              std::optional<TensorGroups> groups = {}) {
      view.type = DType::f32;
      view.code = std::make_shared<const TensorCode>(
          TensorCode{std::string(tensor.type->name), std::move(decode), std::move(groups)});
    };
    if (!tensor.type->plain)
      set_code([tensor](std::span<float> to) { decode_blocks(*tensor.type, tensor.data, to); },
               groups_of(tensor, {}));
    std::string theirs = name;
    if (known != nullptr) {
      theirs = parts.with_number(known->checkpoint);
      if (theirs.ends_with("DenseReluDense.wi.weight") && gated) theirs.insert(theirs.rfind('.'), "_1");
    }
    if (rows == GgufName::Rows::transposed && view.shape.size() == 2) {
      std::swap(view.shape[0], view.shape[1]);
      view.transposed = true;
    } else if (rows != GgufName::Rows::as_they_lie && rows != GgufName::Rows::transposed) {
      const RowOrder order = row_order(files, name, rows, tensor);
      set_code([tensor, order](std::span<float> to) { decode_rows(tensor, order, to); },
               groups_of(tensor, order));
    } else if (architecture.norm_offset != 0 && name.ends_with("norm.weight")) {
      set_code([tensor, offset = architecture.norm_offset](std::span<float> to) {
        decode_blocks(*tensor.type, tensor.data, to);
        for (float& number : to) number -= offset;
      });
    }
    if (!add(theirs, view))
      fail("{}: tensor {} maps to the same name as another one", gguf.source(), shown(Json(name)));
  }
}

}  // namespace attend
