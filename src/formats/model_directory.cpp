#include "formats/model_directory.h"

#include "base/error.h"
#include "base/file.h"
#include "formats/ctranslate2_model.h"
#include "formats/directory_files.h"
#include "formats/foreign_weights.h"
#include "formats/gguf.h"
#include "formats/gguf_model.h"
#include "formats/pickled_tensors.h"

#include <utility>

#include <fmt/format.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

Json read_config(const fs::path& directory) {
  if (is_gguf(directory)) return gguf_config(directory);
  constexpr const char* needs =
      "a model is a directory with config.json, model.safetensors and the tokenizer's files, or a GGUF file";
  if (!file_exists(directory))
    fail("{}: no such directory; models are not downloaded, so give the directory of a model ({})",
         directory.string(), needs);
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) fail("{}: not a directory; {}", directory.string(), needs);
  const fs::path path = directory / "config.json";
  if (!file_exists(path)) fail("{}: the directory has no config.json; {}", directory.string(), needs);
  return is_ctranslate2(directory) ? ctranslate2_config(directory) : read_json(path);
}

// The directory with the weights of the adapter's base model.
fs::path base_of(const fs::path& directory, std::vector<AdapterPath>& adapters) {
  const fs::path config = directory / "adapter_config.json";
  if (!file_exists(config) || holds_checkpoint(directory) || is_ctranslate2(directory)) return directory;
  adapters.insert(adapters.begin(), {directory});
  const std::string base = Fields(read_json(config), config.string()).text({"base_model_name_or_path"}, "");
  for (const fs::path& path : {fs::path(base), directory / base})
    if (!base.empty() && file_exists(path / "config.json")) return path;
  fail(
      "{}: this adapter was made for {}, which was not found (models are not downloaded); give the model's "
      "directory, and the adapter with --adapter {}",
      directory.string(), base.empty() ? "an unnamed model" : shown(Json(base)), directory.string());
}

// An adapter that changes a model's task (its head, labels) has its own config.json.
Fields config_of(const fs::path& base, const std::vector<AdapterPath>& adapters) {
  const Json config = read_config(base);
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
  return {config, (is_gguf(base) ? base : base / "config.json").string()};
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

WeightFiles WeightFiles::open(const fs::path& directory) {
  WeightFiles checkpoint;
  const auto add_file = [&](TensorFile given) {
    const TensorFile& file = checkpoint.files_.emplace_back(std::move(given));
    for (const auto& [name, tensor] : file.tensors()) {
      const auto [place, is_new] = checkpoint.file_index_.emplace(name, checkpoint.files_.size() - 1);
      if (!is_new)
        fail("{}: tensor {} is also in {}", file.path().string(), shown(name),
             checkpoint.files_[place->second].path().filename().string());
      checkpoint.tensors_.emplace(name, tensor);
    }
  };

  const auto add = [&](const fs::path& path) { add_file(open_tensor_file(path)); };

  if (is_gguf(directory)) {
    for (GgufCheckpoint& part : gguf_checkpoints(directory)) add_file(std::move(part));
    return checkpoint;
  }
  if (is_ctranslate2(directory)) {
    add_file(CTranslate2Checkpoint(directory));
    return checkpoint;
  }
  fs::path index;
  for (const char* name : {"model.safetensors", "pytorch_model.bin"}) {
    if (file_exists(directory / name)) {
      add(directory / name);
      return checkpoint;
    }
    index = directory / (name + std::string(".index.json"));
    if (file_exists(index)) break;
  }
  if (!file_exists(index))
    fail("{}: the directory has no model.safetensors, no pytorch_model.bin and no index of either",
         directory.string());

  const Fields fields = read_fields(index);
  const std::string source = fields.source() + ": weight_map";
  const Fields map(fields.json().value("weight_map", Json()), source);
  std::map<std::string, std::size_t> shards;
  for (const auto& [tensor, file] : map.json().items()) {
    if (!file.is_string())
      fail("{}: {}: expected the name of a file, found {}", source, shown(tensor), shown(file));
    const auto [place, is_new] = shards.emplace(file.get<std::string>(), checkpoint.files_.size());
    if (is_new) add(inside(directory, place->first, source + ": " + shown(tensor)));
    if (!checkpoint.files_[place->second].tensors().contains(tensor))
      fail("{}: tensor {} is not in {}", source, shown(tensor), place->first);
  }
  return checkpoint;
}

void WeightFiles::replace(const std::vector<std::string>& parts, const std::string& name,
                          const TensorView& tensor) {
  const std::size_t file = file_index_.at(parts.at(0));
  for (const std::string& part : parts) {
    tensors_.erase(part);
    file_index_.erase(part);
  }
  if (!tensors_.emplace(name, tensor).second)
    fail("{}: {} exists both as a plain and as a quantized tensor", files_[file].path().string(),
         shown(Json(name)));
  file_index_.emplace(name, file);
}

const TensorView* WeightFiles::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const fs::path& WeightFiles::file_of(const std::string& name) const {
  const auto found = file_index_.find(name);
  if (found == file_index_.end()) fail("the checkpoint has no tensor {}", shown(name));
  return files_[found->second].path();
}

ModelDirectory::ModelDirectory(const ModelPath& model)
    : adapters_(model.adapters),
      weights_(model.weights),
      cache_(model.cache),
      low_memory_(model.low_memory),
      loaded_(model.loaded),
      path_(base_of(model.directory, adapters_)),
      config_(config_of(path_, adapters_)) {}

WeightFiles ModelDirectory::weight_files() const {
  return decode_foreign(WeightFiles::open(path_), config_);
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

}  // namespace attend
