#include "sources/model_directory.h"

#include "base/error.h"
#include "base/file.h"
#include "sources/directory_files.h"
#include "sources/prequantized/foreign_weights.h"

#include <utility>

#include <fmt/format.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

// The directory with the weights of the adapter's base model.
fs::path base_of(const fs::path& directory, std::vector<AdapterPath>& adapters) {
  const fs::path config = directory / "adapter_config.json";
  if (!file_exists(config) || open_source(directory)->has_weights()) return directory;
  adapters.insert(adapters.begin(), {directory});
  const std::string base = Fields(read_json(config), config.string()).text({"base_model_name_or_path"}, "");
  for (const fs::path& path : {fs::path(base), directory / base})
    if (!base.empty() && file_exists(path / "config.json")) return path;
  fail(
      "{}: this adapter was made for {}, which was not found (models are not downloaded); give the model's "
      "directory, and the adapter with `adapter` {}",
      directory.string(), base.empty() ? "an unnamed model" : shown(Json(base)), directory.string());
}

// An adapter that changes a model's task (its head, labels) has its own config.json.
Fields config_of(const fs::path& base, const std::vector<AdapterPath>& adapters) {
  const auto source = open_source(base);
  const Json config = source->config();
  for (const AdapterPath& adapter : adapters) {
    const fs::path path = adapter.directory / "config.json";
    if (!file_exists(path)) continue;
    Fields own(read_json(path), path.string());
    if (const Json theirs = config.value("model_type", Json());
        own.json().value("model_type", Json()) != theirs)
      fail("{}: expected an adapter for a model of type {}, found one for {}", path.string(), shown(theirs),
           shown(own.json().value("model_type", Json())));
    if (!config.contains("quantization_config")) return own;
    Json completed = own.json();  // it does not say how the base is stored
    completed["quantization_config"] = config["quantization_config"];
    return {std::move(completed), path.string()};
  }
  return {config, source->config_path().string()};
}

// The generation fields of older config.json files: transformers, configuration_utils.py,
// _get_global_generation_defaults, and the special tokens.
constexpr const char* generation_fields[] = {"max_length",
                                             "min_length",
                                             "do_sample",
                                             "early_stopping",
                                             "num_beams",
                                             "num_beam_groups",
                                             "diversity_penalty",
                                             "temperature",
                                             "top_k",
                                             "top_p",
                                             "typical_p",
                                             "repetition_penalty",
                                             "length_penalty",
                                             "no_repeat_ngram_size",
                                             "encoder_no_repeat_ngram_size",
                                             "bad_words_ids",
                                             "num_return_sequences",
                                             "output_scores",
                                             "return_dict_in_generate",
                                             "forced_bos_token_id",
                                             "forced_eos_token_id",
                                             "remove_invalid_values",
                                             "exponential_decay_length_penalty",
                                             "suppress_tokens",
                                             "begin_suppress_tokens",
                                             "bos_token_id",
                                             "eos_token_id",
                                             "pad_token_id",
                                             "decoder_start_token_id"};

}  // namespace

ModelDirectory::ModelDirectory(const ModelPath& model)
    : adapters_(model.adapters),
      weights_(model.weights),
      cache_(model.cache),
      low_memory_(model.low_memory),
      device_(model.device),
      engine_(model.engine),
      loaded_(model.loaded),
      path_(base_of(model.directory, adapters_)),
      config_(config_of(path_, adapters_)) {}

WeightFiles ModelDirectory::weight_files() const {
  return decode_foreign(open_source(path_)->weight_files(), config_);
}

std::string ModelDirectory::model_type() const {
  return config_.text({"model_type"});
}

std::vector<std::string> ModelDirectory::architectures() const {
  return config_.texts({"architectures"});
}

Json ModelDirectory::generation_config() const {
  if (const fs::path path = path_ / "generation_config.json"; file_exists(path))
    return read_fields(path).json();
  Json legacy = Json::object();
  for (const char* name : generation_fields)
    if (config_.has({name})) legacy[name] = config_.json()[name];
  return legacy;
}

ModelPath on_device_of(const ModelPath& model, const fs::path& other) {
  ModelPath path(other);
  path.device = model.device;
  path.engine = model.engine;
  return path;
}

}  // namespace attend
