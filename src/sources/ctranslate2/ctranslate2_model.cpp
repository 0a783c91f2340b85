#include "sources/ctranslate2/ctranslate2_model.h"

#include "base/error.h"
#include "base/file.h"
#include "sources/ctranslate2/ctranslate2_families.h"
#include "sources/directory_files.h"
#include "sources/prequantized/foreign_matrix.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr const char* weights_name = "model.bin";

CTranslate2 read_variables(const MappedFile& file) {
  return {file.bytes(), file.path().string()};
}

// The words of a vocabulary; there must be `count`.
class Words {
 public:
  // Reads the first of these files that exists; before CTranslate2 3.16 they were text files.
  Words(const fs::path& directory, std::initializer_list<const char*> names, std::int64_t count) {
    std::vector<std::string> tried;
    for (const char* name : names)
      for (const char* ending : {".json", ".txt"}) {
        tried.push_back(std::string(name) + ending);
        const fs::path path = directory / tried.back();
        if (!words_ && file_exists(path)) words_ = read(path);
      }
    if (!words_)
      fail("{}: expected one of the files {} in it, found none", directory.string(), fmt::join(tried, ", "));
    if (static_cast<std::int64_t>(words_->size()) != count)
      fail("{}: expected the {} tokens of the model's table, found {}", source_, count, words_->size());
  }

  std::optional<std::int64_t> id_of(const std::string& word) const {
    const auto found = std::ranges::find(*words_, word);
    if (found == words_->end()) return {};
    return found - words_->begin();
  }
  const std::string& source() const { return source_; }

 private:
  std::vector<std::string> read(const fs::path& path) {
    source_ = path.string();
    if (path.extension() == ".txt") return read_lines(path);
    const Json json = read_json(path);
    if (!json.is_array()) fail("{}: expected an array of texts, found {}", source_, shown(json));
    std::vector<std::string> words;
    words.reserve(json.size());
    for (const Json& word : json) {
      if (!word.is_string()) fail("{}: expected texts, found {}", source_, shown(word));
      words.push_back(word.get<std::string>());
    }
    return words;
  }

  std::string source_;
  std::optional<std::vector<std::string>> words_;
};

// The id of a token that CTranslate2's config.json names; none: it names none.
std::optional<std::int64_t> id_of(const Words& words, const Fields& settings, const char* role) {
  const std::string word = settings.text({role}, "");
  if (word.empty()) return {};
  const auto id = words.id_of(word);
  if (!id)
    fail("{}: {}: expected one of the tokens in {}, found {}", settings.source(), role, words.source(),
         shown(Json(word)));
  return id;
}

void add_ids(Json& config, const ctranslate2::Family& family, const Words& words, const Fields& settings) {
  const auto add = [&](const char* field, std::optional<std::int64_t> id) {
    if (id) config[field] = *id;
  };
  if (family.model_type == "bert") {
    config["pad_token_id"] =
        words.id_of("[PAD]").value_or(0);  // the numbers do not depend on which token is padding
    return;
  }
  add("eos_token_id", id_of(words, settings, "eos_token"));
  if (family.model_type == "marian") {
    // The decoder starts with the zero vector of padding, which is never generated.
    const std::int64_t padding = config.at("vocab_size").get<std::int64_t>() - 1;
    config.update({{"pad_token_id", padding}, {"decoder_start_token_id", padding}});
    config["bad_words_ids"] = Json::array({Json::array({padding})});
    return;
  }
  if (family.model_type == "t5") {
    add("pad_token_id", id_of(words, settings, "bos_token"));  // the converter's name for it
  } else {
    add("bos_token_id", id_of(words, settings, "bos_token"));
  }
  if (family.model_type == "gpt2") return;
  if (family.model_type == "bart") add("pad_token_id", words.id_of("<pad>"));
  add("decoder_start_token_id", id_of(words, settings, "decoder_start_token"));
}

// ---- tensors -------------------------------------------------------------------------------------------

// Some rows of a variable, with rows of zeros before and after.
struct Rows {
  DType type = DType::f32;
  std::span<const std::byte> data;    // [rows, columns]
  std::span<const std::byte> scales;  // float32: one per row of int8, or one for all of int16
  std::size_t rows = 0, columns = 0, before = 0, after = 0;
};

template <class Number>
Number number_at(std::span<const std::byte> data, std::size_t i) {
  Number number;
  std::memcpy(&number, data.data() + i * sizeof number, sizeof number);
  return number;
}

void decode_rows(const Rows& from, std::span<float> to) {
  const auto zeros = [&](std::size_t begin, std::size_t rows) {
    std::ranges::fill(to.subspan(begin * from.columns, rows * from.columns), 0.0F);
  };
  zeros(0, from.before);
  zeros(from.before + from.rows, from.after);
  const CTranslate2Variable numbers = {from.type, {}, from.data};
  foreign::for_each_row(
      static_cast<std::int64_t>(from.rows), static_cast<std::int64_t>(from.columns), [&](std::size_t row) {
        float* const target = to.data() + (from.before + row) * from.columns;
        const std::size_t begin = row * from.columns;
        const auto whole_row = [&]<class Number>(Number, std::size_t scale) {
          const float factor = 1 / number_at<float>(from.scales, scale);
          for (std::size_t i = 0; i < from.columns; ++i)
            target[i] = static_cast<float>(number_at<Number>(from.data, begin + i)) * factor;
        };
        if (from.type == DType::i8) {
          whole_row(std::int8_t{}, row);
        } else if (from.type == DType::i16) {
          whole_row(std::int16_t{}, 0);
        } else {
          for (std::size_t i = 0; i < from.columns; ++i) target[i] = numbers.at(begin + i);
        }
      });
}

// The scales of an integer variable, checked; empty for other types.
std::span<const std::byte> scales_of(const CTranslate2& file, const std::string& name,
                                     const CTranslate2Variable& variable) {
  if (is_floating(variable.type)) return {};
  if (variable.type == DType::i32 || variable.shape.size() != 2)
    fail(
        "{}: variable {}: expected floating-point numbers, or a matrix of 8 or 16 bits, found {} of {} "
        "dimensions",
        file.source(), shown(Json(name)), attend::name(variable.type), variable.shape.size());
  const bool by_row = variable.type == DType::i8;
  const CTranslate2Variable& scales = file.get(name + "_scale", by_row ? 1 : 0);
  if (scales.type != DType::f32 || (by_row && scales.shape[0] != variable.shape[0]))
    fail("{}: variable {}: expected {} scales of F32, found {} of {}", file.source(),
         shown(Json(name + "_scale")), by_row ? variable.shape[0] : 1, by_row ? scales.shape[0] : 1,
         attend::name(scales.type));
  return scales.data;
}

// "a.{b|c}" becomes a.b and a.c.
std::vector<std::string> modules_of(const std::string& pattern) {
  const std::size_t open = pattern.find('{'), close = pattern.find('}');
  if (open == pattern.npos) return {pattern};
  std::vector<std::string> all;
  for (std::size_t at = open + 1; at < close;) {
    const std::size_t end = std::min(pattern.find('|', at), close);
    all.push_back(pattern.substr(0, open) + pattern.substr(at, end - at) + pattern.substr(close + 1));
    at = end + 1;
  }
  return all;
}

// The checkpoint's suffix for CTranslate2's; empty: none.
std::string_view ending_of(const ctranslate2::Family& family, const ctranslate2::Parts& parts) {
  constexpr const char* attention = "/self_attention";
  const bool is_attention = parts.module.ends_with(attention), is_head = parts.module == "decoder/projection",
             is_position = parts.module.ends_with("/position_encodings");
  if (is_attention) return parts.leaf == "relative_attention_bias" ? ".relative_attention_bias.weight" : "";
  if (is_position) return parts.leaf == "encodings" ? ".weight" : "";
  if (parts.leaf == "weight" || parts.leaf == "gamma") return ".weight";
  const bool has_bias = is_head ? family.has_final_bias : family.has_biases;
  return has_bias && (parts.leaf == "bias" || parts.leaf == "beta") ? ".bias" : "";
}

}  // namespace

bool is_ctranslate2(const fs::path& directory) {
  return file_exists(directory / weights_name) && !holds_checkpoint(directory);
}

Json CTranslate2Source::config() const {
  const fs::path& directory = path();
  const MappedFile mapping(directory / weights_name);
  const CTranslate2 file = read_variables(mapping);
  const ctranslate2::Family& family = ctranslate2::family_of(file);
  ctranslate2::check_attributes(family, file);
  const Fields settings = read_fields(directory / "config.json");
  Json config = {{"model_type", family.model_type}, {"architectures", {family.class_name}}};
  config.update(family.config(file, settings));
  const std::int64_t tokens = config.at("vocab_size").get<std::int64_t>() - family.left_out;
  const bool pair = config.contains("is_encoder_decoder");
  const Words words = pair ? Words(directory, {"shared_vocabulary", "target_vocabulary"}, tokens)
                           : Words(directory, {"vocabulary"}, tokens);
  if (words.source().find("target_vocabulary") != std::string::npos)
    Words(directory, {"source_vocabulary"}, tokens);  // it must exist with this size
  add_ids(config, family, words, settings);
  return config;
}

WeightFiles CTranslate2Source::weight_files() const {
  WeightFiles checkpoint;
  checkpoint.add(CTranslate2Checkpoint(path()));
  return checkpoint;
}

std::string CTranslate2Source::missing_tokenizer() const {
  const MappedFile mapping(path() / weights_name);
  return fmt::format(
      "found no tokenizer; copy the original model's files there, because CTranslate2 does not: {}",
      ctranslate2::family_of(read_variables(mapping)).tokenizer_files);
}

CTranslate2Checkpoint::CTranslate2Checkpoint(const fs::path& directory)
    : TensorFile(directory / weights_name) {
  const CTranslate2 file = read_variables(mapping());
  const ctranslate2::Family& family = ctranslate2::family_of(file);
  const std::vector<ctranslate2::Name> names = family.names(file);
  const auto add_new = [&](const std::string& variable, const std::string& tensor, auto&&... view) {
    if (!add(tensor, std::forward<decltype(view)>(view)...))
      fail("{}: variable {} maps to the same tensor as another one", file.source(), shown(Json(variable)));
  };
  for (const auto& [name, variable] : file.variables()) {
    if (variable.shape.empty() || ctranslate2::is_scale(file, name)) continue;
    const ctranslate2::Parts parts = ctranslate2::parts_of(name);
    const auto known = std::ranges::find(names, parts.module, &ctranslate2::Name::theirs);
    const std::string_view ending = ending_of(family, parts);
    if (known == names.end() || ending.empty())
      fail(
          "{}: variable {}: this seems to be a model of type {}, which has no such variable; give the "
          "original model",
          file.source(), shown(Json(name)), family.model_type);
    const bool is_final_bias = parts.module == "decoder/projection" && ending == ".bias";
    // If all layers share one, it is that of the first layer.
    const bool is_repeated = parts.leaf == "relative_attention_bias" && parts.number != "0";
    if ((known->checkpoint.empty() && !is_final_bias) || is_repeated) continue;

    const std::span<const std::byte> scales = scales_of(file, name, variable);
    const std::vector<std::string> modules = modules_of(known->checkpoint);
    const std::int64_t pieces = static_cast<std::int64_t>(modules.size()), rows = variable.shape[0] / pieces;
    if (variable.shape[0] % pieces != 0)
      fail("{}: variable {}: expected rows for {} matrices, found {}", file.source(), shown(Json(name)),
           pieces, variable.shape[0]);
    Rows part = {.type = variable.type,
                 .data = {},
                 .scales = {},
                 .rows = static_cast<std::size_t>(rows),
                 .columns = 1,
                 .before = static_cast<std::size_t>(known->before),
                 .after = static_cast<std::size_t>(known->after)};
    for (std::size_t i = 1; i < variable.shape.size(); ++i)
      part.columns *= static_cast<std::size_t>(variable.shape[i]);
    const std::size_t bytes = part.rows * part.columns * size_of(variable.type);
    for (std::size_t i = 0; i < modules.size(); ++i) {
      part.data = variable.data.subspan(i * bytes, bytes);
      part.scales = variable.type == DType::i8 ? scales.subspan(i * part.rows * sizeof(float)) : scales;
      if (is_final_bias) {
        std::vector<float> numbers((part.rows + part.before + part.after) * part.columns);
        decode_rows(part, numbers);
        const auto bias = std::as_bytes(std::span(numbers));
        add_new(name, "final_logits_bias", DType::f32,
                std::vector<std::int64_t>{1, static_cast<std::int64_t>(numbers.size())},
                std::vector<std::byte>(bias.begin(), bias.end()));
        continue;
      }
      std::string tensor = modules[i] + std::string(ending);
      if (const std::size_t place = tensor.find('#'); place != tensor.npos)
        tensor.replace(place, 1, parts.number);
      TensorView view = {variable.type, variable.shape, part.data};
      view.shape[0] = rows + known->before + known->after;
      if (!is_floating(variable.type) || known->before + known->after > 0) {
        view.code = std::make_shared<const TensorCode>(
            TensorCode{is_floating(variable.type) ? std::string(attend::name(variable.type))
                                                  : "CTranslate2 " + std::string(attend::name(variable.type)),
                       [part](std::span<float> to) { decode_rows(part, to); }});
        view.type = DType::f32;
      }
      if (known->transposed && view.shape.size() == 2) {
        std::swap(view.shape[0], view.shape[1]);
        view.transposed = true;
      }
      add_new(name, tensor, view);
    }
  }
  // Not written if it is zero.
  if (family.has_final_bias && !tensors().contains("final_logits_bias")) {
    const std::int64_t tokens = file.get("decoder/embeddings/weight", 2).shape[0] + family.left_out;
    add("final_logits_bias", DType::f32, {1, tokens},
        std::vector<std::byte>(static_cast<std::size_t>(tokens) * sizeof(float)));
  }
}

}  // namespace attend
