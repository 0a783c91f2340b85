// docs/options.md: the options of a recipe and of the tasks of `attend run`, from the tables that make them.
// Prints it, or with --check FILE checks that the file is the same.
#include "base/error.h"
#include "base/file.h"
#include "generation/config/config_options.h"
#include "pipelines/pipeline.h"
#include "training/recipe_options.h"

#include <cstdio>
#include <string_view>

#include <fmt/ranges.h>

namespace attend {
namespace {

std::string in_cell(std::string text) {
  for (std::size_t i = 0; (i = text.find_first_of("|\n", i)) != text.npos; i += 2)
    text.replace(i, 1, text[i] == '|' ? "\\|" : "; ");
  return text;
}

// What it needs to have an effect.
std::string needs_of(const Option& option) {
  if (!option.needs) return "";
  const auto& [options, values] = *option.needs;
  if (values.empty()) return fmt::format("`{}`", fmt::join(options, "` or `"));
  return fmt::format("`{}`: {}", options.front(), fmt::join(values, ", "));
}

std::string default_of(const Option& option) {
  if (option.required) return "required";
  const Json usual = option.schema.value("default", Json());
  if (usual.is_null() || usual == "" || usual == Json::array()) return "";
  return usual.is_string() ? usual.get<std::string>() : usual.dump();
}

std::string table_of(const Options& options) {
  std::string page = "| Option | Value | Default | Only with | |\n|---|---|---|---|---|\n";
  for (const Option& option : options) {
    std::string names = "`" + option.name + "`";
    for (const std::string& alias : option.aliases) names += ", `" + alias + "`";
    page += fmt::format("| {} | {} | {} | {} | {} |\n", names, in_words(option.schema), default_of(option),
                        needs_of(option), in_cell(option.description));
  }
  return page;
}

std::string page() {
  std::string page =
      "# Options\n\nMade from the tables of options by `build/release/options-table > docs/options.md`; a "
      "test "
      "compares the two.\nA flag is the name with dashes: `max_length` is `--max-length`.\n\n## `attend "
      "train`\n\nAlso the keys of recipe files (`--config recipe.toml`, with dashes too) and, in C++, the "
      "members of "
      "`attend::Recipe`\n(`<attend/recipe.h>`). An option without effect is an error. Model and adapter: "
      "`--model`, "
      "`--adapter`, `--weights`.\n";
  Recipe recipe;
  for (const OptionGroup& group : option_groups(recipe))
    page += fmt::format("\n### {}\n\n{}", group.title, table_of(group.options));
  page +=
      "\n## Generation\n\nThe fields of a generation config: flags of `attend generate`, `translate` and "
      "`chat`, keys of\n`--generation-config` files, fields of the server's requests and, in C++, the "
      "members of "
      "`attend::GenerationConfig`\n(`<attend/generation_config.h>`). A model has its own defaults, in its "
      "generation_config.json.\n";
  GenerationConfig config;
  for (const OptionGroup& group : option_groups(config))
    page += fmt::format("\n### {}\n\n{}", group.title, table_of(group.options));
  page +=
      "\n## Tasks of `attend run`\n\nAlso the `parameters` of `/v1/run/TASK`. Options of all tasks: `attend "
      "run TASK "
      "--help`.\n";
  for (const PipelineKind* kind : pipelines()) {
    const auto pipeline = kind->make(std::string(kind->name));
    const Options options = pipeline->parameters();
    if (!options.empty()) page += fmt::format("\n### {}\n\n{}", kind->name, table_of(options));
  }
  return page;
}

}  // namespace
}  // namespace attend

int main(int argc, char** argv) try {
  const std::string page = attend::page();
  if (argc == 3 && std::string_view(argv[1]) == "--check") {
    if (attend::read_file(argv[2]) == page) return 0;
    std::fprintf(stderr, "%s is not what options-table prints: run `options-table >%s`\n", argv[2], argv[2]);
    return 1;
  }
  std::fputs(page.c_str(), stdout);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
