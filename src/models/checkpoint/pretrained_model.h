// A model from a Hugging Face directory: its config, its family, its network with weights.
#pragma once

#include "models/families/family.h"
#include "models/families/labels.h"
#include "models/families/tied_modules.h"
#include "nn/spec/spec_dropout.h"
#include "nn/transformer/transformer.h"
#include "sources/model_directory.h"

#include <functional>
#include <map>

namespace attend {

class Adapter;
class SharedWeights;

enum class Purpose {
  inference,  // weights are read-only, packed or in the mapped file; no gradients
  training,   // weights are copies that have gradients
};

// For a head that the checkpoint does not have, or not with these labels. Missing tensors of the head (and of
// the pooler) are drawn from `seed`; a missing tensor of the body stays an Error.
struct FreshHead {
  std::uint64_t seed = 0;
  std::optional<Labels> labels = {};  // written to config(); absent: the config keeps its own
};

// Called with the network and each of its parameters as soon as it is read.
using AfterReading = std::function<void(const Transformer&, const Tensor& parameter)>;

struct LoadOptions {
  Purpose purpose = Purpose::inference;
  std::string architecture = {};  // replaces the architecture in config.json (see models/families/head.h)
  DropoutRates dropout = {};      // for this run; config() keeps the model's own
  std::optional<FreshHead> fresh = {};
  WeightFormat weights = WeightFormat::float32;  // or the directory's, if it names another
  std::vector<std::string> keep = {};            // matrices, by checkpoint name, that stay float32 in that
                                                 // case
  bool only_adapter_learns = false;              // for training: then weights may be quantized
  CacheFormat cache = CacheFormat::automatic;    // or the directory's, if it names another
  // For inference in float32: matrices are stored only in the kernels' order, and the file is released. If
  // false, they stay in the mapped file as far as it is float32, and are packed when a product needs it. Use
  // false to read the matrices, for gradients of inputs, or to share the file with other processes.
  bool packs = true;
  // Where the weights are and the model computes; null: the directory's, if it names one, else the program's
  // memory.
  ops::Device* device = nullptr;
  // Modules that a new adapter will train whole (AdapterOptions). A module that shares a matrix with others
  // gets its own copy.
  std::vector<std::string> modules_to_save = {};
  // Factors that parameters are multiplied by as they are read, by our names; absent: none.
  std::map<std::string, Tensor> factors = {};
  AfterReading after_reading = {};  // null: nothing
};

class PretrainedModel {
 public:
  // Reads config.json and all weights, and attaches the directory's adapters. An Error for a missing tensor
  // or a wrong shape, with file, name, expected and found shape; a warning for unused tensors. With `fresh`,
  // reports which weights are new. If the directory holds a loaded model that serves(), returns that; if the
  // directory has other adapters than that model, the new one shares the weights of the checkpoint with it.
  static PretrainedModel load(const ModelDirectory& directory, const LoadOptions& options);
  static PretrainedModel load(const ModelDirectory& directory, Purpose purpose) {
    return load(directory, LoadOptions{.purpose = purpose});
  }
  // Whether load() with these options would give the same model, so that it need not be read again.
  bool serves(const LoadOptions& options) const;
  // Random weights from `seed`.
  static PretrainedModel fresh(const Fields& config, std::uint64_t seed);

  // Writes config.json, generation_config.json if there is one, and model.safetensors, each completely or not
  // at all. Creates the directory if it is missing.
  void save(const std::filesystem::path& directory, ScalarType type = kFloat) const;
  // Only config.json and generation_config.json.
  void save_config(const std::filesystem::path& directory, ScalarType type = kFloat) const;

  const Family& family() const { return *family_; }
  const Fields& config() const { return config_; }
  const Json& generation_config() const { return generation_config_; }
  const std::string& architecture() const { return architecture_; }
  // The directory that it was loaded from; for a new one its config.json.
  const std::string& source() const { return source_; }
  // The attached adapters; the index here is the adapter's index in the network (Pass::adapters).
  const std::vector<std::shared_ptr<Adapter>>& adapters() const { return adapters_; }
  // The model for texts with this adapter (-1: none; absent: all of them). It is this model, unless adapters
  // have their own modules or biases: then each such adapter, and the base, has a separate model; all share
  // every other tensor. A text's labels are those of its model's config. An Error if there is no such
  // adapter, or if two have the same module.
  const PretrainedModel& with_adapter(std::optional<std::int64_t> number) const;
  void add_adapter(std::shared_ptr<Adapter> adapter) { adapters_.push_back(std::move(adapter)); }
  void forget_adapters() {
    adapters_.clear();
    loaded_.reset();
  }
  // The modules of a head that was drawn at loading (FreshHead), by their original names.
  const std::vector<std::string>& fresh_modules() const { return fresh_modules_; }
  std::int64_t size() const;    // the number of its parameters
  ops::Device* device() const;  // of its parameters; null: the program's memory
  WeightFormat weights() const { return weights_; }
  CacheFormat cache_format() const { return cache_format_; }  // of the texts that it generates
  // Whether that is not the automatic format, so that attention over the cache rounds other numbers than a
  // pass without a cache.
  bool cache_differs() const { return cache_differs_; }
  // Copies share one network.
  Transformer network() const { return network_; }

  // The tensors that `pick` returns for our parameters (weights, gradients, averages), by their checkpoint
  // names and in the checkpoint's layout. Undefined ones and, unless `with_frozen`, frozen ones are left out.
  using Pick = std::function<Tensor(const std::string& parameter, const Tensor& weight)>;
  std::map<std::string, Tensor> by_checkpoint_name(const Pick& pick, bool with_frozen) const;
  // Puts weights, by checkpoint name, into the network, as load() does.
  void set_weights(const WeightFiles& checkpoint, Purpose purpose, const AfterReading& after_reading = {});
  // Overwrites the network's tensors with these, by checkpoint name.
  void put(const std::map<std::string, Tensor>& tensors);
  // Whether the checkpoints of this model have a tensor of this name, in any spelling.
  bool has_tensor(const std::string& name) const;
  // Whether such checkpoints may contain it, even if this model does not read it.
  bool knows(const std::string& name) const;

  // The checkpoint's tensors for our parameter, and the name of a checkpoint's tensor when this model is
  // saved.
  WeightSource source_of(std::string_view parameter) const { return find_source(table_, parameter); }
  std::string saved_name(const std::string& name) const;
  // The same in the checkpoint that this model was loaded from: if an adapter has its own copy of a shared
  // matrix, this is still the shared matrix.
  WeightSource checkpoint_source_of(const std::string& parameter) const;
  // Whether an adapter has given a module of this model its own matrix.
  bool is_untied() const { return tied_.has_value(); }

 private:
  friend class ModelLoader;
  struct Choice {
    std::shared_ptr<const PretrainedModel> model;  // null: this one
    std::string error;                             // the reason if there is no model
  };
  using Choices = std::map<std::optional<std::int64_t>, Choice>;
  // How load() made the model.
  struct Loaded {
    Choices choices = {};                              // empty: this model computes all texts
    std::vector<AdapterPath> adapters = {};            // of the directory
    std::shared_ptr<const SharedWeights> shared = {};  // what others may share; null: nothing
  };

  PretrainedModel(const Family& family, Fields config, std::string architecture, const DropoutRates& dropout,
                  const OwnsModule& owns = {});

  const Family* family_;
  Fields config_;
  Json generation_config_;
  std::string architecture_;
  Transformer network_{nullptr};
  std::vector<WeightName> table_;
  std::optional<ModelSpec> tied_;  // the spec of config.json, if an adapter has untied modules
  std::string source_;
  WeightFormat weights_ = WeightFormat::float32;
  CacheFormat cache_format_ = CacheFormat::float32;
  bool cache_differs_ = false;
  std::vector<std::shared_ptr<Adapter>> adapters_;
  std::shared_ptr<const Loaded> loaded_;  // null: it was not loaded, or has changed since
  std::vector<std::string> fresh_modules_;
};

}  // namespace attend
