// Reads a GenerationConfig from the fields of a generation_config.json.
#include "base/error.h"
#include "base/log.h"
#include "generation/config/config.h"
#include "generation/config/config_options.h"
#include "models/checkpoint/pretrained_model.h"

#include <algorithm>

namespace attend {
namespace {

// Unsupported fields that change the result, with the value at which they have no effect (null never has an
// effect).
struct Unsupported {
  const char* name;
  Json neutral;
};

const std::vector<Unsupported>& unsupported_fields() {
  static const std::vector<Unsupported> fields = {{"constraints", nullptr},
                                                  {"token_healing", false},
                                                  {"dola_layers", nullptr},
                                                  {"assistant_early_exit", nullptr}};
  return fields;
}

// Fields that do not affect the tokens.
constexpr std::string_view kWithoutEffect[] = {"transformers_version",
                                               "_from_model_config",
                                               "_commit_hash",
                                               "use_cache",
                                               "cache_implementation",
                                               "cache_config",
                                               "return_legacy_cache",
                                               "prefill_chunk_size",
                                               "output_logits",
                                               "return_dict_in_generate",
                                               "low_memory",
                                               "compile_config",
                                               "disable_compile",
                                               "is_assistant",
                                               "num_assistant_tokens_schedule",
                                               "assistant_confidence_threshold",
                                               "assistant_lookbehind",
                                               "target_lookbehind"};

void refuse_unsupported(const Fields& fields) {
  for (const Unsupported& field : unsupported_fields()) {
    const auto found = fields.json().find(field.name);
    if (found != fields.json().end() && !found->is_null() && *found != field.neutral)
      fail("{}: {}: {} is not supported yet", fields.source(), field.name, shown(*found));
  }
}

bool is_neutral_or_without_effect(std::string_view name) {
  return std::ranges::find(kWithoutEffect, name) != std::end(kWithoutEffect) ||
         std::ranges::any_of(unsupported_fields(), [&](const Unsupported& u) { return u.name == name; });
}

// A config and the options that set it, kept because making them costs more than a request should.
struct Table {
  GenerationConfig config;
  Options options = options_of(config);
};

Table& table_with(const GenerationConfig& config) {
  thread_local Table table;
  table.config = config;
  return table;
}

// What an untouched config has, in the order of the options.
const std::vector<Json>& defaults() {
  static const std::vector<Json> values = [] {
    GenerationConfig untouched;
    std::vector<Json> all;
    for (const Option& each : options_of(untouched)) all.push_back(each.get());
    return all;
  }();
  return values;
}

// The schema of a number without its limits.
Json any_number(const Json& schema) {
  return schema.value("type", "") == "number" ? schema::number() : schema;
}

// Sets what `fields` has. Returns the names that are no options.
std::vector<std::string> set_fields(GenerationConfig& config, const Fields& fields, FieldsFrom from) {
  Table& table = table_with(config);
  std::vector<std::string> unknown;
  for (const auto& [name, value] : fields.json().items()) {
    const auto option = std::ranges::find(table.options, name, &Option::name);
    if (option == table.options.end()) {
      if (!is_neutral_or_without_effect(name)) unknown.push_back(name);
      continue;
    }
    if (!value.is_null())
      check_schema(value, from == FieldsFrom::caller ? option->schema : any_number(option->schema),
                   fmt::format("{}: {}", fields.source(), name));
    const bool all_tokens = name == "top_k" && value.is_null();  // unlike leaving it out: the original's rule
    const auto number = static_cast<std::size_t>(option - table.options.begin());
    option->set(all_tokens ? Json(0) : value.is_null() ? defaults()[number] : value);
  }
  refuse_unsupported(fields);
  config = table.config;
  return unknown;
}

}  // namespace

GenerationConfig generation_config_of(const PretrainedModel& model) {
  GenerationConfig config;
  if (!model.generation_config().empty())
    apply_fields(config, Fields(model.generation_config(), "generation_config.json"), FieldsFrom::model);
  else
    set_fields(config, model.config(), FieldsFrom::model);  // it has other fields as well
  // In a model's files the default does not count as a setting: the original then generates 20 new tokens.
  if (config.max_length == default_max_length) config.max_length.reset();
  return config;
}

void apply_fields(GenerationConfig& config, const Fields& fields, FieldsFrom from) {
  const bool is_caller = from == FieldsFrom::caller;
  const ErrorScope scope(is_caller ? ErrorKind::call : ErrorKind::model);
  for (const std::string& name : set_fields(config, fields, from)) {
    if (is_caller) fail("{}: {} is not a field of a generation config", fields.source(), shown(Json(name)));
    warn("{}: {} is not a field we know; it has no effect", fields.source(), shown(Json(name)));
  }
}

void apply_changes(GenerationConfig& config, const Configure& changes) {
  if (!changes) return;
  const ErrorScope scope(ErrorKind::call);
  Table& table = table_with(config);
  std::vector<Json> before;
  for (const Option& each : table.options) before.push_back(each.get());
  changes(config);
  table.config = config;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (const Json value = table.options[i].get(); value != before[i] && value != defaults()[i])
      check_schema(value, table.options[i].schema, table.options[i].name);
}

void GenerationConfig::apply(const std::string& json) {
  apply_fields(*this, Fields(parse_json(json, "the settings"), "the settings"), FieldsFrom::caller);
}

Configure v1::with_fields(std::string json) {
  return [json = std::move(json)](GenerationConfig& config) { config.apply(json); };
}

}  // namespace attend
