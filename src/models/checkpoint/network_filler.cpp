#include "models/checkpoint/network_filler.h"

#include "base/log.h"
#include "models/checkpoint/quantized.h"
#include "models/weights/weight_layout.h"
#include "nn/transformer/initialize.h"

#include <algorithm>

namespace attend {
namespace {

// Whether a parameter belongs to a head (also ViT's mask token) rather than to the body.
bool is_of_head(std::string_view parameter) {
  for (std::string_view part :
       {"language_model_head.", "pooler.", "score_head.", "span_search.", "pixel_head."})
    if (parameter.starts_with(part)) return true;
  return parameter == "encoder.patches.mask";
}

std::string name_of_checkpoint(const PretrainedModel& model, const WeightFiles& checkpoint) {
  return checkpoint.files().empty() ? model.config().source() : checkpoint.files().front().path().string();
}

}  // namespace

bool SharedWeights::lend(const std::string& origin, Transformer& to, const std::string& name,
                         bool packed) const {
  Tensor weight = to->named_parameters()[name];
  if (const auto matrix = matrices_.find(origin); matrix != matrices_.end()) {
    weight.set_needs_gradient(false);
    to->pack(name, matrix->second);
    return true;
  }
  const auto tensor = tensors_.find(origin);
  if (packed || tensor == tensors_.end() || tensor->second.sizes() != weight.sizes()) return false;
  weight.set_data(tensor->second);
  weight.set_needs_gradient(false);
  return true;
}

SharedWeights SharedWeights::of_checkpoint() const {
  SharedWeights own = *this;
  const auto is_of_adapter = [](const auto& entry) { return !WeightReader::is_of_checkpoint(entry.first); };
  std::erase_if(own.tensors_, is_of_adapter);
  std::erase_if(own.matrices_, is_of_adapter);
  return own;
}

NetworkFiller::NetworkFiller(const PretrainedModel& model, const WeightFiles& checkpoint,
                             const LoadOptions& options,
                             const std::vector<std::shared_ptr<Adapter>>& adapters, SharedWeights& shared)
    : model_(model),
      network_(model.network()),
      checkpoint_(checkpoint),
      options_(options),
      shared_(shared),
      reader_(checkpoint, model.family().prefix, adapters, name_of_checkpoint(model, checkpoint)),
      stored_(stored_format(model.config()) != WeightFormat::float32),
      warns_(shared.empty()) {}

std::vector<std::string> NetworkFiller::fill(bool other_labels) {
  Unrecorded no_grad;
  other_labels_ = other_labels;
  // Parameters get memory for training; here it would only fragment the memory that is used while loading.
  if (!trains())
    for (Tensor& weight : network_->parameters()) release(weight);
  for (auto& item : network_->named_parameters()) {
    const WeightSource source = model_.source_of(item.key());
    if (!is_fresh(item.key(), source, item.value())) {
      read(item.key(), item.value());
      if (options_.after_reading) {
        options_.after_reading(network_, item.value());
        checkpoint_.drop_pages();
      }
      continue;
    }
    if (!trains()) item.value().set_data(ops::empty(item.value().sizes(), kFloat));
    fresh_.insert(item.key());
    for (const std::string& name : source.names) {
      fresh_names_.push_back(name);
      reader_.pass_over(name, source);
    }
  }
  if (!fresh_.empty()) draw();
  if (warns_) warn_of_unknown();
  return fresh_names_;
}

bool NetworkFiller::is_fresh(const std::string& parameter, const WeightSource& source,
                             const Tensor& weight) const {
  if (!options_.fresh || !is_of_head(parameter)) return false;
  if (other_labels_ && parameter.starts_with("score_head.out.")) return true;
  // An adapter's own head starts as a copy of the token table that the checkpoint's head is tied to.
  if (model_.checkpoint_source_of(parameter).names != source.names) return false;
  const bool may_differ = parameter.starts_with("score_head.");  // in shape: the number of labels
  for (std::size_t i = 0; i < source.names.size(); ++i)
    if (!reader_.has(i, source, weight, may_differ)) return true;
  return false;
}

bool NetworkFiller::in_fewer_bits(const std::string& parameter) const {
  if (options_.weights == WeightFormat::float32) return false;
  const std::vector<std::string> names = model_.checkpoint_source_of(parameter).names;
  const bool excepted = std::ranges::any_of(names, [&](const std::string& name) {
    return std::ranges::any_of(spellings(name, model_.family().prefix), [&](const std::string& spelling) {
      return std::ranges::find(options_.keep, spelling) != options_.keep.end();
    });
  });
  return !excepted && network_->is_packable(parameter, options_.weights);
}

std::optional<WeightFormat> NetworkFiller::format_of(const std::string& parameter) const {
  // Modules that an adapter has whole were trained in float32.
  if (in_fewer_bits(parameter) && !reader_.replaces(model_.source_of(parameter))) return options_.weights;
  if (trains() || !options_.packs || !network_->is_packable(parameter, WeightFormat::float32)) return {};
  return WeightFormat::float32;
}

void NetworkFiller::read(const std::string& parameter, Tensor& weight) {
  const WeightSource in_checkpoint = model_.checkpoint_source_of(parameter);
  std::optional<WeightFormat> format = format_of(parameter);
  const std::string origin = reader_.origin(model_.source_of(parameter), in_checkpoint);
  const bool shares = !trains() && options_.factors.empty();
  if (shares && shared_.lend(origin, network_, parameter, format.has_value())) {
    for (const std::string& name : in_checkpoint.names) reader_.pass_over(name, in_checkpoint);
    return;
  }
  const auto take = [&](const std::shared_ptr<const PackedMatrix>& matrix) {
    if (shares) shared_.keep(origin, matrix);
    pack(parameter, weight, matrix);
    checkpoint_.drop_pages();
  };
  if (stored_ && format == options_.weights) return take(restore(in_checkpoint, weight));
  if (format == WeightFormat::blocks) {
    if (const auto matrix = read_blocks(in_checkpoint, weight)) return take(matrix);
    format = WeightFormat::float32;
  }
  // One float32 tensor may stay in the mapped file; anything else, and everything in training, is a copy. So
  // is a small one: it would keep a page of the file in memory, and some pages are 2 MiB.
  Tensor loaded = read_tensor(parameter, weight);
  constexpr std::int64_t kSmall = 1 << 20;
  const bool copies = trains() || (options_.packs && !format && loaded.numel() <= kSmall);
  if (copies && in_checkpoint.names.size() == 1)
    loaded = ops::empty(weight.sizes(), weight.type()).copy_(loaded);
  if (const auto factor = options_.factors.find(parameter); factor != options_.factors.end())
    loaded = loaded.to(kFloat) * factor->second;
  // Immediately, so that at most one unpacked matrix is in memory; the file's pages are not needed again.
  if (format) return take(PackedMatrix::make(loaded, *format, [&] { checkpoint_.drop_pages(); }));
  weight.set_data(loaded.to(kFloat));
  weight.set_needs_gradient(trains() && !in_checkpoint.frozen);
  if (shares) shared_.keep(origin, weight);
}

// Null: the file stores some of it otherwise.
std::shared_ptr<const PackedMatrix> NetworkFiller::read_blocks(const WeightSource& source,
                                                               const Tensor& weight) {
  std::vector<NumberGroups> parts;
  for (std::size_t i = 0; i < source.names.size(); ++i) {
    std::optional<NumberGroups> part = reader_.read_groups(i, source, weight);
    if (!part) return nullptr;
    parts.push_back(*std::move(part));
  }
  return PackedMatrix::of_groups(parts);
}

Tensor NetworkFiller::read_tensor(const std::string& parameter, const Tensor& weight) {
  const WeightSource own = model_.source_of(parameter),
                     in_checkpoint = model_.checkpoint_source_of(parameter);
  Tensor restored;  // a quantized matrix, if an adapter has a part of it
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < own.names.size(); ++i) {
    reader_.pass_over(in_checkpoint.names[i], in_checkpoint);
    Tensor part = reader_.replacement(i, own, weight);
    if (!part.defined() && stored_ && in_fewer_bits(parameter)) {
      if (!restored.defined()) restored = restore(in_checkpoint, weight)->dequantized();
      const auto [first, count] = own.rows_of(i, weight.size(0));
      part = restored.narrow(0, first, count);
    } else if (!part.defined()) {
      part = reader_.read(i, in_checkpoint, weight);
    }
    parts.push_back(part);
  }
  return parts.size() == 1 ? parts[0] : ops::cat(parts);
}

std::shared_ptr<const PackedMatrix> NetworkFiller::restore(const WeightSource& source, const Tensor& weight) {
  const auto tensors = reader_.read_stored(source, options_.weights);
  try {
    return PackedMatrix::restore(tensors, weight.size(0), weight.size(1), options_.weights);
  } catch (const Error& error) {
    fail("{}: {}: {}", model_.source(), source.names[0], error.what());
  }
}

// If an adapter is trained, token tables and the head over them, which the loss reads, become float32 with
// the same numbers.
void NetworkFiller::pack(const std::string& parameter, Tensor& weight,
                         const std::shared_ptr<const PackedMatrix>& matrix) {
  weight.set_needs_gradient(false);
  if (trains() && !network_->is_packable(parameter, options_.weights, /*tables=*/false))
    weight.set_data(matrix->dequantized());
  else
    network_->pack(parameter, matrix);
}

void NetworkFiller::draw() {
  initialize(network_, options_.fresh->seed, [&](const std::string& name) { return fresh_.contains(name); });
  for (auto& item : network_->named_parameters())
    if (fresh_.contains(item.key()))
      item.value().set_needs_gradient(trains() && !model_.source_of(item.key()).frozen);
  inform("the head of {} is new: {}", model_.architecture(), fmt::join(fresh_names_, ", "));
}

void NetworkFiller::warn_of_unknown() const {
  std::vector<std::string> unknown;
  for (const auto& [name, view] : checkpoint_.tensors())
    if (!reader_.was_asked(name) && (!model_.knows(name) || reader_.is_of_further_layer(name)))
      unknown.push_back(name);
  if (!unknown.empty())
    warn("{} of the checkpoint's tensors are not used by {}: {}{}", unknown.size(), model_.architecture(),
         unknown.front(), unknown.size() > 1 ? ", ..." : "");
}

}  // namespace attend
