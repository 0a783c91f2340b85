#include "models/pretrained_model.h"

#include "base/log.h"
#include "models/adapter.h"
#include "models/found_architecture.h"
#include "models/head.h"
#include "models/quantized.h"
#include "models/tensors.h"
#include "models/weight_layout.h"
#include "models/weight_reader.h"
#include "nn/initialize.h"

#include <algorithm>
#include <set>

namespace attend {
namespace {

// Is a parameter one of a head (ViT's mask token serves one too) rather than of the body?
bool is_of_head(std::string_view parameter) {
  for (std::string_view part :
       {"language_model_head.", "pooler.", "score_head.", "span_search.", "pixel_head."})
    if (parameter.starts_with(part)) return true;
  return parameter == "encoder.patches.mask";
}

// Does what a checkpoint scores, by its config.json, differ from `wanted`? Labels that were never named may
// be any of as many.
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

// A body whose file holds no pooler goes without, as those that were made for vectors of texts or pictures do
// (DINO's ViT). The original would draw one at random.
Fields without_missing_pooler(const Family& family, const Fields& config, const std::string& architecture,
                              const WeightFiles& checkpoint) {
  const bool known = std::ranges::find(family.architectures, architecture) != family.architectures.end();
  if (!known || !has_head(architecture, Head::body) || checkpoint.files().empty()) return config;
  const ModelSpec spec = family.spec(config, architecture);
  if (!spec.pooler) return config;
  const std::string weight = find_source(family.weights(spec), "pooler.dense.weight").names.front();
  for (const std::string& spelling : spellings(weight, family.prefix)) {
    const std::string module = spelling.substr(0, spelling.rfind('.') + 1);  // however its weight is kept
    for (const auto& [name, view] : checkpoint.tensors())
      if (name.starts_with(module)) return config;
  }
  Json changed = config.json();
  changed["add_pooling_layer"] = false;
  return Fields(changed, config.source());
}

}  // namespace

PretrainedModel::PretrainedModel(const Family& family, Fields config, std::string architecture,
                                 const DropoutRates& dropout)
    : family_(&family), config_(std::move(config)), architecture_(std::move(architecture)) {
  if (std::find(family.architectures.begin(), family.architectures.end(), architecture_) ==
      family.architectures.end())
    fail("{}: architectures: {} is not supported for {}; these are: {}", config_.source(), architecture_,
         family.model_type, fmt::join(family.architectures, ", "));
  ModelSpec spec = family.spec(config_, architecture_);
  if (has_head(architecture_, Head::body) && !config_.flag({"add_pooling_layer"}, true)) spec.pooler = false;
  set_dropout(spec, dropout);
  table_ = family.weights(spec);
  try {
    // Only address space so far: memory is used when weights are written.
    network_ = Transformer(spec);
  } catch (const c10::Error&) {
    std::pair<std::int64_t, std::string> largest;
    for (const auto& [field, value] : config_.json().items())
      if (value.is_number_integer()) largest = std::max(largest, {value.get<std::int64_t>(), field});
    fail("{}: a model of these sizes (the largest is {}, {}) does not fit into this machine's memory",
         config_.source(), largest.second, largest.first);
  }
}

bool PretrainedModel::serves(const LoadOptions& options) const {
  if (options.purpose != Purpose::inference || !options.packs || options.fresh || !options.factors.empty() ||
      !options.keep.empty() || options.weights != WeightFormat::float32 ||
      options.cache != CacheFormat::float32)
    return false;
  if (options.architecture.empty() || options.architecture == architecture_) return true;
  // A head is no hindrance to who wants the body alone, if it stands on the same stacks.
  if (!has_head(options.architecture, Head::body)) return false;
  const ModelSpec body = family_->spec(config_, options.architecture), &own = network_->spec();
  return body.encoder.has_value() == own.encoder.has_value() &&
         body.decoder.has_value() == own.decoder.has_value();
}

PretrainedModel PretrainedModel::load(const ModelDirectory& directory, const LoadOptions& given) {
  if (directory.loaded() != nullptr && directory.loaded()->serves(given)) return *directory.loaded();
  const ErrorScope scope(ErrorKind::model);
  LoadOptions options = given;
  if (options.weights == WeightFormat::float32) options.weights = directory.weights();
  if (options.cache == CacheFormat::float32) options.cache = directory.cache();
  options.packs = options.packs && !directory.low_memory();
  const WeightFormat stored = stored_format(directory.config());
  if (stored != WeightFormat::float32) {
    if (options.weights != WeightFormat::float32 && options.weights != stored)
      fail("{}: its weights are stored as {}, of which none can be made as {}", directory.path().string(),
           name(stored), name(options.weights));
    options.weights = stored;
    options.keep = stored_exceptions(directory.config());
  }
  if (options.weights != WeightFormat::float32 && options.purpose == Purpose::training &&
      !options.only_adapter_learns)
    fail(
        "{}: weights as {} do not learn: only an adapter may beside them (attend train --lora); other "
        "training, gradients, and adapters that are merged need float32",
        directory.path().string(), name(options.weights));
  const Family& family = find_family(directory.config());
  const std::vector<std::string> named = directory.architectures();
  std::string chosen = options.architecture;
  const WeightFiles checkpoint = directory.weight_files();
  std::vector<std::shared_ptr<Adapter>> adapters;
  for (const AdapterPath& path : directory.adapters())
    adapters.push_back(std::make_shared<Adapter>(path.directory));
  if (chosen.empty())
    chosen =
        named.empty() ? found_architecture(family, directory.config(), checkpoint, adapters) : named.front();
  const Fields config = with_labels(directory.config(), options.fresh);
  PretrainedModel model(family,
                        options.fresh ? config : without_missing_pooler(family, config, chosen, checkpoint),
                        chosen, options.dropout);
  model.generation_config_ = directory.generation_config();
  model.source_ = directory.path().string();
  model.weights_ = options.weights;
  model.cache_format_ = options.cache;
  if (options.cache != CacheFormat::float32 &&
      (!model.network_->decoder || !model.network_->language_model_head))
    fail("{}: {} keeps no keys and values of what it has read: there is no cache to be {}", model.source_,
         chosen, name(options.cache));
  model.adapters_ = std::move(adapters);
  const bool other_head = !named.empty() && named.front() != chosen;
  const bool other_labels = options.fresh && options.fresh->labels &&
                            (other_head || differ(directory.config(), options.fresh->labels->names));
  try {
    model.read_weights(checkpoint, options, other_labels);
  } catch (const Error& error) {
    if (!named.empty() || !options.architecture.empty()) throw;
    fail("{} (config.json says nothing of architectures, so it is read as {})", error.what(), chosen);
  }
  for (std::size_t i = 0; i < model.adapters_.size(); ++i)
    model.adapters_[i]->attach(model, static_cast<std::int64_t>(i), directory.adapters()[i].share);
  if (!model.adapters_.empty() && options.purpose == Purpose::training)
    for (const auto& adapter : model.adapters_) adapter->train(model);
  if (options.purpose == Purpose::inference && options.packs)
    model.network_->prepare([&] { checkpoint.drop_pages(); });
  return model;
}

PretrainedModel PretrainedModel::fresh(const Fields& config, std::uint64_t seed) {
  const Family& family = find_family(config);
  const std::vector<std::string> named = config.texts({"architectures"});
  PretrainedModel model(family, config,
                        named.empty() ? std::string(family.architectures.front()) : named.front(), {});
  initialize(model.network_, seed);
  for (auto& item : model.network_->named_parameters())
    item.value().requires_grad_(!find_source(model.table_, item.key()).frozen);
  return model;
}

void PretrainedModel::set_weights(const WeightFiles& checkpoint, Purpose purpose) {
  read_weights(checkpoint, {.purpose = purpose}, false);
}

void PretrainedModel::read_weights(const WeightFiles& checkpoint, const LoadOptions& options,
                                   bool other_labels) {
  at::NoGradGuard no_grad;
  WeightReader reader(
      checkpoint, family_->prefix, adapters_,
      checkpoint.files().empty() ? config_.source() : checkpoint.files().front().path().string());
  const bool training = options.purpose == Purpose::training;
  const bool stored = stored_format(config_) != WeightFormat::float32;  // in fewer bits
  std::set<std::string> fresh;
  std::vector<std::string> fresh_names;
  // The format in which the parameter is kept alone, or none: it stays a tensor.
  const auto format_of = [&](const std::string& parameter,
                             const WeightSource& source) -> std::optional<WeightFormat> {
    const bool excepted = std::ranges::any_of(source.names, [&](const std::string& name) {
      return std::ranges::any_of(spellings(name, family_->prefix), [&](const std::string& spelling) {
        return std::ranges::find(options.keep, spelling) != options.keep.end();
      });
    });
    if (options.weights != WeightFormat::float32 && !excepted &&
        network_->is_packable(parameter, options.weights))
      return options.weights;
    if (training || !options.packs || !network_->is_packable(parameter, WeightFormat::float32)) return {};
    return WeightFormat::float32;
  };
  // Where an adapter learns, tables of tokens and the head over them, which the loss reads, are float32 that
  // stands for the same numbers.
  const auto pack = [&](const std::string& parameter, Tensor& weight,
                        const std::shared_ptr<const PackedMatrix>& matrix) {
    weight.requires_grad_(false);
    if (training && !network_->is_packable(parameter, options.weights, /*tables=*/false))
      weight.set_data(matrix->dequantized());
    else
      network_->pack(parameter, matrix);
  };
  const auto is_fresh = [&](const std::string& parameter, const WeightSource& source, const Tensor& weight) {
    if (!options.fresh || !is_of_head(parameter)) return false;
    if (other_labels && parameter.starts_with("score_head.out.")) return true;
    const bool may_differ = parameter.starts_with("score_head.");  // in shape, with the number of labels
    return !std::ranges::all_of(
        source.names, [&](const std::string& name) { return reader.has(name, source, weight, may_differ); });
  };
  // The room that parameters were given is for training; here it would only scatter what is made on the way.
  if (!training)
    for (Tensor& weight : network_->parameters()) release(weight);
  for (auto& item : network_->named_parameters()) {
    Tensor& weight = item.value();
    const WeightSource source = find_source(table_, item.key());
    if (is_fresh(item.key(), source, weight)) {
      if (!training) weight.set_data(at::empty(weight.sizes(), at::kFloat));
      fresh.insert(item.key());
      for (const std::string& name : source.names) {
        fresh_names.push_back(name);
        reader.pass_over(name, source);
      }
      continue;
    }
    const std::optional<WeightFormat> format = format_of(item.key(), source);
    if (stored && format == options.weights) {
      const auto tensors = reader.read_stored(source, options.weights);
      try {
        pack(item.key(), weight,
             PackedMatrix::restore(tensors, weight.size(0), weight.size(1), options.weights));
      } catch (const Error& error) {
        fail("{}: {}: {}", source_, source.names[0], error.what());
      }
      checkpoint.drop_pages();
      continue;
    }
    std::vector<Tensor> parts;
    for (const std::string& name : source.names) parts.push_back(reader.read(name, source, weight));
    // One float32 tensor may stay in the file; anything else, and all of training, is a copy of our own. So
    // is a small one: it would keep a page of the file in memory, of which some are of 2 MiB.
    Tensor loaded = parts.size() == 1 ? parts[0] : at::cat(parts);
    constexpr std::int64_t kSmall = 1 << 20;
    const bool copies = training || (options.packs && !format && loaded.numel() <= kSmall);
    if (copies && parts.size() == 1) loaded = at::empty(weight.sizes(), weight.options()).copy_(loaded);
    if (const auto factor = options.factors.find(item.key()); factor != options.factors.end())
      loaded = loaded.to(at::kFloat) * factor->second;
    // At once, so that no more than one matrix is in memory as it was; the file's pages are not needed again.
    if (format) {
      pack(item.key(), weight, PackedMatrix::make(loaded, *format, [&] { checkpoint.drop_pages(); }));
      continue;
    }
    weight.set_data(loaded.to(at::kFloat));
    weight.requires_grad_(training && !source.frozen);
  }
  if (!fresh.empty()) {
    initialize(network_, options.fresh->seed, [&](const std::string& name) { return fresh.contains(name); });
    for (auto& item : network_->named_parameters())
      if (fresh.contains(item.key()))
        item.value().requires_grad_(training && !find_source(table_, item.key()).frozen);
    inform("the head of {} is new: {}", architecture_, fmt::join(fresh_names, ", "));
  }
  for (const std::string& name : fresh_names) {
    const std::string module = saved_name(name.substr(0, name.rfind('.')));
    if (std::ranges::find(fresh_modules_, module) == fresh_modules_.end()) fresh_modules_.push_back(module);
  }
  std::vector<std::string> unknown;
  for (const auto& [name, view] : checkpoint.tensors()) {
    if (reader.was_asked(name)) continue;
    bool known = false;
    for (const std::string& spelling : spellings(name, family_->prefix)) {
      for (const WeightName& row : table_) known = known || matches(row.checkpoint, spelling);
      for (std::string_view pattern : family_->ignored) known = known || matches(pattern, spelling);
    }
    if (!known) unknown.push_back(name);
  }
  if (!unknown.empty())
    warn("{} of the checkpoint's tensors have no place in {} and are not used: {}{}", unknown.size(),
         architecture_, unknown.front(), unknown.size() > 1 ? ", ..." : "");
}

void PretrainedModel::put(const std::map<std::string, Tensor>& tensors) {
  at::NoGradGuard no_grad;
  for (auto& item : network_->named_parameters()) {
    const WeightSource source = find_source(table_, item.key());
    const std::int64_t rows = item.value().size(0) / static_cast<std::int64_t>(source.names.size());
    for (std::size_t i = 0; i < source.names.size(); ++i)
      for (const std::string& name : spellings(source.names[i], family_->prefix))
        if (const auto found = tensors.find(name); found != tensors.end()) {
          Tensor ours = item.value().narrow(0, static_cast<std::int64_t>(i) * rows, rows);
          const auto plain = checkpoint_shape(item.value(), source.layout, source.names.size());
          ours.copy_(to_ours(found->second.view(plain), source));
        }
  }
}

void PretrainedModel::check_adapter(std::int64_t number) const {
  const auto count = static_cast<std::int64_t>(adapters_.size());
  if (number < -1 || number >= count)
    fail("adapter {}: expected one of 0 to {} (or -1 for none), as they are named", number, count - 1);
  for (const auto& adapter : adapters_)
    if (adapter->replaces() && count > 1)
      fail(
          "{}: it has modules or biases in the place of the model's, which texts with other adapters would "
          "read too",
          adapter->source());
}

std::int64_t PretrainedModel::size() const {
  std::int64_t numbers = 0;
  for (const Tensor& weight : network_->parameters()) numbers += weight.numel();
  return numbers;
}

bool PretrainedModel::has_tensor(const std::string& name) const {
  const std::vector<std::string> wanted = spellings(name, family_->prefix);
  const auto is_wanted = [&](const std::string& one) {
    return std::ranges::find(wanted, one) != wanted.end();
  };
  for (const auto& item : network_->named_parameters()) {
    const WeightSource source = find_source(table_, item.key());
    if (std::ranges::any_of(source.names, is_wanted) || std::ranges::any_of(source.aliases, is_wanted))
      return true;
  }
  return std::ranges::any_of(family_->ignored, [&](std::string_view pattern) {
    return std::ranges::any_of(wanted, [&](const std::string& one) { return matches(pattern, one); });
  });
}

std::map<std::string, Tensor> PretrainedModel::by_checkpoint_name(const Pick& pick, bool with_frozen) const {
  std::map<std::string, Tensor> tensors;
  for (const auto& item : network_->named_parameters()) {
    const WeightSource source = find_source(table_, item.key());
    if (source.frozen && !with_frozen) continue;
    // In fewer bits it is nobody's to pick: save() refuses, and what learns beside it has tensors of its own.
    const PackedMatrix* const packed = network_->packed(item.key());
    const bool exact = packed != nullptr && packed->format() == WeightFormat::float32;
    const Tensor tensor = pick(item.key(), exact ? packed->dequantized() : item.value());
    if (!tensor.defined()) continue;
    const std::int64_t rows = tensor.size(0) / static_cast<std::int64_t>(source.names.size());
    for (std::size_t i = 0; i < source.names.size(); ++i) {
      const Tensor part = to_checkpoint(tensor.narrow(0, static_cast<std::int64_t>(i) * rows, rows), source);
      tensors[saved_name(source.names[i])] = source.shape.empty() ? part : part.reshape(source.shape);
    }
  }
  return tensors;
}

std::string PretrainedModel::saved_name(const std::string& name) const {
  // transformers stores a model without a head without the prefix that tells body from head.
  const std::string prefix = std::string(family_->prefix) + ".";
  const ModelSpec& spec = network_->spec();
  const bool headless =
      !spec.language_model_head && !spec.score_head && !spec.span_search && !spec.pixel_head;
  return headless && name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

void PretrainedModel::save(const std::filesystem::path& directory, at::ScalarType type) const {
  if (weights_ != WeightFormat::float32)
    fail("{}: its weights were loaded as {}, of which no checkpoint can be made", source_, name(weights_));
  std::filesystem::create_directories(directory);
  write_tensors(
      directory / "model.safetensors",
      by_checkpoint_name([&](const std::string&, const Tensor& weight) { return weight.detach().to(type); },
                         true));
  save_config(directory, type);
}

void PretrainedModel::save_config(const std::filesystem::path& directory, at::ScalarType type) const {
  Json config = config_.json();
  config["architectures"] = {architecture_};
  config.erase("quantization_config");  // of where it came from
  config[config.contains("dtype") ? "dtype" : "torch_dtype"] = type == at::kHalf       ? "float16"
                                                               : type == at::kBFloat16 ? "bfloat16"
                                                                                       : "float32";
  write_file_atomically(directory / "config.json", config.dump(2) + "\n");
  if (!generation_config_.empty())
    write_file_atomically(directory / "generation_config.json", generation_config_.dump(2) + "\n");
}

}  // namespace attend
