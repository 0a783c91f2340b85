// A model as it lies in a Hugging Face directory: its config, its family, its network with weights.
#pragma once

#include "formats/model_directory.h"
#include "models/family.h"
#include "models/labels.h"
#include "nn/spec_dropout.h"
#include "nn/transformer.h"

#include <functional>
#include <map>

namespace attend {

class Adapter;

enum class Purpose {
  inference,  // weights are read-only and may lie in the mapped file; no gradients
  training,   // weights are our own and collect gradients
};

// A head that the checkpoint does not have, or not with these labels. What is missing of it (the pooler too)
// is drawn from `seed`; what is missing of the body stays an Error.
struct FreshHead {
  std::uint64_t seed = 0;
  std::optional<Labels> labels = {};  // into config(); absent: it keeps its own
};

struct LoadOptions {
  Purpose purpose = Purpose::inference;
  std::string architecture = {};     // instead of the one that config.json names (see models/head.h)
  const Adapter* adapter = nullptr;  // merged into the weights
  DropoutRates dropout = {};         // of this run: config() keeps the model's own
  std::optional<FreshHead> fresh = {};
};

class Model {
 public:
  // Reads config.json and all weights. Error for a missing or misshapen tensor, with file, name, expected and
  // found; a warning for tensors nobody asked for. With `fresh`, says which weights are new.
  static Model load(const ModelDirectory& directory, const LoadOptions& options);
  static Model load(const ModelDirectory& directory, Purpose purpose) {
    return load(directory, LoadOptions{.purpose = purpose});
  }
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
  void set_weights(const Checkpoint& checkpoint, Purpose purpose);

 private:
  Model(const Family& family, Fields config, std::string architecture, const DropoutRates& dropout);
  // `other_labels`: what the checkpoint scores is not what is asked for.
  void read_weights(const Checkpoint& checkpoint, const LoadOptions& options, bool other_labels);
  std::string saved_name(const std::string& name) const;

  const Family* family_;
  Fields config_;
  Json generation_config_;
  std::string architecture_;
  Transformer network_{nullptr};
  std::vector<WeightName> table_;
};

}  // namespace attend
