#include "models/checkpoint/pretrained_model.h"

#include "base/directory.h"
#include "models/adapters/adapter.h"
#include "models/checkpoint/network_filler.h"
#include "models/families/generates.h"
#include "models/families/head.h"
#include "models/weights/tensors.h"
#include "models/weights/weight_layout.h"
#include "nn/transformer/initialize.h"

#include <algorithm>

namespace attend {

PretrainedModel::PretrainedModel(const Family& family, Fields config, std::string architecture,
                                 const DropoutRates& dropout, const OwnsModule& owns)
    : family_(&family), config_(std::move(config)), architecture_(std::move(architecture)) {
  if (std::find(family.architectures.begin(), family.architectures.end(), architecture_) ==
      family.architectures.end())
    fail("{}: architectures: {} is not supported for {}; supported are {}", config_.source(), architecture_,
         family.model_type, fmt::join(family.architectures, ", "));
  ModelSpec spec = family.spec(config_, architecture_);
  if (has_head(architecture_, Head::body) && !config_.flag({"add_pooling_layer"}, true)) spec.pooler = false;
  if (std::optional<ModelSpec> apart = untied(family, spec, owns)) tied_ = std::exchange(spec, *apart);
  set_dropout(spec, dropout);
  table_ = tied_ ? untied_names(family, spec) : family.weights(spec);
  try {
    // Only address space so far: memory is used once weights are written.
    network_ = Transformer(spec);
  } catch (const ops::Error&) {
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
      (options.cache != CacheFormat::automatic && options.cache != CacheFormat::float32))
    return false;
  if (options.architecture.empty() || options.architecture == architecture_) return true;
  // A model with a head can serve as the body alone, if its stacks are the same.
  if (!has_head(options.architecture, Head::body)) return false;
  const ModelSpec body = family_->spec(config_, options.architecture), &own = network_->spec();
  return body.encoder.has_value() == own.encoder.has_value() &&
         body.decoder.has_value() == own.decoder.has_value();
}

PretrainedModel PretrainedModel::fresh(const Fields& config, std::uint64_t seed) {
  const Family& family = find_family(config);
  const std::vector<std::string> named = config.texts({"architectures"});
  PretrainedModel model(family, config,
                        named.empty() ? std::string(family.architectures.front()) : named.front(), {});
  initialize(model.network_, seed);
  for (auto& item : model.network_->named_parameters())
    item.value().set_needs_gradient(!find_source(model.table_, item.key()).frozen);
  return model;
}

void PretrainedModel::set_weights(const WeightFiles& checkpoint, Purpose purpose,
                                  const AfterReading& after_reading) {
  const LoadOptions options{.purpose = purpose, .after_reading = after_reading};
  SharedWeights shared;
  NetworkFiller(*this, checkpoint, options, adapters_, shared).fill(false);
}

void PretrainedModel::put(const std::map<std::string, Tensor>& tensors) {
  Unrecorded no_grad;
  for (auto& item : network_->named_parameters()) {
    const WeightSource source = find_source(table_, item.key());
    for (std::size_t i = 0; i < source.names.size(); ++i)
      for (const std::string& name : spellings(source.names[i], family_->prefix))
        if (const auto found = tensors.find(name); found != tensors.end()) {
          const auto [first, count] = source.rows_of(i, item.value().size(0));
          Tensor ours = item.value().narrow(0, first, count);
          const auto plain = checkpoint_shape(item.value(), source, i);
          ours.copy_(to_ours(found->second.view(plain), source));
        }
  }
}

const PretrainedModel& PretrainedModel::with_adapter(std::optional<std::int64_t> number) const {
  const auto count = static_cast<std::int64_t>(adapters_.size());
  if (number && (*number < -1 || *number >= count))
    fail("adapter {}: expected 0 to {}, in the order of `adapter`, or -1 for none", *number, count - 1);
  if (!loaded_ || loaded_->choices.empty()) return *this;
  const Choice& choice = loaded_->choices.at(number);
  if (!choice.error.empty()) fail("{}", choice.error);
  return choice.model ? *choice.model : *this;
}

ops::Device* PretrainedModel::device() const {
  const std::vector<Tensor> weights = network_->parameters();
  return weights.empty() ? nullptr : weights.front().device();
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
  const auto is_like = [&](std::string_view pattern) {
    return std::ranges::any_of(wanted, [&](const std::string& one) { return matches(pattern, one); });
  };
  // The table that an untied model's tables were copied from is not used.
  if (tied_ && std::ranges::any_of(family_->weights(*tied_), [&](const WeightName& row) {
        return row.ours.ends_with(".tokens") && is_like(row.checkpoint);
      }))
    return true;
  return std::ranges::any_of(family_->ignored, is_like);
}

bool PretrainedModel::knows(const std::string& name) const {
  for (const std::string& spelling : spellings(name, family_->prefix))
    for (const WeightName& row : table_)
      if (matches(row.checkpoint, spelling)) return true;
  return has_tensor(name);
}

WeightSource PretrainedModel::checkpoint_source_of(const std::string& parameter) const {
  if (!tied_) return source_of(parameter);
  return find_source(family_->weights(*tied_), tied_parameter(*tied_, parameter));
}

std::map<std::string, Tensor> PretrainedModel::by_checkpoint_name(const Pick& pick, bool with_frozen) const {
  std::map<std::string, Tensor> tensors;
  for (const auto& item : network_->named_parameters()) {
    const WeightSource source = find_source(table_, item.key());
    if (source.frozen && !with_frozen) continue;
    // Quantized matrices are not picked: save() refuses them, and what is trained next to them has its own
    // tensors.
    const PackedMatrix* const packed = network_->packed(item.key());
    const bool exact = packed != nullptr && packed->format() == WeightFormat::float32;
    const Tensor tensor = pick(item.key(), exact ? packed->dequantized() : item.value());
    if (!tensor.defined()) continue;
    for (std::size_t i = 0; i < source.names.size(); ++i) {
      const auto [first, count] = source.rows_of(i, tensor.size(0));
      const Tensor part = to_checkpoint(tensor.narrow(0, first, count), source);
      tensors[saved_name(source.names[i])] = source.shape.empty() ? part : part.reshape(source.shape);
    }
  }
  return tensors;
}

std::string PretrainedModel::saved_name(const std::string& name) const {
  // transformers stores a model without a head without the prefix of its body.
  const std::string prefix = std::string(family_->prefix) + ".";
  const ModelSpec& spec = network_->spec();
  const bool headless =
      !spec.language_model_head && !spec.score_head && !spec.span_search && !spec.pixel_head;
  return headless && name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

void PretrainedModel::save(const std::filesystem::path& directory, ScalarType type) const {
  if (weights_ != WeightFormat::float32)
    fail("{}: its weights were loaded as {} and cannot be saved as a checkpoint", source_, name(weights_));
  if (tied_ &&
      (tied_->share_embeddings != network_->spec().share_embeddings || !tied_->encoder_family.empty()))
    fail(
        "{}: an adapter has its own token table, but config.json cannot give this model's stacks different "
        "ones; use the adapter with `adapter`",
        source_);
  // A head with its own matrix has no scale in config.json (a tied T5 head has one).
  const auto& head = network_->spec().language_model_head;
  const double scale = tied_ && head ? head->scale : 1;
  const auto pick = [&](const std::string& parameter, const Tensor& weight) {
    const bool scaled = scale != 1 && parameter == "language_model_head.weight";
    return (scaled ? weight.detach() * scale : weight.detach()).to(type);
  };
  make_directories(directory);
  write_tensors(directory / "model.safetensors", by_checkpoint_name(pick, true));
  if (!tied_) return save_config(directory, type);
  PretrainedModel apart = *this;
  Json config = config_.json();
  config["tie_word_embeddings"] = false;
  apart.config_ = Fields(std::move(config), config_.source());
  apart.save_config(directory, type);
}

void PretrainedModel::save_config(const std::filesystem::path& directory, ScalarType type) const {
  Json config = config_.json();
  config["architectures"] = {architecture_};
  config.erase("quantization_config");  // it describes the loaded checkpoint
  config[config.contains("dtype") ? "dtype" : "torch_dtype"] = type == kHalf       ? "float16"
                                                               : type == kBFloat16 ? "bfloat16"
                                                                                   : "float32";
  write_file_atomically(directory / "config.json", config.dump(2) + "\n");
  if (!generation_config_.empty() && generates(network_->spec()))
    write_file_atomically(directory / "generation_config.json", generation_config_.dump(2) + "\n");
}

}  // namespace attend
