// attend adapter merge | unmerge | info: adapters as files.
#include "models/adapters/adapter.h"

#include <attend/convert.h>

#include "base/log.h"
#include "cli/options/model_option.h"
#include "cli/options/verb.h"

#include <iostream>

namespace attend::cli {
namespace {

struct AdapterArguments {
  std::string model, output;
  std::vector<std::string> adapters;
  std::string type;  // of the written file; empty: the type of the model's file
  bool json = false;
};

ModelPath path_of(const AdapterArguments& a) {
  ModelPath path(a.model);
  for (const std::string& adapter : a.adapters) path.adapters.push_back(read_adapter(adapter));
  return path;
}

void merge(const AdapterArguments& a) {
  const RoundingCost cost = merge_adapters(path_of(a), a.output, a.type);
  if (cost.change > 0)
    inform("rounding costs {:.3g} % of the adapter's change (root mean squares {:.3g} of {:.3g})",
           100 * cost.error / cost.change, cost.error, cost.change);
  inform("wrote {}", a.output);
}

void unmerge(const AdapterArguments& a) {
  unmerge_adapters(path_of(a), a.output, a.type);
  inform("wrote {}", a.output);
}

void info(const AdapterArguments& a) {
  for (const std::string& directory : a.adapters) {
    const Adapter adapter((std::filesystem::path(directory)));
    const Fields& fields = adapter.config().fields();
    Json facts = {{"adapter", directory},
                  {"kind", fields.text({"peft_type"})},
                  {"base", fields.json().value("base_model_name_or_path", Json())},
                  {"task", fields.json().value("task_type", Json())},
                  {"numbers", adapter.size()}};
    for (const char* name :
         {"r", "lora_alpha", "use_rslora", "use_dora", "lora_bias", "bias", "target_modules",
          "feedforward_modules", "num_virtual_tokens", "modules_to_save"})
      if (fields.json().contains(name)) facts[name] = fields.json()[name];
    if (a.json) {
      std::cout << facts.dump() << "\n";
      continue;
    }
    for (const auto& [name, value] : facts.items())
      std::cout << fmt::format("{:<20} {}\n", name,
                               value.is_string() ? value.get<std::string>() : value.dump());
  }
}

}  // namespace

int adapter(int argc, char** argv) {
  AdapterArguments a;
  Parser parser("adapter",
                "Works with adapter files (LoRA, DoRA, IA3, prefixes, prompts) in peft's format. `attend "
                "train --lora` makes them, and --adapter uses them wherever a model is named.",
                "attend adapter merge gpt2 gpt2-lora --output gpt2-tuned\n"
                "  attend adapter merge gpt2 one=0.5 other=0.5 --output both --type float16\n"
                "  attend adapter info gpt2-lora");
  parser.app().require_subcommand(1);
  void (*chosen)(const AdapterArguments&) = nullptr;
  const auto add = [&](const char* name, const char* summary, void (*run)(const AdapterArguments&),
                       bool of_model) {
    CLI::App* const verb = parser.app().add_subcommand(name, summary);
    if (of_model) {
      verb->add_option("model", a.model, "The model directory")->required();
      verb->add_option("--output", a.output, "The directory to create")->required();
      verb->add_option("--type", a.type, "Type of the written weights; default: the model's")
          ->check(CLI::IsMember({"float32", "float16", "bfloat16"}));
    } else {
      verb->add_flag("--json", a.json, "Print one JSON object per adapter");
    }
    verb->add_option("adapter", a.adapters,
                     of_model ? "Adapters, as DIR or DIR=WEIGHT" : "Directories of adapters")
        ->required();
    verb->fallthrough();
    verb->callback([&chosen, run] { chosen = run; });
  };
  add("merge", "Merges adapters into a model's weights, and reports the rounding error", merge, true);
  add("unmerge", "Removes adapters from weights that they were merged into", unmerge, true);
  add("info", "Describes adapters", info, false);
  if (const auto status = parser.parse(argc, argv)) return *status;
  chosen(a);
  return 0;
}

}  // namespace attend::cli
