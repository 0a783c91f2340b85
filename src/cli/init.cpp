// attend init FAMILY DIR: creates a model directory with random weights.
#include "base/error.h"
#include "base/log.h"
#include "cli/options/verb.h"
#include "models/derived/fresh.h"
#include "models/families/family.h"

#include <filesystem>

#include <fmt/ranges.h>

namespace attend::cli {
namespace {

std::string families_with_presets() {
  std::vector<std::string> all;
  for (const Family* family : families())
    all.push_back(fmt::format("{} ({})", family->model_type, fmt::join(family->presets, ", ")));
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

int init(int argc, char** argv) {
  FreshModel fresh;
  Parser parser("init",
                "Creates a model directory with random weights. The vocabulary size and the special tokens "
                "come from the tokenizer (--tokenizer, or one already in the directory).",
                "attend init marian en-de --tokenizer en-de --set preset=transformer-tiny --set dropout=0.2");
  parser.app()
      .add_option("family", fresh.family,
                  "The model type. The first preset of each is the default: " + families_with_presets())
      ->required();
  parser.app().add_option("directory", fresh.directory, "The directory to create")->required();
  parser.app().add_option("--tokenizer", fresh.tokenizer, "Directory of a tokenizer to copy");
  parser.app()
      .add_option("--set", fresh.settings, "field=value for config.json, or preset=NAME; may be repeated")
      ->allow_extra_args(false);
  parser.app().add_option("--seed", fresh.seed, "Seed of the random weights");
  if (const auto status = parser.parse(argc, argv)) return *status;

  const std::int64_t parameters = make_fresh_model(fresh);
  inform("wrote {} with {:.2f} million parameters", fresh.directory.string(),
         static_cast<double>(parameters) / 1e6);
  return 0;
}

}  // namespace attend::cli
