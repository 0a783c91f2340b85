// Which model to load, with which adapters and number formats.
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

inline namespace v1 {

// A peft adapter (LoRA, IA3, ...): a directory with adapter_config.json.
struct AdapterPath {
  std::filesystem::path directory;
  double share = 1;  // its weight: a factor on what the adapter adds
};

// A model directory, optionally with adapters, which are applied in order.
struct ModelPath {
  ModelPath() = default;
  ModelPath(const char* path) : directory(path) {}
  ModelPath(const std::string& path) : directory(path) {}
  ModelPath(std::filesystem::path path) : directory(std::move(path)) {}
  ModelPath(std::filesystem::path path, std::vector<AdapterPath> its)
      : directory(std::move(path)), adapters(std::move(its)) {}

  std::filesystem::path directory;
  std::vector<AdapterPath> adapters = {};
  std::shared_ptr<const PretrainedModel> loaded = {};  // set by Model: the loaded model itself
  WeightFormat weights = WeightFormat::float32;        // format of matrices that are not trained
  CacheFormat cache = CacheFormat::automatic;          // format of the KV cache
  // Keep float32 weights in the mapped file and read them from there for every product. Processes that use
  // the same model share the memory. Slower, especially with few rows.
  bool low_memory = false;
  // Where the model computes: "cpu", "cuda" (the first GPU), "cuda:1", or "auto" (a GPU if there is one);
  // empty: what the environment variable ATTEND_DEVICE says, else "cpu". Anything but "cpu" needs the module
  // attend-torch and a libtorch.
  std::string device = {};
  // On the CPU: "attend", or "torch", which computes with libtorch as on a GPU; empty: ATTEND_ENGINE, else
  // "attend".
  std::string engine = {};
};

}  // namespace v1
}  // namespace attend
