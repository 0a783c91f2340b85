// A directory as transformers' save_pretrained() writes it.
#pragma once

#include "sources/model_source.h"

namespace attend {

class HuggingFaceSource : public ModelSource {
 public:
  explicit HuggingFaceSource(std::filesystem::path directory) : ModelSource(std::move(directory)) {}

  Json config() const override;
  bool has_weights() const override;
  // Opens the first that exists of model.safetensors, the shards of model.safetensors.index.json,
  // pytorch_model.bin and the shards of its index. An Error if there is none, if a shard in the index is
  // missing or not in the directory, if a tensor is not in the shard that the index names, or if two shards
  // hold the same tensor.
  WeightFiles weight_files() const override;
  Json tokenizer_config() const override;
  std::string missing_tokenizer() const override;
};

}  // namespace attend
