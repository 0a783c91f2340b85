// A model in the layout of Hugging Face's directories, for any stored form (model_source.h): config.json,
// generation_config.json, weights, and sentence-transformers' modules.
#pragma once

#include <attend/model_path.h>

#include "formats/json/json.h"
#include "sources/model_source.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attend {

// How a sentence-transformers directory makes one vector from token states.
struct SentencePooling {
  enum class Mode { mean, cls, max, mean_sqrt_len, weighted_mean, last } mode = Mode::mean;
  bool normalize = true;
  std::optional<std::int64_t> max_length;  // in tokens, including special ones
  std::string prompt = {};                 // added before every text (config_sentence_transformers.json)
  bool lowercase = false;                  // texts are lowercased first (sentence_bert_config.json)
};

// Makes a sentence-transformers directory from a plain one, whose states have this width: modules.json,
// 1_Pooling/config.json, sentence_bert_config.json and, with a prompt, config_sentence_transformers.json.
void write_sentence_modules(const std::filesystem::path& directory, const SentencePooling& pooling,
                            std::int64_t width);
// The folders of modules with files of their own in modules.json; empty without modules.json. An Error for a
// folder outside of the directory.
std::vector<std::string> sentence_module_folders(const std::filesystem::path& directory);

class ModelDirectory {
 public:
  // An Error if it is neither a GGUF file nor a directory, or has no config.json with a JSON object. A
  // directory with an adapter (adapter_config.json) and without a model means the adapter with its base
  // model.
  explicit ModelDirectory(const ModelPath& model);

  const std::filesystem::path& path() const { return path_; }
  const Fields& config() const { return config_; }
  std::string model_type() const;                  // config.json; an Error if absent
  std::vector<std::string> architectures() const;  // config.json; empty if absent
  // generation_config.json; if absent, the generation fields of config.json (legacy), else empty.
  Json generation_config() const;
  // None without modules.json, or a pooling_type in GGUF. An Error for modules and pooling modes that
  // SentencePooling cannot express.
  std::optional<SentencePooling> sentence_pooling() const;
  // Matrices that another program quantized are decoded when they are read (foreign_weights.h).
  WeightFiles weight_files() const;
  // The adapters for the model.
  const std::vector<AdapterPath>& adapters() const { return adapters_; }
  // The format in which matrices are to be stored.
  WeightFormat weights() const { return weights_; }
  // The format in which keys and values are to be stored.
  CacheFormat cache() const { return cache_; }
  bool low_memory() const { return low_memory_; }  // whether matrices stay in the mapped file
  // ModelPath's device and engine.
  const std::string& device() const { return device_; }
  const std::string& engine() const { return engine_; }
  // The model if it is in memory already; else null.
  const std::shared_ptr<const PretrainedModel>& loaded() const { return loaded_; }

 private:
  std::vector<AdapterPath> adapters_;
  WeightFormat weights_;
  CacheFormat cache_;
  bool low_memory_;
  std::string device_, engine_;
  std::shared_ptr<const PretrainedModel> loaded_;
  std::filesystem::path path_;
  Fields config_;
};

// Another model for the device of `model`.
ModelPath on_device_of(const ModelPath& model, const std::filesystem::path& other);

}  // namespace attend
