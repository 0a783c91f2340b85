// A Hugging Face model directory: config.json, generation_config.json, weights (one safetensors file, or
// shards with model.safetensors.index.json; or pytorch_model.bin and its index), tokenizer files, and
// sentence-transformers' modules.json. A GGUF file (gguf_model.h) or a CTranslate2 directory
// (ctranslate2_model.h) is accepted as one.
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

// All tensors of a checkpoint, whatever files they lie in.
class WeightFiles {
 public:
  // The first that is there of model.safetensors, the shards of model.safetensors.index.json,
  // pytorch_model.bin and the shards of its index. Error if there is none, a shard named by the index is
  // missing or does not lie in the directory, a tensor is not in the shard the index names, or two shards
  // hold the same tensor. Of a GGUF file: that one. Of CTranslate2's directory: model.bin.
  static WeightFiles open(const std::filesystem::path& directory);

  // Takes these tensors out and puts one in that is made of them and lies with the first.
  void replace(const std::vector<std::string>& parts, const std::string& name, const TensorView& tensor);

  const TensorView* find(const std::string& name) const;
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::vector<TensorFile>& files() const { return files_; }
  // The file that holds the tensor, for error messages.
  const std::filesystem::path& file_of(const std::string& name) const;
  // Gives back the memory of what has been read of the files; reading it again costs only time.
  void drop_pages() const {
    for (const TensorFile& file : files_) file.mapping().drop_pages();
  }
  // What keeps the tensor's memory.
  std::shared_ptr<const void> owner_of(const std::string& name) const {
    return files_[file_index_.at(name)].owner();
  }

 private:
  std::vector<TensorFile> files_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::size_t> file_index_;
};

// How a sentence-transformers directory turns token states into one vector.
struct SentencePooling {
  enum class Mode { mean, cls, max, mean_sqrt_len, weighted_mean, last } mode = Mode::mean;
  bool normalize = true;
  std::optional<std::int64_t> max_length;  // in tokens, special ones too
  std::string prompt = {};                 // put before every text (config_sentence_transformers.json)
  bool lowercase = false;                  // texts are lower-cased first (sentence_bert_config.json)
};

// Makes a sentence-transformers directory of a plain one, whose states are `width` wide: modules.json,
// 1_Pooling/config.json, sentence_bert_config.json and, with a prompt, config_sentence_transformers.json.
void write_sentence_modules(const std::filesystem::path& directory, const SentencePooling& pooling,
                            std::int64_t width);
// The folders of the modules that modules.json names, which hold something of their own; none without it.
// Error for one that does not lie in the directory.
std::vector<std::string> sentence_module_folders(const std::filesystem::path& directory);

class ModelDirectory {
 public:
  // Error if it is neither a GGUF file nor a directory, or holds no config.json with a JSON object. A
  // directory that holds an adapter (adapter_config.json) and no model of its own stands for the model that
  // it was made for, with it.
  explicit ModelDirectory(const ModelPath& model);

  const std::filesystem::path& path() const { return path_; }
  const Fields& config() const { return config_; }
  std::string model_type() const;                  // config.json; error if absent
  std::vector<std::string> architectures() const;  // config.json; empty if absent
  // generation_config.json; where absent, the generation fields of config.json (legacy), else empty.
  Json generation_config() const;
  // Nothing without modules.json, or a pooling_type in GGUF. Error for modules and ways to pool that
  // SentencePooling cannot say.
  std::optional<SentencePooling> sentence_pooling() const;
  // Matrices that another program stored in fewer bits are decoded when they are read (foreign_weights.h).
  WeightFiles weight_files() const;
  // What lies beside its weights.
  const std::vector<AdapterPath>& adapters() const { return adapters_; }
  // How its matrices are to be kept.
  WeightFormat weights() const { return weights_; }
  // How its keys and values are to be kept.
  CacheFormat cache() const { return cache_; }
  bool low_memory() const { return low_memory_; }  // are they to stay in the file?
  // The model, if it is in memory already; else null.
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
