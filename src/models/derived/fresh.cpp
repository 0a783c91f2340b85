#include "models/derived/fresh.h"

#include <attend/tokenizer.h>

#include "base/directory.h"
#include "base/file.h"
#include "models/checkpoint/pretrained_model.h"
#include "tokenizers/files/tokenizer_config.h"
#include "tokenizers/files/tokenizer_files.h"

#include <algorithm>

namespace attend {
namespace {

namespace fs = std::filesystem;

Json parse_value(const std::string& text) {
  // As JSON if it is (numbers, true, lists), else as a string: --set activation_function=relu.
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

// Sets the vocabulary size and the special tokens of config.json from the tokenizer. A decoder's start token,
// and its forced end token, keep the role that they have in the family: Marian and T5 start with padding,
// BART with the end token.
void take_from_tokenizer(Json& config, const fs::path& directory) {
  const Tokenizer tokenizer = Tokenizer::from_file(directory);
  config["vocab_size"] = tokenizer.vocabulary_size();
  const tokenizers::TokenizerConfig settings(directory);
  const Json family = config;
  for (const std::string kind : {"bos", "eos", "pad", "unk", "sep", "cls", "mask"}) {
    const std::string token = settings.token(kind + "_token", ""), field = kind + "_token_id";
    const auto id = token.empty() ? std::nullopt : tokenizer.token_to_id(token);
    if (!id) continue;
    if (kind == "pad" && family.contains("pad_index")) config["pad_index"] = *id;
    // XLM appends masks to the text that it continues.
    if (kind == "mask" && family.contains("pad_index")) config[field] = *id;
    if (!family.contains(field)) continue;
    config[field] = *id;
    for (const char* role : {"decoder_start_token_id", "forced_eos_token_id"})
      if (family.contains(role) && family[role] == family[field]) config[role] = *id;
  }
}

// Ids of tokens that the vocabulary does not have become null, and clusters end before the end of the
// vocabulary. If these fields were left out, transformers would use the family's default ids.
void keep_inside(Json& config, const std::vector<std::pair<std::string, Json>>& asked_for) {
  const Json size = config.value("vocab_size", Json());
  if (!size.is_number_integer()) return;
  const auto outside = [&](const Json& id) { return id.is_number_integer() && id >= size; };
  for (auto& [field, value] : config.items()) {
    const bool asked = std::ranges::any_of(asked_for, [&](const auto& each) { return each.first == field; });
    if (asked) continue;  // its Error is more precise
    if (field.ends_with("_token_id") && outside(value)) value = nullptr;
    if (field == "cutoffs" && value.is_array()) {
      Json inside = Json::array();
      for (const Json& end : value)
        if (!outside(end)) inside.push_back(end);
      value = inside;
    }
  }
}

// Writes how pictures are preprocessed: to [-1, 1], like ViT's authors. An existing file stays.
void write_preprocessor(const PatchSpec& patches, const fs::path& directory) {
  const fs::path path = directory / "preprocessor_config.json";
  if (fs::exists(path)) return;
  const Json half(Json::array_t(static_cast<std::size_t>(patches.channels), 0.5));
  const Json config = {{"image_processor_type", "ViTImageProcessor"},
                       {"do_resize", true},
                       {"size", {{"height", patches.height}, {"width", patches.width}}},
                       {"resample", 2},
                       {"do_rescale", true},
                       {"rescale_factor", 1.0 / 255},
                       {"do_normalize", true},
                       {"image_mean", half},
                       {"image_std", half}};
  write_file_atomically(path, config.dump(2) + "\n");
}

}  // namespace

std::int64_t make_fresh_model(const FreshModel& fresh) {
  const Family& family = find_family(fresh.family);
  std::string preset(family.presets.front());
  std::vector<std::pair<std::string, Json>> fields;
  for (const std::string& setting : fresh.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) fail("`set` {}: expected field=value", setting);
    const std::string field = setting.substr(0, equals), value = setting.substr(equals + 1);
    if (field == "preset")
      preset = value;
    else
      fields.emplace_back(field, parse_value(value));
  }
  if (std::find(family.presets.begin(), family.presets.end(), preset) == family.presets.end())
    fail("{} has no preset \"{}\"; its presets are {}", family.model_type, preset,
         fmt::join(family.presets, ", "));
  expect_no_model(fresh.directory);
  Json config = family.fresh_config(preset);
  const fs::path tokenizer = fresh.tokenizer.empty() ? fresh.directory : fresh.tokenizer;
  if (!fresh.tokenizer.empty() || !tokenizers::tokenizer_files(tokenizer).empty())
    take_from_tokenizer(config, tokenizer);
  for (const auto& [field, value] : fields) {
    const auto& optional = family.optional_fields;
    if (!config.contains(field) && std::find(optional.begin(), optional.end(), field) == optional.end())
      fail("`set` {}: {} does not have this field", field, fresh.family);
    config[field] = value;
  }
  keep_inside(config, fields);
  const PretrainedModel model = PretrainedModel::fresh(Fields(config, "the new config.json"), fresh.seed);
  model.save(fresh.directory);
  if (!fresh.tokenizer.empty()) tokenizers::copy_tokenizer(fresh.tokenizer, fresh.directory);
  const ModelSpec& spec = model.network()->spec();
  if (spec.encoder && spec.encoder->patches) write_preprocessor(*spec.encoder->patches, fresh.directory);
  std::int64_t parameters = 0;
  for (const Tensor& p : model.network()->parameters()) parameters += p.numel();
  return parameters;
}

}  // namespace attend
