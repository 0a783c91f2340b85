// A model from a Hugging Face directory: its config, its family, its network with weights.
#pragma once

#include "formats/model_directory.h"
#include "models/family.h"
#include "models/labels.h"
#include "models/tied_modules.h"
#include "nn/spec_dropout.h"
#include "nn/transformer.h"

#include <functional>
#include <map>

namespace attend {

class Adapter;
class SharedWeights;

enum class Purpose {
  inference,  // weights are read-only, packed or in the mapped file; no gradients
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
  std::string architecture = {};  // instead of the one that config.json names (see models/head.h)
  DropoutRates dropout = {};      // of this run: config() keeps the model's own
  std::optional<FreshHead> fresh = {};
  WeightFormat weights = WeightFormat::float32;  // or the directory's, if that says another
  std::vector<std::string> keep = {};            // matrices, by checkpoint name, that stay float32 then
  bool only_adapter_learns = false;              // of training: then weights may be in fewer bits
  CacheFormat cache = CacheFormat::float32;      // or the directory's, likewise
  // Of inference in float32: matrices are kept in the kernels' order alone and the file is let go. Otherwise
  // they stay where they lie, in the mapped file as far as it has float32, and are packed where a product
  // wants it: for whoever reads them, needs gradients of inputs, or shares the file with other processes.
  bool packs = true;
  // Modules that a new adapter is to have whole (AdapterOptions): one of several that are one matrix gets a
  // matrix of its own.
  std::vector<std::string> modules_to_save = {};
  // What parameters are multiplied by as they are read, by our names; absent: nothing.
  std::map<std::string, Tensor> factors = {};
};

class PretrainedModel {
 public:
  // Reads config.json and all weights, and puts the directory's adapters beside them. Error for a missing or
  // misshapen tensor, with file, name, expected and found; a warning for tensors nobody asked for. With
  // `fresh`, says which weights are new. A model that the directory has in memory is taken where it serves;
  // if the directory has other adapters than that model, the new one shares the weights of the checkpoint
  // with it.
  static PretrainedModel load(const ModelDirectory& directory, const LoadOptions& options);
  static PretrainedModel load(const ModelDirectory& directory, Purpose purpose) {
    return load(directory, LoadOptions{.purpose = purpose});
  }
  // Would load() with these give the same model? Then whoever has it need not read it again.
  bool serves(const LoadOptions& options) const;
  // Random weights from `seed`.
  static PretrainedModel fresh(const Fields& config, std::uint64_t seed);

  // Writes config.json, generation_config.json if there is one, and model.safetensors, each complete or not
  // at all. The directory is made if it is missing.
  void save(const std::filesystem::path& directory, ScalarType type = kFloat) const;
  // config.json and generation_config.json alone.
  void save_config(const std::filesystem::path& directory, ScalarType type = kFloat) const;

  const Family& family() const { return *family_; }
  const Fields& config() const { return config_; }
  const Json& generation_config() const { return generation_config_; }
  const std::string& architecture() const { return architecture_; }
  // Where it was loaded from; for a fresh one its config.json.
  const std::string& source() const { return source_; }
  // What lies beside the weights; an adapter's place here is its number in the network (Pass::adapters).
  const std::vector<std::shared_ptr<Adapter>>& adapters() const { return adapters_; }
  // The model that computes texts with this one of the adapters (-1: none; absent: with all of them). It is
  // this one, unless adapters have modules or biases of their own: then each such adapter has a model with
  // these in the place of the base's, and the base is one of its own; all share every other tensor. A text's
  // labels are those of its model's config. Error if there is none, or more than one has the same module.
  const PretrainedModel& with_adapter(std::optional<std::int64_t> number) const;
  void add_adapter(std::shared_ptr<Adapter> adapter) { adapters_.push_back(std::move(adapter)); }
  void forget_adapters() {
    adapters_.clear();
    loaded_.reset();
  }
  // The modules of a head that was drawn at loading (FreshHead), by their original names.
  const std::vector<std::string>& fresh_modules() const { return fresh_modules_; }
  std::int64_t size() const;  // how many numbers its weights are
  WeightFormat weights() const { return weights_; }
  CacheFormat cache_format() const { return cache_format_; }  // of the texts that it makes
  // Copies share one network.
  Transformer network() const { return network_; }

  // The tensors that `pick` gives for our parameters (the weights themselves, gradients, averages) under
  // their checkpoint names and in the checkpoint's layout. Undefined ones and, unless `with_frozen`, frozen
  // ones are left out.
  using Pick = std::function<Tensor(const std::string& parameter, const Tensor& weight)>;
  std::map<std::string, Tensor> by_checkpoint_name(const Pick& pick, bool with_frozen) const;
  // Weights by checkpoint name into the network, as load() does.
  void set_weights(const WeightFiles& checkpoint, Purpose purpose);
  // Writes these tensors, by checkpoint name, over those of the network.
  void put(const std::map<std::string, Tensor>& tensors);
  // Is there a tensor of this name, under any spelling, in the checkpoints of this model?
  bool has_tensor(const std::string& name) const;
  // Is it one that such checkpoints may have, whether this model reads it or not?
  bool knows(const std::string& name) const;

  // Where our parameter lies in a checkpoint, and what a tensor from there is called where this model is
  // saved.
  WeightSource source_of(std::string_view parameter) const { return find_source(table_, parameter); }
  std::string saved_name(const std::string& name) const;
  // Where it lies in the checkpoint that this model was loaded from: there a matrix that an adapter has made
  // a module's own is still the one that it is a copy of.
  WeightSource checkpoint_source_of(const std::string& parameter) const;
  // Has an adapter given a module of this model a matrix of its own?
  bool is_untied() const { return tied_.has_value(); }

 private:
  friend class ModelLoader;
  struct Choice {
    std::shared_ptr<const PretrainedModel> model;  // null: this one
    std::string error;                             // why there is none
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
  std::optional<ModelSpec> tied_;  // as config.json has it, where an adapter has untied modules
  std::string source_;
  WeightFormat weights_ = WeightFormat::float32;
  CacheFormat cache_format_ = CacheFormat::float32;
  std::vector<std::shared_ptr<Adapter>> adapters_;
  std::shared_ptr<const Loaded> loaded_;  // null: it was not loaded, or has changed since
  std::vector<std::string> fresh_modules_;
};

}  // namespace attend
