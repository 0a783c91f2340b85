#include "cli/options/generation_options.h"

#include "base/file.h"
#include "cli/options/option_flags.h"
#include "generation/config/config_options.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace attend::cli {
namespace {

// Fields with a shorter flag.
struct Alias {
  const char *field, *flag;
};
constexpr Alias kAliases[] = {{"num_beams", "beams"},
                              {"do_sample", "sample"},
                              {"stop_strings", "stop"},
                              {"prompt_lookup_num_tokens", "prompt_lookup"}};

// Fields that other flags set.
constexpr const char* kOwnFlags[] = {"return_alternatives", "output_scores", "output_top_scores",
                                     "output_attentions", "output_hidden_states"};

// Fields whose flag takes a file with the value.
constexpr const char* kJsonFiles[] = {"json_schema", "structural_tag"};
constexpr const char* kTextFiles[] = {"grammar"};

// Fields without effect unless tokens are sampled.
constexpr std::string_view kImplySampling[] = {
    "temperature",    "top_k",      "top_p",          "min_p",           "typical_p",
    "epsilon_cutoff", "eta_cutoff", "dynatemp_range", "xtc_probability", "mirostat"};

bool is_among(std::span<const char* const> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

CLI::Option* add_file(CLI::App& app, const Option& option, Json& fields, bool is_json) {
  return app
      .add_option_function<std::string>(
          flags_of(option),
          [&fields, name = option.name, is_json](const std::string& file) {
            fields[name] = is_json ? read_json(file) : Json(read_file(file));
          },
          option.description)
      ->type_name("FILE");
}

// Commas and spaces may be part of a text, so the flag takes one and is repeated.
CLI::Option* add_texts_of(CLI::App& app, const Option& option, Json& fields) {
  return app
      .add_option_function<std::vector<std::string>>(
          flags_of(option),
          [&fields, name = option.name](const std::vector<std::string>& texts) { fields[name] = texts; },
          option.description + "; may be repeated")
      ->allow_extra_args(false);
}

// The flag of a field, which goes into `fields`.
CLI::Option* add_field(CLI::App& app, Option option, Json& fields) {
  if (is_among(kJsonFiles, option.name)) return add_file(app, option, fields, true);
  if (is_among(kTextFiles, option.name)) return add_file(app, option, fields, false);
  for (const Alias& alias : kAliases)
    if (option.name == alias.field) option = option.also(alias.flag);
  option.set = [&fields, name = option.name](const Json& value) { fields[name] = value; };
  if (option.name == "do_sample")
    option.description += "; the options below imply it, except `top_k` with `penalty_alpha`";
  if (option.name == "stop_strings") return add_texts_of(app, option, fields);
  return is_list(option.schema) ? add_value(app, option)->type_name("JSON") : add_option(app, option);
}

// What is given only has an effect if tokens are sampled.
void imply_sampling(Json& fields) {
  const bool samples = std::ranges::any_of(kImplySampling, [&](std::string_view name) {
    return fields.contains(name) && !(name == "top_k" && fields.contains("penalty_alpha"));
  });
  if (samples && !fields.contains("do_sample")) fields["do_sample"] = true;
}

void add_alternatives(CLI::App& app, Json& fields) {
  app.add_option_function<std::int64_t>(
         "--alternatives",
         [&fields](std::int64_t count) {
           fields["return_alternatives"] = true;
           fields["num_return_sequences"] = count;
         },
         "Number of alternatives per prompt, each starting with a different one of the likeliest next tokens")
      ->group("Length");
}

}  // namespace

void add_languages(CLI::App& app, std::string& source, std::string& target) {
  CLI::Option* from =
      app.add_option("--src-lang", source, "Source language of a multilingual model, such as en or eng_Latn");
  CLI::Option* to = app.add_option("--tgt-lang", target, "Target language of a multilingual model");
  from->needs(to);
  to->needs(from);
}

void add_generation_options(CLI::App& app, Json& fields) {
  for (const OptionGroup& group : generation_fields())
    for (const Option& option : group.options)
      if (!is_among(kOwnFlags, option.name)) add_field(app, option, fields)->group(group.title);
  add_alternatives(app, fields);
  app.parse_complete_callback([&fields] { imply_sampling(fields); });
}

void add_generation_options(CLI::App& app, Json& fields, const std::vector<std::string>& names) {
  for (const OptionGroup& group : generation_fields())
    for (const Option& option : group.options)
      if (std::ranges::find(names, option.name) != names.end()) add_field(app, option, fields);
}

}  // namespace attend::cli
