#include "models/fresh.h"

#include <attend/tokenizer.h>

#include "models/model.h"
#include "tokenizers/tokenizer_files.h"

#include <algorithm>

namespace attend {
namespace {

namespace fs = std::filesystem;

Json parse_value(const std::string& text) {
  // JSON where it is (numbers, true, lists), else the text itself: --set activation_function=relu.
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

// The vocabulary and the special tokens of config.json, from the tokenizer.
void take_from_tokenizer(Json& config, const fs::path& directory) {
  const Tokenizer tokenizer = Tokenizer::from_file(directory);
  config["vocab_size"] = tokenizer.vocabulary_size();
  const fs::path path = directory / "tokenizer_config.json";
  if (!fs::exists(path)) return;
  const Json settings = read_json(path);
  for (const char* kind : {"bos", "eos", "pad", "unk"}) {
    const auto found = settings.find(std::string(kind) + "_token");
    if (found == settings.end()) continue;
    const Json& token = found->is_object() ? found->value("content", Json()) : *found;
    if (!token.is_string()) continue;
    const auto id = tokenizer.token_to_id(token.get<std::string>());
    const std::string field = std::string(kind) + "_token_id";
    if (!id || !config.contains(field)) continue;
    config[field] = *id;
    // The original Transformer starts decoding with the padding token and must end with the end token.
    if (kind == std::string("pad") && config.contains("decoder_start_token_id"))
      config["decoder_start_token_id"] = *id;
    if (kind == std::string("eos") && config.contains("forced_eos_token_id"))
      config["forced_eos_token_id"] = *id;
  }
}

}  // namespace

std::int64_t make_fresh_model(const FreshModel& fresh) {
  const Family& family = find_family(fresh.family);
  std::string preset(family.presets.front());
  std::vector<std::pair<std::string, Json>> fields;
  for (const std::string& setting : fresh.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) fail("--set {}: expected field=value", setting);
    const std::string field = setting.substr(0, equals), value = setting.substr(equals + 1);
    if (field == "preset")
      preset = value;
    else
      fields.emplace_back(field, parse_value(value));
  }
  if (std::find(family.presets.begin(), family.presets.end(), preset) == family.presets.end())
    fail("{} has no preset \"{}\"; it has: {}", family.model_type, preset, fmt::join(family.presets, ", "));
  if (fs::exists(fresh.directory / "model.safetensors"))
    fail("{}: there already is a model in it", fresh.directory.string());
  Json config = family.fresh_config(preset);
  const fs::path tokenizer = fresh.tokenizer.empty() ? fresh.directory : fresh.tokenizer;
  if (!fresh.tokenizer.empty() || !tokenizers::tokenizer_files(tokenizer).empty())
    take_from_tokenizer(config, tokenizer);
  for (const auto& [field, value] : fields) {
    const auto& optional = family.optional_fields;
    if (!config.contains(field) && std::find(optional.begin(), optional.end(), field) == optional.end())
      fail("--set {}: {} has no such field", field, fresh.family);
    config[field] = value;
  }
  const Model model = Model::fresh(Fields(config, "the new config.json"), fresh.seed);
  model.save(fresh.directory);
  if (!fresh.tokenizer.empty()) tokenizers::copy_tokenizer(fresh.tokenizer, fresh.directory);
  std::int64_t parameters = 0;
  for (const Tensor& p : model.network()->parameters()) parameters += p.numel();
  return parameters;
}

}  // namespace attend
