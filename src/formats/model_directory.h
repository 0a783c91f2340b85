// A Hugging Face model directory: config.json, generation_config.json, weights (one safetensors file, or
// shards with model.safetensors.index.json; or pytorch_model.bin and its index), tokenizer files, and
// sentence-transformers' modules.json. A GGUF file (gguf_model.h) or a CTranslate2 directory
// (ctranslate2_model.h) also counts as one.
#pragma once

#include <attend/model_path.h>

#include "formats/json.h"
#include "formats/safetensors.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attend {

// All tensors of a checkpoint, from all of its files.
class WeightFiles {
 public:
  // Opens the first that exists of model.safetensors, the shards of model.safetensors.index.json,
  // pytorch_model.bin and the shards of its index. An Error if there is none, if a shard in the index is
  // missing or not in the directory, if a tensor is not in the shard that the index names, or if two shards
  // hold the same tensor. For a GGUF file, opens that; for a CTranslate2 directory, model.bin.
  static WeightFiles open(const std::filesystem::path& directory);

  // Replaces these tensors by one that is made from them; it belongs to the file of the first.
  void replace(const std::vector<std::string>& parts, const std::string& name, const TensorView& tensor);

  const TensorView* find(const std::string& name) const;
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::vector<TensorFile>& files() const { return files_; }
  // The file that holds the tensor, for error messages.
  const std::filesystem::path& file_of(const std::string& name) const;
  // Releases the memory of file pages that have been read; reading them again only costs time.
  void drop_pages() const {
    for (const TensorFile& file : files_) file.mapping().drop_pages();
  }
  // Keeps the tensor's memory alive.
  std::shared_ptr<const void> owner_of(const std::string& name) const {
    return files_[file_index_.at(name)].owner();
  }

 private:
  std::vector<TensorFile> files_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::size_t> file_index_;
};

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
  // The model if it is in memory already; else null.
  const std::shared_ptr<const PretrainedModel>& loaded() const { return loaded_; }

 private:
  std::vector<AdapterPath> adapters_;
  WeightFormat weights_;
  CacheFormat cache_;
  bool low_memory_;
  std::shared_ptr<const PretrainedModel> loaded_;
  std::filesystem::path path_;
  Fields config_;
};

}  // namespace attend
