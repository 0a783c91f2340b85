// Creates a model directory with random weights: `attend init`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attend {

struct FreshModel {
  std::string family;
  std::filesystem::path directory;
  std::filesystem::path tokenizer;    // a directory to copy the tokenizer from; empty: the one in `directory`
  std::vector<std::string> settings;  // "field=value" for config.json, "preset=NAME"
  std::uint64_t seed = 0;
};

// Writes config.json, model.safetensors and the tokenizer's files, or preprocessor_config.json for pictures.
// Returns the number of parameters. Error if a setting names a field that the family's config does not have,
// or if the directory already holds a model.
std::int64_t make_fresh_model(const FreshModel& fresh);

}  // namespace attend
