#include "formats/model_directory.h"

#include "base/error.h"
#include "base/file.h"
#include "formats/pickled_tensors.h"

#include <utility>

#include <fmt/format.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

// A file of this very directory: a hostile index must not lead out of it.
fs::path inside(const fs::path& directory, const std::string& name, const std::string& source) {
  const fs::path path(name);
  const bool plain =
      !name.empty() && name != "." && name != ".." && path == path.filename() && name.find('\0') == name.npos;
  if (!plain)
    fail("{}: expected the name of something in the directory itself, found {}", source, shown(name));
  return directory / path;
}

Json read_config(const fs::path& directory) {
  constexpr const char* needs =
      "a model directory holds config.json, model.safetensors and the tokenizer's files";
  if (!file_exists(directory))
    fail("{}: no such directory (nothing is downloaded here: give the directory of a model; {})",
         directory.string(), needs);
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) fail("{}: not a directory; {}", directory.string(), needs);
  const fs::path path = directory / "config.json";
  if (!file_exists(path)) fail("{}: there is no config.json in it; {}", directory.string(), needs);
  return read_json(path);
}

bool holds_weights(const fs::path& directory) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"})
    if (file_exists(directory / name)) return true;
  return false;
}

// Where the weights lie that an adapter was made for.
fs::path base_of(const fs::path& directory, std::vector<AdapterPath>& adapters) {
  const fs::path config = directory / "adapter_config.json";
  if (!file_exists(config) || holds_weights(directory)) return directory;
  adapters.insert(adapters.begin(), {directory});
  const std::string base = Fields(read_json(config), config.string()).text({"base_model_name_or_path"}, "");
  for (const fs::path& path : {fs::path(base), directory / base})
    if (!base.empty() && file_exists(path / "config.json")) return path;
  fail(
      "{}: this adapter was made for {}, which is not here (nothing is downloaded): name the model's "
      "directory, "
      "and the adapter by --adapter {}",
      directory.string(), base.empty() ? "a model that it does not name" : shown(Json(base)),
      directory.string());
}

// An adapter that changes what a model is for (a head, labels) has a config.json of its own.
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
    return own;
  }
  return {config, (base / "config.json").string()};
}

// The generation fields that older configurations carry: transformers, configuration_utils.py,
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

// 1_Pooling/config.json: {"pooling_mode": "mean"}, or in older files a flag for each mode.
SentencePooling::Mode read_mode(const Fields& config) {
  std::vector<std::string> modes = config.texts({"pooling_mode"});
  if (modes.empty()) {
    constexpr std::string_view prefix = "pooling_mode_", suffix = "_tokens";
    for (const auto& [key, value] : config.json().items()) {
      if (!key.starts_with(prefix) || !config.flag({key}, false)) continue;
      std::string mode = key.substr(prefix.size());
      if (mode == "cls_token") mode = "cls";
      if (mode.ends_with(suffix)) mode.resize(mode.size() - suffix.size());
      modes.push_back(mode);
    }
  }
  if (modes.empty()) modes = {"mean"};
  if (modes.size() == 1 && modes[0] == "mean") return SentencePooling::Mode::mean;
  if (modes.size() == 1 && modes[0] == "cls") return SentencePooling::Mode::cls;
  if (modes.size() == 1 && modes[0] == "max") return SentencePooling::Mode::max;
  fail("{}: expected one way to pool, mean, cls or max; found {}", config.source(), shown(Json(modes)));
}

Fields read_fields(const fs::path& path) {
  return Fields(read_json(path), path.string());
}

// A file that may be absent: then no field is there.
Fields read_optional_fields(const fs::path& path) {
  return file_exists(path) ? read_fields(path) : Fields(Json::object(), path.string());
}

// Older versions of sentence-transformers keep the limit in a file of its own, newer ones with the tokenizer;
// transformers writes 1e30 for "no limit".
std::optional<std::int64_t> read_max_length(const fs::path& directory) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  const Fields own = read_optional_fields(directory / "sentence_bert_config.json");
  if (const auto length = own.maybe_integer({"max_seq_length"}, 1, most)) return length;
  const auto length =
      read_optional_fields(directory / "tokenizer_config.json").maybe_number({"model_max_length"});
  if (!length || *length < 1 || *length > static_cast<double>(most)) return {};
  return static_cast<std::int64_t>(*length);
}

std::string read_prompt(const fs::path& directory) {
  const Fields config = read_optional_fields(directory / "config_sentence_transformers.json");
  const std::string name = config.text({"default_prompt_name"}, "");
  if (name.empty()) return "";
  const Json prompts = config.json().value("prompts", Json::object());
  return Fields(prompts, config.source() + ": prompts").text({name});
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& directory) {
  Checkpoint checkpoint;
  const auto add = [&](const fs::path& path) {
    const TensorFile& file = checkpoint.files_.emplace_back(open_tensor_file(path));
    for (const auto& [name, tensor] : file.tensors()) {
      const auto [place, is_new] = checkpoint.file_index_.emplace(name, checkpoint.files_.size() - 1);
      if (!is_new)
        fail("{}: tensor {} is in {} too", path.string(), shown(name),
             checkpoint.files_[place->second].path().filename().string());
      checkpoint.tensors_.emplace(name, tensor);
    }
  };

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
    fail("{}: there is no model.safetensors in it, no pytorch_model.bin and no index of either",
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

const TensorView* Checkpoint::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const fs::path& Checkpoint::file_of(const std::string& name) const {
  const auto found = file_index_.find(name);
  if (found == file_index_.end()) fail("the checkpoint holds no tensor {}", shown(name));
  return files_[found->second].path();
}

ModelDirectory::ModelDirectory(const ModelPath& model)
    : adapters_(model.adapters),
      path_(base_of(model.directory, adapters_)),
      config_(config_of(path_, adapters_)) {}

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

std::optional<SentencePooling> ModelDirectory::sentence_pooling() const {
  const fs::path path = path_ / "modules.json";
  if (!file_exists(path)) return {};
  const std::string source = path.string();
  const Json modules = read_json(path);
  if (!modules.is_array()) fail("{}: expected a list of modules, found {}", source, shown(modules));

  SentencePooling pooling = {
      SentencePooling::Mode::mean, false, read_max_length(path_), read_prompt(path_),
      read_optional_fields(path_ / "sentence_bert_config.json").flag({"do_lower_case"}, false)};
  std::vector<std::string> kinds;
  for (const Json& json : modules) {
    const Fields module(json, source + ": a module");
    const std::string type = module.text({"type"}), folder = module.text({"path"}, "");
    kinds.push_back(type.substr(type.rfind('.') + 1));  // npos + 1 is 0
    if (kinds.back() == "Transformer" && !folder.empty())
      fail("{}: expected the transformer in the directory itself, found it in {}", source, shown(folder));
    if (kinds.back() != "Pooling") continue;
    const Fields config = read_fields(inside(path_, folder, source + ": path") / "config.json");
    pooling.mode = read_mode(config);
    if (!pooling.prompt.empty() && !config.flag({"include_prompt"}, true))
      fail("{}: include_prompt: pooling without the prompt is not supported", config.source());
  }
  pooling.normalize = kinds.size() == 3;
  const std::vector<std::string> supported = {"Transformer", "Pooling", "Normalize"};
  if (kinds.size() < 2 || kinds.size() > 3 || !std::equal(kinds.begin(), kinds.end(), supported.begin()))
    fail("{}: expected the modules Transformer, Pooling and perhaps Normalize, found {}", source,
         shown(Json(kinds)));
  return pooling;
}

void write_sentence_modules(const fs::path& directory, const SentencePooling& pooling, std::int64_t width) {
  const auto write = [&](const fs::path& name, const Json& content) {
    fs::create_directories((directory / name).parent_path());
    write_file_atomically(directory / name, content.dump(2) + "\n");
  };
  Json modules = Json::array();
  const auto add = [&](const char* kind, const std::string& folder) {
    const std::size_t number = modules.size();
    modules.push_back({{"idx", number},
                       {"name", std::to_string(number)},
                       {"path", folder},
                       {"type", std::string("sentence_transformers.models.") + kind}});
  };
  add("Transformer", "");
  add("Pooling", "1_Pooling");
  if (pooling.normalize) add("Normalize", "2_Normalize");
  using Mode = SentencePooling::Mode;
  write("1_Pooling/config.json", {{"word_embedding_dimension", width},
                                  {"pooling_mode_cls_token", pooling.mode == Mode::cls},
                                  {"pooling_mode_mean_tokens", pooling.mode == Mode::mean},
                                  {"pooling_mode_max_tokens", pooling.mode == Mode::max},
                                  {"pooling_mode_mean_sqrt_len_tokens", false}});
  Json settings = {{"max_seq_length", nullptr}, {"do_lower_case", pooling.lowercase}};
  if (pooling.max_length) settings["max_seq_length"] = *pooling.max_length;
  write("sentence_bert_config.json", settings);
  if (!pooling.prompt.empty())
    write("config_sentence_transformers.json",
          {{"prompts", {{"text", pooling.prompt}}}, {"default_prompt_name", "text"}});
  if (pooling.normalize) fs::create_directories(directory / "2_Normalize");
  write("modules.json", modules);  // last: with it the directory is one of sentence-transformers
}

std::vector<std::string> sentence_module_folders(const fs::path& directory) {
  const fs::path path = directory / "modules.json";
  if (!file_exists(path)) return {};
  const std::string source = path.string();
  const Json modules = read_json(path);
  if (!modules.is_array()) fail("{}: expected a list of modules, found {}", source, shown(modules));
  std::vector<std::string> folders;
  for (const Json& json : modules) {
    const std::string folder = Fields(json, source + ": a module").text({"path"}, "");
    if (folder.empty()) continue;
    inside(directory, folder, source + ": path");
    folders.push_back(folder);
  }
  return folders;
}

}  // namespace attend
