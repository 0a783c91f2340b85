// Makes models from a directory: its config, the adapters' configs, and a model for each choice of adapters.
#include "base/log.h"
#include "models/adapters/adapter.h"
#include "models/checkpoint/found_architecture.h"
#include "models/checkpoint/network_filler.h"
#include "models/checkpoint/quantized.h"
#include "models/families/generates.h"
#include "models/families/head.h"
#include "tensor/load_device.h"

#include <algorithm>
#include <numeric>

namespace attend {
namespace {

// Whether the labels of a checkpoint's config.json differ from `wanted`. Labels without names can be any, if
// there are equally many.
bool differ(const Fields& config, const std::vector<std::string>& wanted) {
  const std::vector<std::string> own = read_labels(config);
  if (own.size() != wanted.size()) return true;
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i] != wanted[i] && own[i] != fmt::format("LABEL_{}", i)) return true;
  return false;
}

Fields with_labels(const Fields& config, const std::optional<FreshHead>& fresh) {
  if (!fresh || !fresh->labels) return config;
  Json changed = config.json();
  set_labels(changed, *fresh->labels);
  return Fields(changed, config.source());
}

// If the file has no pooler, the body has none either; models for vectors of texts or pictures are often
// stored that way (DINO's ViT). The original would draw one at random.
Fields without_missing_pooler(const Family& family, const Fields& config, const std::string& architecture,
                              const WeightFiles& checkpoint) {
  const bool known = std::ranges::find(family.architectures, architecture) != family.architectures.end();
  if (!known || !has_head(architecture, Head::body) || checkpoint.files().empty()) return config;
  const ModelSpec spec = family.spec(config, architecture);
  if (!spec.pooler) return config;
  const std::string weight = find_source(family.weights(spec), "pooler.dense.weight").names.front();
  for (const std::string& spelling : spellings(weight, family.prefix)) {
    // in any stored format of its weight
    const std::string module = spelling.substr(0, spelling.rfind('.') + 1);
    for (const auto& [name, view] : checkpoint.tensors())
      if (name.starts_with(module)) return config;
  }
  Json changed = config.json();
  changed["add_pooling_layer"] = false;
  return Fields(changed, config.source());
}

// Fills in the directory's formats if the caller gives none.
LoadOptions completed(const ModelDirectory& directory, LoadOptions options) {
  if (options.weights == WeightFormat::float32) options.weights = directory.weights();
  if (options.cache == CacheFormat::automatic) options.cache = directory.cache();
  if (options.device == nullptr) options.device = ops::find_device(directory.device(), directory.engine());
  // A device multiplies the matrices as they are.
  options.packs = options.packs && !directory.low_memory() && options.device == nullptr;
  const WeightFormat stored = stored_format(directory.config());
  if (stored != WeightFormat::float32) {
    if (options.weights != WeightFormat::float32 && options.weights != stored)
      fail("{}: its weights are stored as {} and cannot be converted to {}", directory.path().string(),
           name(stored), name(options.weights));
    options.weights = stored;
    options.keep = stored_exceptions(directory.config());
  }
  if (options.weights != WeightFormat::float32 && options.device != nullptr)
    fail("{}: {} weights are for the CPU; {} computes in float32", directory.path().string(),
         name(options.weights), options.device->name());
  if (options.weights != WeightFormat::float32 && options.purpose == Purpose::training &&
      !options.only_adapter_learns)
    fail(
        "{}: {} weights cannot be trained, except with an adapter (attend train --lora); other training, "
        "gradients, and merging adapters need float32",
        directory.path().string(), name(options.weights));
  return options;
}

// If an adapter brings a head over labels, the rows of its matrix give the number of labels, not the base.
Fields with_labels_of(const std::vector<std::shared_ptr<Adapter>>& adapters, const Family& family,
                      const Fields& config, const std::string& architecture) {
  const bool known = std::ranges::find(family.architectures, architecture) != family.architectures.end();
  if (adapters.empty() || !known) return config;
  const ModelSpec spec = family.spec(config, architecture);
  if (!spec.score_head || !spec.score_head->last_matrix ||
      (spec.score_head->kind != ScoreKind::sequence_classification &&
       spec.score_head->kind != ScoreKind::token_classification))
    return config;
  const std::string matrix = find_source(family.weights(spec), "score_head.out.weight").names.front();
  for (const auto& adapter : adapters) {
    const Tensor own = adapter->replacement(spellings(matrix, family.prefix));
    if (!own.defined() || own.dim() != 2 || own.size(0) == spec.score_head->labels) continue;
    Labels labels{{}, spec.score_head->problem};
    for (std::int64_t i = 0; i < own.size(0); ++i) labels.names.push_back(fmt::format("LABEL_{}", i));
    Json changed = config.json();
    set_labels(changed, labels);
    return Fields(changed, config.source());
  }
  return config;
}

// A tensor that two of the adapters have; empty: there is none.
std::string conflict(const std::vector<std::shared_ptr<Adapter>>& adapters) {
  for (std::size_t i = 0; i < adapters.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      for (const std::string& name : adapters[i]->replaced())
        if (adapters[j]->replacement({name}).defined())
          return fmt::format("{} and {} each have their own {} (modules_to_save or bias)",
                             adapters[j]->source(), adapters[i]->source(), name);
  return {};
}

}  // namespace

class ModelLoader {
 public:
  // `other`: a model of the same checkpoint, whose weights are shared where possible; or null.
  ModelLoader(const ModelDirectory& directory, const LoadOptions& options, const PretrainedModel* other)
      : directory_(directory),
        options_(completed(directory, options)),
        checkpoint_(directory.weight_files()),
        family_(find_family(directory.config())) {
    for (const AdapterPath& path : directory.adapters())
      adapters_.push_back(std::make_shared<Adapter>(path.directory));
    if (other != nullptr && other->loaded_ && other->loaded_->shared && other->weights_ == options_.weights &&
        other->source_ == directory.path().string())
      shared_ = *other->loaded_->shared;
  }

  PretrainedModel load() {
    check_blocks();
    const bool in_place = options_.purpose == Purpose::training || options_.fresh;
    std::string together = conflict(adapters_);  // the reason why they cannot be used together
    if (in_place && !together.empty()) fail("{}: only one of them can replace the model's", together);
    PretrainedModel model = in_place ? read(directory_.config(), all()) : read_together(together);
    if (options_.purpose == Purpose::training)
      for (const auto& adapter : adapters_) adapter->train(model);
    PretrainedModel::Loaded loaded{.adapters = directory_.adapters()};
    if (std::ranges::any_of(adapters_, [](const auto& each) { return each->replaces(); }))
      loaded.choices = in_place ? choices_in_place() : choices(together);
    if (!in_place) loaded.shared = std::make_shared<const SharedWeights>(shared_.of_checkpoint());
    model.loaded_ = std::make_shared<const PretrainedModel::Loaded>(std::move(loaded));
    return model;
  }

 private:
  std::vector<std::size_t> all() const {
    std::vector<std::size_t> numbers(adapters_.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }
  // The model with all adapters; with only the first if they cannot be used together, and then sets `error`.
  PretrainedModel read_together(std::string& error);
  // The model with these adapters.
  PretrainedModel read(const Fields& given, const std::vector<std::size_t>& numbers);
  void choose_cache(PretrainedModel& model) const;
  void check_blocks() const;
  // `together`: why no text can have all adapters, or empty.
  PretrainedModel::Choices choices(const std::string& together);
  PretrainedModel::Choices choices_in_place() const;
  // The config of the model with only these adapters, or of the base without any.
  Fields config_with(const std::vector<AdapterPath>& adapters) const {
    return ModelDirectory(ModelPath(directory_.path(), adapters)).config();
  }

  const ModelDirectory& directory_;
  LoadOptions options_;
  WeightFiles checkpoint_;
  const Family& family_;
  std::vector<std::shared_ptr<Adapter>> adapters_;
  SharedWeights shared_;
};

// Weights as blocks are those of the file.
void ModelLoader::check_blocks() const {
  const auto has_groups = [](const auto& tensor) { return tensor.second.code && tensor.second.code->groups; };
  if (options_.weights == WeightFormat::blocks && std::ranges::none_of(checkpoint_.tensors(), has_groups))
    fail(
        "{}: weights as blocks: expected a GGUF file with integers (Q8_0, Q4_0, Q4_K_M, ...), found none; "
        "use int8",
        directory_.path().string());
}

PretrainedModel ModelLoader::read(const Fields& given, const std::vector<std::size_t>& numbers) {
  std::vector<std::shared_ptr<Adapter>> present;
  for (const std::size_t i : numbers) present.push_back(adapters_[i]);
  const std::vector<std::string> named = given.texts({"architectures"});
  std::string chosen = options_.architecture;
  if (chosen.empty())
    chosen = named.empty() ? found_architecture(family_, given, checkpoint_, present) : named.front();
  const Fields config = with_labels(given, options_.fresh);
  const OwnsModule owns = [&](const std::string& module) {
    return is_named_by(options_.modules_to_save, module) ||
           std::ranges::any_of(present, [&](const auto& each) { return each->config().is_saved(module); });
  };
  PretrainedModel model(
      family_,
      options_.fresh ? config
                     : with_labels_of(present, family_,
                                      without_missing_pooler(family_, config, chosen, checkpoint_), chosen),
      chosen, options_.dropout, owns);
  model.generation_config_ = directory_.generation_config();
  model.source_ = directory_.path().string();
  model.weights_ = options_.weights;
  model.adapters_ = adapters_;
  choose_cache(model);
  const bool other_head = !named.empty() && named.front() != chosen;
  const bool other_labels = options_.fresh && options_.fresh->labels &&
                            (other_head || differ(given, options_.fresh->labels->names));
  std::vector<std::string> fresh;
  try {
    fresh = NetworkFiller(model, checkpoint_, options_, present, shared_).fill(other_labels);
  } catch (const Error& error) {
    if (!named.empty() || !options_.architecture.empty()) throw;
    fail("{} (config.json names no architecture, so it is loaded as {})", error.what(), chosen);
  }
  for (const std::string& name : fresh) {
    const std::string module = model.saved_name(name.substr(0, name.rfind('.')));
    if (std::ranges::find(model.fresh_modules_, module) == model.fresh_modules_.end())
      model.fresh_modules_.push_back(module);
  }
  if (options_.device != nullptr) {
    const Unrecorded unrecorded;
    for (const Tensor& weight : model.network_->parameters()) weight.set_data(weight.on(options_.device));
  }
  for (const std::size_t i : numbers)
    adapters_[i]->attach(model, static_cast<std::int64_t>(i), directory_.adapters()[i].share);
  if (options_.purpose == Purpose::inference && options_.packs)
    model.network_->prepare([&] { checkpoint_.drop_pages(); });
  return model;
}

void ModelLoader::choose_cache(PretrainedModel& model) const {
  const Transformer network = model.network();
  const bool generates = network->decoder && network->language_model_head,
             rounds = attends_in_bfloat16(options_.weights) && options_.device == nullptr;
  const CacheFormat automatic =
      rounds && generates && !lacks_kv_cache(network->spec()) ? CacheFormat::bfloat16 : CacheFormat::float32;
  model.cache_format_ = options_.cache == CacheFormat::automatic ? automatic : options_.cache;
  model.cache_differs_ = model.cache_format_ != automatic;
  if (model.cache_format_ != CacheFormat::float32 && !generates)
    fail("{}: {} has no KV cache that could be {}", model.source(), model.architecture(),
         name(model.cache_format_));
}

PretrainedModel ModelLoader::read_together(std::string& error) {
  try {
    if (error.empty() || adapters_.size() < 2) return read(directory_.config(), all());
  } catch (const Error& own) {
    const bool alone = adapters_.size() < 2 ||
                       std::ranges::none_of(adapters_, [](const auto& each) { return each->replaces(); });
    if (alone) throw;
    error = own.what();
  }
  return read(config_with({directory_.adapters().front()}), {0});
}

PretrainedModel::Choices ModelLoader::choices(const std::string& together) {
  PretrainedModel::Choices all;
  all[std::nullopt] = {
      nullptr,
      together.empty()
          ? ""
          : together + ": say which adapter a text is for (`adapter_of`; in a request, \"adapter\")"};
  const auto made = [&](const std::vector<AdapterPath>& paths, const std::vector<std::size_t>& numbers) {
    try {
      return PretrainedModel::Choice{
          std::make_shared<const PretrainedModel>(read(config_with(paths), numbers)), {}};
    } catch (const Error& error) {  // a base without the head that its adapters bring
      return PretrainedModel::Choice{nullptr, error.what()};
    }
  };
  std::vector<std::size_t> beside;  // adapters that leave the base's modules unchanged
  for (std::size_t i = 0; i < adapters_.size(); ++i)
    if (!adapters_[i]->replaces()) beside.push_back(i);
  const PretrainedModel::Choice base = made({}, beside);
  all[-1] = base;
  for (std::size_t i = 0; i < adapters_.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    if (!adapters_[i]->replaces())
      all[number] = base;
    else if (adapters_.size() > 1)
      all[number] = made({directory_.adapters()[i]}, {i});
    else
      all[number] = {};
  }
  return all;
}

PretrainedModel::Choices ModelLoader::choices_in_place() const {
  PretrainedModel::Choices all{{std::nullopt, {}}};
  const std::string error = fmt::format(
      "{}: expected texts with all of its adapters, because in training their modules and biases replace the "
      "model's",
      directory_.path().string());
  for (std::int64_t number = -1; number < std::ssize(adapters_); ++number)
    all[number] = {nullptr, number == 0 && adapters_.size() == 1 ? "" : error};
  return all;
}

PretrainedModel PretrainedModel::load(const ModelDirectory& directory, const LoadOptions& options) {
  const std::shared_ptr<const PretrainedModel>& loaded = directory.loaded();
  const bool serves = loaded != nullptr && loaded->serves(options);
  const auto is_same = [](const AdapterPath& a, const AdapterPath& b) {
    return a.directory == b.directory && a.share == b.share;
  };
  if (serves &&
      (!loaded->loaded_ || std::ranges::equal(loaded->loaded_->adapters, directory.adapters(), is_same)))
    return *loaded;
  const ErrorScope scope(ErrorKind::model);
  return ModelLoader(directory, options, serves ? loaded.get() : nullptr).load();
}

}  // namespace attend
