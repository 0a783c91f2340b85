#include "sources/sentence_modules.h"

#include "base/error.h"
#include "base/file.h"
#include "sources/directory_files.h"

#include <map>

#include <fmt/ranges.h>

namespace attend {
namespace {

namespace fs = std::filesystem;

using Mode = SentencePooling::Mode;

// In the order in which the original concatenates them.
constexpr std::pair<std::string_view, Mode> kModes[] = {
    {"cls", Mode::cls},
    {"max", Mode::max},
    {"mean", Mode::mean},
    {"mean_sqrt_len_tokens", Mode::mean_sqrt_len},
    {"weightedmean", Mode::weighted_mean},
    {"lasttoken", Mode::last},
};

constexpr std::pair<std::string_view, Similarity> kSimilarities[] = {
    {"cosine", Similarity::cosine},
    {"dot", Similarity::dot},
    {"euclidean", Similarity::euclidean},
    {"manhattan", Similarity::manhattan},
};

// 1_Pooling/config.json: {"pooling_mode": "mean"}, or a list of several, or in older files a flag for each.
std::vector<Mode> read_modes(const Fields& config) {
  const std::string source = config.source() + ": pooling_mode";
  std::vector<Mode> modes;
  const auto field = config.json().find("pooling_mode");
  if (field != config.json().end() && field->is_string())
    return {read_pooling_mode(field->get<std::string>(), source)};
  for (const std::string& name : config.texts({"pooling_mode"}))
    modes.push_back(read_pooling_mode(name, source));
  if (!modes.empty()) return modes;
  for (const auto& [name, mode] : kModes) {
    const std::string flag = "pooling_mode_" + std::string(name);
    for (const std::string& spelling : {flag, flag + "_token", flag + "_tokens"})
      if (config.flag({spelling}, false)) {
        modes.push_back(mode);
        break;
      }
  }
  return modes.empty() ? std::vector<Mode>{Mode::mean} : modes;
}

// transformers' name for "torch.nn.modules.activation.Tanh". The original loads any class; we support torch's
// classes without parameters.
std::string read_activation_class(const Fields& config) {
  static const std::map<std::string, std::string, std::less<>> known = {
      {"Tanh", "tanh"}, {"Identity", "linear"}, {"ReLU", "relu"},   {"GELU", "gelu"},
      {"SiLU", "silu"}, {"Sigmoid", "sigmoid"}, {"ReLU6", "relu6"}, {"LeakyReLU", "leaky_relu"},
      {"Mish", "mish"},
  };
  const std::string name = config.text({"activation_function"}, "torch.nn.modules.activation.Tanh");
  const auto found = known.find(name.substr(name.rfind('.') + 1));  // npos + 1 is 0
  if (!name.starts_with("torch.nn.") || found == known.end()) {
    std::vector<std::string> all;
    for (const auto& [each, ours] : known) all.push_back(each);
    fail("{}: activation_function: expected one of torch.nn's {}, found {}", config.source(),
         fmt::join(all, ", "), shown(Json(name)));
  }
  return found->second;
}

SentenceModule read_dense(const Fields& config) {
  for (const char* field : {"module_input_name", "module_output_name"})
    if (config.text({field}, "sentence_embedding") != "sentence_embedding")
      fail("{}: {}: expected sentence_embedding, found {}", config.source(), field,
           shown(config.json().at(field)));
  constexpr std::int64_t max = 1 << 20;
  return {.kind = SentenceModule::Kind::dense,
          .in = config.integer({"in_features"}, {}, 1, max),
          .out = config.integer({"out_features"}, {}, 1, max),
          .bias = config.flag({"bias"}, true),
          .activation = read_activation_class(config)};
}

// sentence_bert_config.json, which older versions named after the model's family.
Fields read_transformer_config(const fs::path& directory) {
  for (const char* family : {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"})
    if (const fs::path file = directory / fmt::format("sentence_{}_config.json", family); file_exists(file))
      return read_fields(file);
  return {Json::object(), (directory / "sentence_bert_config.json").string()};
}

// The limit in the transformer's own file, else the smaller one of the tokenizer's limit and config.json's.
// (transformers writes 1e30 for "no limit".)
std::optional<std::int64_t> read_max_length(const fs::path& directory, const Fields& own,
                                            const Fields& config) {
  constexpr std::int64_t max = std::int64_t{1} << 31;
  if (const auto length = own.maybe_integer({"max_seq_length"}, 1, max)) return length;
  std::optional<std::int64_t> shorter;
  for (const auto& length :
       {read_optional_fields(directory / "tokenizer_config.json").maybe_number({"model_max_length"}),
        config.maybe_number({"max_position_embeddings"})})
    if (length && *length >= 1 && *length <= static_cast<double>(max))
      shorter = std::min(shorter.value_or(max), static_cast<std::int64_t>(*length));
  return shorter;
}

// Reads config_sentence_transformers.json.
void read_use(const fs::path& directory, SentenceDirectory& all) {
  const Fields config = read_optional_fields(directory / "config_sentence_transformers.json");
  const Fields prompts(config.has({"prompts"}) ? config.json().at("prompts") : Json::object(),
                       config.source() + ": prompts");
  for (const auto& [name, text] : prompts.json().items())
    if (!text.is_null()) all.prompts[name] = prompts.text({name});
  if (const std::string name = config.text({"default_prompt_name"}, ""); !name.empty()) {
    if (!all.prompts.contains(name))
      fail("{}: default_prompt_name: expected one of the prompts, found {}", config.source(), shown(name));
    all.texts.prompt = all.prompts.at(name);
  }
  all.dimensions = config.maybe_integer({"truncate_dim"}, 0);
  if (all.dimensions == 0) all.dimensions.reset();
  const std::string similarity = config.text({"similarity_fn_name"}, "cosine");
  for (const auto& [name, known] : kSimilarities)
    if (similarity == name) {
      all.similarity = known;
      return;
    }
  fail("{}: similarity_fn_name: expected cosine, dot, euclidean or manhattan, found {}", config.source(),
       shown(similarity));
}

std::vector<std::pair<std::string, std::string>> read_kinds(const fs::path& directory) {
  const std::string source = (directory / "modules.json").string();
  const Json modules = read_json(directory / "modules.json");
  if (!modules.is_array()) fail("{}: expected a list of modules, found {}", source, shown(modules));
  std::vector<std::pair<std::string, std::string>> kinds;
  for (const Json& json : modules) {
    const Fields module(json, source + ": a module");
    const std::string type = module.text({"type"}), folder = module.text({"path"}, "");
    if (!folder.empty()) inside(directory, folder, source + ": path");
    kinds.emplace_back(type.substr(type.rfind('.') + 1), folder);  // npos + 1 is 0
  }
  return kinds;
}

// MLMTransformer is the older name of a Transformer with scores over its vocabulary.
SentenceModule read_splade(const Fields& config) {
  const auto one_of = [&](const char* field, const char* usual, const char* other) {
    const std::string name = config.text({field}, usual);
    if (name != usual && name != other)
      fail("{}: {}: expected {} or {}, found {}", config.source(), field, usual, other, shown(Json(name)));
    return name == other;
  };
  SentenceModule module{.kind = SentenceModule::Kind::splade};
  module.sums = one_of("pooling_strategy", "max", "sum");
  module.logarithms = one_of("activation_function", "relu", "log1p_relu") ? 2 : 1;
  return module;
}

// `directory` says how the transformer reads a query and a document: as messages whose content is a text.
SentenceModule read_logit_score(const Fields& config, const fs::path& directory) {
  const Fields own = read_transformer_config(directory);
  const Json modalities = own.has({"modality_config"}) ? own.json().at("modality_config") : Json::object();
  const Json message = modalities.is_object() ? modalities.value("message", Json()) : Json();
  if (!message.is_object())
    fail("{}: modality_config: expected message, which the chat template writes, found {}", own.source(),
         shown(modalities));
  const Fields fields(message, own.source() + ": modality_config: message");
  if (const std::string format = fields.text({"format"}, "structured"); format != "flat")
    fail("{}: format: expected flat, found {}", fields.source(), shown(Json(format)));
  constexpr std::int64_t max = std::int64_t{1} << 31;
  return {.kind = SentenceModule::Kind::logit_score,
          .yes = config.integer({"true_token_id"}, {}, 0, max),
          .no = config.maybe_integer({"false_token_id"}, 0, max)};
}

// The module of a directory that makes no vectors of hidden states; absent: it does.
std::optional<SentenceModule> read_lone_module(const fs::path& directory) {
  const std::string source = (directory / "modules.json").string();
  const auto kinds = read_kinds(directory);
  for (const auto& [kind, folder] : kinds) {
    if (kind != "SpladePooling" && kind != "LogitScore") continue;
    const std::string first = kinds[0].first;
    if (kinds.size() != 2 || (first != "Transformer" && first != "MLMTransformer") ||
        !kinds[0].second.empty())
      fail("{}: expected the modules Transformer, directly in the directory, and {}", source, kind);
    const Fields config = read_fields(inside(directory, folder, source + ": path") / "config.json");
    return kind == "LogitScore" ? read_logit_score(config, directory) : read_splade(config);
  }
  return {};
}

SentenceModule read_module(const fs::path& directory, const std::string& kind, const std::string& folder) {
  const std::string source = (directory / "modules.json").string();
  if (kind == "Normalize") return {.kind = SentenceModule::Kind::unit_length};
  if (kind != "Pooling" && kind != "Dense" && kind != "LayerNorm")
    fail("{}: expected the modules Transformer, Pooling, Dense, LayerNorm, Dropout and Normalize, found {}",
         source, shown(Json(kind)));
  const Fields config = read_fields(inside(directory, folder, source + ": path") / "config.json");
  SentenceModule module;
  if (kind == "Dense") module = read_dense(config);
  if (kind == "LayerNorm") {
    module.kind = SentenceModule::Kind::norm;
    module.in = module.out = config.integer({"dimension"}, {}, 1, 1 << 20);
  }
  if (kind == "Pooling") {
    module.modes = read_modes(config);
    module.include_prompt = config.flag({"include_prompt"}, true);
  }
  module.folder = directory / folder;
  return module;
}

// The modules after the transformer.
std::vector<SentenceModule> read_modules(const fs::path& directory) {
  if (auto module = read_lone_module(directory)) return {std::move(*module)};
  const std::string source = (directory / "modules.json").string();
  const auto kinds = read_kinds(directory);
  if (kinds.size() < 2 || kinds[0].first != "Transformer" || kinds[1].first != "Pooling")
    fail("{}: expected the modules Transformer and Pooling before all others", source);
  if (!kinds[0].second.empty())
    fail("{}: expected the transformer directly in the directory, found it in {}", source,
         shown(Json(kinds[0].second)));
  std::vector<SentenceModule> modules;
  for (std::size_t i = 1; i < kinds.size(); ++i) {
    const auto& [kind, folder] = kinds[i];
    if (kind == "Dropout") continue;  // it only has an effect in training
    if (kind == "Pooling" && i > 1) fail("{}: expected the module Pooling once", source);
    modules.push_back(read_module(directory, kind, folder));
  }
  return modules;
}

SentenceDirectory assume_sentences(const ModelDirectory& directory) {
  const std::vector<std::string> architectures = directory.architectures();
  const bool causal = !architectures.empty() && architectures.front().ends_with("ForCausalLM") &&
                      directory.config().flag({"is_causal"}, true);
  SentenceDirectory all{.modules = {{.modes = {causal ? Mode::last : Mode::mean}}}, .assumed = true};
  all.texts.max_length = read_max_length(directory.path(), Fields(Json::object(), ""), directory.config());
  return all;
}

}  // namespace

SentenceDirectory read_sentence_directory(const ModelDirectory& directory) {
  const fs::path& path = directory.path();
  if (const auto stored = open_source(path)->stored_sentences()) return *stored;
  if (!file_exists(path / "modules.json")) return assume_sentences(directory);
  SentenceDirectory all;
  const Fields own = read_transformer_config(path);
  all.texts.max_length = read_max_length(path, own, directory.config());
  all.texts.lowercase = own.flag({"do_lower_case"}, false);
  read_use(path, all);
  all.modules = read_modules(path);
  return all;
}

const char* pooling_name(Mode mode) {
  for (const auto& [name, known] : kModes)
    if (mode == known) return name.data();
  return "";
}

Mode read_pooling_mode(const std::string& name, const std::string& source) {
  for (const auto& [known, mode] : kModes)
    if (name == known) return mode;
  fail("{}: expected cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken, found {}", source,
       shown(Json(name)));
}

const char* similarity_name(Similarity similarity) {
  for (const auto& [name, known] : kSimilarities)
    if (similarity == known) return name.data();
  return "";
}

std::optional<SentencePooling> ModelDirectory::sentence_pooling() const {
  const SentenceDirectory all = read_sentence_directory(*this);
  if (all.assumed) return {};
  const std::vector<SentenceModule>& modules = all.modules;
  SentencePooling pooling = all.texts;
  pooling.normalize = modules.size() == 2 && all.normalizes();
  if (modules.size() > (pooling.normalize ? 2 : 1) || modules[0].modes.size() != 1)
    fail("{}: expected the modules Transformer, Pooling of one kind and perhaps Normalize",
         (path_ / "modules.json").string());
  if (!modules[0].include_prompt && !pooling.prompt.empty())
    fail("{}: include_prompt: pooling without the prompt is not supported in training",
         (modules[0].folder / "config.json").string());
  pooling.mode = modules[0].modes[0];
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
  write("1_Pooling/config.json", {{"word_embedding_dimension", width},
                                  {"pooling_mode_cls_token", pooling.mode == Mode::cls},
                                  {"pooling_mode_mean_tokens", pooling.mode == Mode::mean},
                                  {"pooling_mode_max_tokens", pooling.mode == Mode::max},
                                  {"pooling_mode_mean_sqrt_len_tokens", pooling.mode == Mode::mean_sqrt_len},
                                  {"pooling_mode_weightedmean_tokens", pooling.mode == Mode::weighted_mean},
                                  {"pooling_mode_lasttoken", pooling.mode == Mode::last}});
  Json settings = {{"max_seq_length", nullptr}, {"do_lower_case", pooling.lowercase}};
  if (pooling.max_length) settings["max_seq_length"] = *pooling.max_length;
  write("sentence_bert_config.json", settings);
  if (!pooling.prompt.empty())
    write("config_sentence_transformers.json",
          {{"prompts", {{"text", pooling.prompt}}}, {"default_prompt_name", "text"}});
  if (pooling.normalize) fs::create_directories(directory / "2_Normalize");
  write("modules.json", modules);  // last: with it, the directory is a sentence-transformers directory
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
