#include "models/adapters/adapter_config.h"

#include "models/adapters/adapter_targets.h"
#include "tokenizers/text/pattern.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

// Options that change how the factors are used.
constexpr const char* variants[] = {
    "use_qalora",        "use_bdlora",  "alora_invocation_tokens", "arrow_config",  "layer_replication",
    "monteclora_config", "kasa_config", "target_parameters",       "velora_config", "trainable_token_indices",
};

constexpr std::string_view kAllLinear = "all-linear";

bool full_match(const std::string& expression, const std::string& text, const std::string& source) {
  const auto pattern = tokenizers::Pattern::regex("\\A(?:" + expression + ")\\z", source);
  std::vector<TextSpan> found;
  pattern.find_all(text, found);
  return !found.empty();
}

// Whether the module is this name, or ends with "." and the name.
bool ends_with_name(const std::string& module, const std::string& name) {
  return module == name || module.ends_with("." + name);
}

// The number after the first numbered name: "bert.encoder.layer.3.output" -> 3.
std::optional<std::int64_t> layer_of(const std::string& module) {
  for (std::size_t dot = module.find('.'); dot != module.npos; dot = module.find('.', dot + 1)) {
    const std::size_t end = module.find('.', dot + 1);
    const std::string part = module.substr(dot + 1, end == module.npos ? end : end - dot - 1);
    if (end != module.npos && !part.empty() &&
        std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; }))
      return std::stoll(part);
  }
  return {};
}

AdapterConfig::Kind read_kind(const Fields& fields) {
  const std::string type = fields.text({"peft_type"});
  if (type == "LORA") return AdapterConfig::Kind::lora;
  if (type == "IA3") return AdapterConfig::Kind::ia3;
  if (type == "PREFIX_TUNING") return AdapterConfig::Kind::prefix;
  if (type == "PROMPT_TUNING") return AdapterConfig::Kind::prompt;
  fail("{}: peft_type: expected LORA, IA3, PREFIX_TUNING or PROMPT_TUNING, found {}", fields.source(),
       shown(Json(type)));
}

bool is_regex(const std::string& target) {
  return target.find_first_of("\\*()[]|^$+?") != target.npos;
}

// A list of names; or, as a string, a single expression or "all-linear".
Json targets_json(const std::vector<std::string>& targets) {
  if (targets.size() == 1 && (targets[0] == kAllLinear || is_regex(targets[0]))) return targets[0];
  return targets;
}

// The base model's directory; null for a model without one.
Json place_of(const PretrainedModel& model) {
  if (model.source().empty()) return {};
  return std::filesystem::absolute(model.source()).lexically_normal().string();
}

Json common_fields(const PretrainedModel& model, const std::string& task) {
  return {{"base_model_name_or_path", place_of(model)},
          {"inference_mode", true},
          {"modules_to_save", nullptr},
          {"peft_version", "0.21.0"},
          {"revision", nullptr},
          {"task_type", task.empty() ? Json() : Json(task)}};
}

}  // namespace

AdapterConfig AdapterConfig::read(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "adapter_config.json";
  Fields fields(read_json(path), path.string());
  const Kind kind = read_kind(fields);
  for (const char* name : variants) {
    const Json value = fields.json().value(name, Json());
    if (!value.is_null() && value != false && !(value.is_structured() && value.empty()))
      fail("{}: {}: this variant of LoRA is not supported; found {}", path.string(), name, shown(value));
  }
  return {std::move(fields), kind};
}

AdapterConfig AdapterConfig::make(const AdapterOptions& o, const PretrainedModel& model,
                                  const std::string& task) {
  Json fields = common_fields(model, task);
  std::vector<std::string> saved = o.modules_to_save;
  if (task == "SEQ_CLS" || task == "TOKEN_CLS") saved.insert(saved.end(), {"classifier", "score"});
  if (task == "QUESTION_ANS") saved.emplace_back("qa_outputs");
  const std::string_view family = model.family().model_type;
  if (o.kind == Kind::lora) {
    fields["peft_type"] = "LORA";
    fields["r"] = o.rank;
    fields["lora_alpha"] = o.alpha;
    fields["lora_dropout"] = o.dropout;
    fields["use_rslora"] = o.by_root;
    fields["use_dora"] = o.directions;
    fields["lora_bias"] = o.factor_bias;
    fields["bias"] = o.bias;
    fields["rank_pattern"] = fields["alpha_pattern"] = Json::object();
    fields["init_lora_weights"] = o.initialization == "default" ? Json(true) : Json(o.initialization);
    fields["target_modules"] =
        o.targets.empty() ? Json(default_lora_targets(family)) : targets_json(o.targets);
    if (!o.layers.empty()) fields["layers_to_transform"] = o.layers;
  } else if (o.kind == Kind::ia3) {
    fields["peft_type"] = "IA3";
    fields["init_ia3_weights"] = true;
    const Ia3Targets own =
        o.targets.empty() ? default_ia3_targets(family) : Ia3Targets{o.targets, o.feed_forward};
    fields["target_modules"] = targets_json(own.all);
    fields["feedforward_modules"] = own.feed_forward;
  } else {
    const ModelSpec& spec = model.network()->spec();
    const StackSpec& stack = spec.decoder ? *spec.decoder : *spec.encoder;
    fields["peft_type"] = o.kind == Kind::prefix ? "PREFIX_TUNING" : "PROMPT_TUNING";
    fields["num_virtual_tokens"] = o.virtual_tokens;
    fields["num_layers"] = stack.layers.size();
    const AttentionSpec& attention = stack.layers.front().self_attention;
    const bool keys = o.kind == Kind::prefix;
    fields["num_attention_heads"] = keys ? attention.heads_of_keys() : attention.heads;
    fields["token_dim"] = keys ? attention.key_width() : stack.width();
    fields["num_transformer_submodules"] = spec.encoder && spec.decoder ? 2 : 1;
    if (o.kind == Kind::prefix) {
      fields["prefix_projection"] = false;
      fields["encoder_hidden_size"] = stack.width();
    } else {
      fields["prompt_tuning_init"] = "RANDOM";
    }
  }
  if (!o.excluded.empty()) fields["exclude_modules"] = targets_json(o.excluded);
  for (const std::string& module : model.fresh_modules())
    if (!std::ranges::any_of(saved, [&](const std::string& s) { return ends_with_name(module, s); }))
      saved.push_back(module);
  if (!saved.empty()) fields["modules_to_save"] = saved;
  return {Fields(std::move(fields), "adapter_config.json"), o.kind};
}

bool is_named_by(const std::vector<std::string>& modules_to_save, const std::string& module) {
  return std::ranges::any_of(modules_to_save, [&](const std::string& saved) {
    return full_match("(?:.*\\.)?(?:" + saved + ")(?:\\..*)?", module, "modules_to_save");
  });
}

bool AdapterConfig::is_saved(const std::string& module) const {
  return is_named_by(fields_.texts({"modules_to_save"}), module);
}

bool AdapterConfig::is_target(const OriginalModule& module) const {
  const std::string& name = module.name;
  const auto named_by = [&](const char* field) {
    const Json value = fields_.json().value(field, Json());
    if (value.is_null()) return false;
    if (value.is_string()) return full_match(value.get<std::string>(), name, source() + ": " + field);
    const std::vector<std::string> names = fields_.texts({field});
    return std::ranges::any_of(names, [&](const std::string& end) { return ends_with_name(name, end); });
  };
  if (named_by("exclude_modules") || is_saved(name)) return false;
  const Json targets = fields_.json().value("target_modules", Json());
  if (targets == kAllLinear) return !module.is_table && !module.scores_words;
  if (!named_by("target_modules")) return false;
  const std::vector<std::int64_t> layers = fields_.integers({"layers_to_transform"});
  if (layers.empty() || targets.is_string()) return true;
  const std::optional<std::int64_t> layer = layer_of(name);
  return layer && std::ranges::find(layers, *layer) != layers.end();
}

bool AdapterConfig::scales_input(const std::string& module) const {
  const Json value = fields_.json().value("feedforward_modules", Json());
  if (value.is_string())
    return full_match(value.get<std::string>(), module, source() + ": feedforward_modules");
  const std::vector<std::string> names = fields_.texts({"feedforward_modules"});
  return std::ranges::any_of(names, [&](const std::string& end) { return module.ends_with(end); });
}

Json AdapterConfig::by_pattern(const char* field, const std::string& module, const Json& otherwise) const {
  const Json patterns = fields_.json().value(field, Json());
  if (!patterns.is_object()) return otherwise;
  for (const auto& [expression, value] : patterns.items())
    if (full_match("(?:.*\\.)?(?:" + expression + ")", module, source() + ": " + field)) {
      if (!value.is_number()) fail("{}: {}: expected numbers, found {}", source(), field, shown(value));
      return value;
    }
  return otherwise;
}

std::int64_t AdapterConfig::rank_of(const std::string& module) const {
  const std::int64_t rank = by_pattern("rank_pattern", module, fields_.integer({"r"}, 8)).get<std::int64_t>();
  if (rank < 1) fail("{}: rank_pattern: expected ranks from 1 on, found {}", source(), rank);
  return rank;
}

double AdapterConfig::scale_of(const std::string& module, std::int64_t rank) const {
  const double alpha = by_pattern("alpha_pattern", module, fields_.number({"lora_alpha"}, 8)).get<double>();
  const bool by_root = fields_.flag({"use_rslora"}, false);
  return alpha / (by_root ? std::sqrt(static_cast<double>(rank)) : static_cast<double>(rank));
}

}  // namespace attend
