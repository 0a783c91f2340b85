// A model as it lies in a Hugging Face directory: its config, its family, its network with weights.
#pragma once

#include "formats/model_directory.h"
#include "models/family.h"
#include "nn/transformer.h"

#include <functional>
#include <map>

namespace attend {

class Adapter;

enum class Purpose {
  inference,  // weights are read-only and may lie in the mapped file; no gradients
  training,   // weights are our own and collect gradients
};

class Model {
 public:
  // Reads config.json and all weights. `architecture`: instead of the one the config names (a sentence
  // embedding needs no head); `adapter`: merged into the weights. Error for a missing or misshapen tensor,
  // with file, name, expected and found; a warning for tensors nobody asked for.
  static Model load(const ModelDirectory& directory, Purpose purpose, std::string_view architecture = {},
                    const Adapter* adapter = nullptr);
  // Random weights from `seed`.
  static Model fresh(const Fields& config, std::uint64_t seed);

  // Writes config.json, generation_config.json if there is one, and model.safetensors, each complete or not
  // at all. The directory is made if it is missing.
  void save(const std::filesystem::path& directory) const;

  const Family& family() const { return *family_; }
  const Fields& config() const { return config_; }
  const Json& generation_config() const { return generation_config_; }
  const std::string& architecture() const { return architecture_; }
  // Copies of a Model share one network.
  Transformer network() const { return network_; }
  at::Device device() const { return network_->device(); }

  // The tensors that `pick` gives for our parameters (the weights themselves, gradients, averages) under
  // their checkpoint names and in the checkpoint's layout. Undefined ones and, unless `with_frozen`, frozen
  // ones are left out.
  using Pick = std::function<Tensor(const std::string& parameter, const Tensor& weight)>;
  std::map<std::string, Tensor> by_checkpoint_name(const Pick& pick, bool with_frozen) const;
  // Weights by checkpoint name into the network, as load() does.
  void set_weights(const Checkpoint& checkpoint, Purpose purpose, const Adapter* adapter = nullptr);

 private:
  Model(const Family& family, Fields config, std::string architecture);
  std::string saved_name(const std::string& name) const;

  const Family* family_;
  Fields config_;
  Json generation_config_;
  std::string architecture_;
  Transformer network_{nullptr};
  std::vector<WeightName> table_;
};

}  // namespace attend
