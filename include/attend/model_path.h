// Where a model lies, and what is put beside its weights.
#pragma once

#include <attend/cache_format.h>
#include <attend/weight_format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attend {

class PretrainedModel;

// An adapter of peft's (LoRA, IA3, ...): a directory with adapter_config.json.
struct AdapterPath {
  std::filesystem::path directory;
  double share = 1;  // what it adds is times this
};

// A path to a model directory says it all; with adapters, all of them count, one after the other.
struct ModelPath {
  ModelPath() = default;
  ModelPath(const char* path) : directory(path) {}
  ModelPath(const std::string& path) : directory(path) {}
  ModelPath(std::filesystem::path path) : directory(std::move(path)) {}
  ModelPath(std::filesystem::path path, std::vector<AdapterPath> its)
      : directory(std::move(path)), adapters(std::move(its)) {}

  std::filesystem::path directory;
  std::vector<AdapterPath> adapters = {};
  std::shared_ptr<const PretrainedModel> loaded = {};  // the model itself, where a Model stands for its path
  WeightFormat weights = WeightFormat::float32;        // of matrices that do not learn
  CacheFormat cache = CacheFormat::float32;            // of keys and values, where texts grow from a cache
  // float32 stays in the file, whose pages all processes that run the model share, and is read from there for
  // every product: slower, most of all for few rows.
  bool low_memory = false;
};

}  // namespace attend
