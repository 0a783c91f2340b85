// The model of a verb, and its adapters.
#pragma once

#include <attend/model_path.h>

#include <cstdint>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>

namespace attend::cli {

// DIR or DIR=SHARE.
AdapterPath read_adapter(const std::string& given);
// The argument MODEL, and --adapter DIR or --adapter DIR=SHARE, any number of times.
void add_model(CLI::App& app, ModelPath& model);
// Only the options: --weights, --low-memory, --device, --engine, --adapter.
void add_model_options(CLI::App& app, ModelPath& model);
// --weights.
void add_weights(CLI::App& app, ModelPath& model, const char* help);
// --device and --engine.
void add_device(CLI::App& app, ModelPath& model);
// --cache, for verbs that use a KV cache.
void add_cache(CLI::App& app, ModelPath& model);
void add_adapters(CLI::App& app, std::vector<AdapterPath>& adapters);

// --adapter-of: the adapter of each text.
class AdapterOf {
 public:
  void add(CLI::App& app);
  // Throws Error unless there is one index per text, or one for all.
  void check(std::size_t texts) const;
  // The adapter of a text, with its index from 0; absent: all of them.
  std::optional<std::int64_t> operator[](std::size_t text) const;

 private:
  std::vector<std::int64_t> numbers_;
};

}  // namespace attend::cli
