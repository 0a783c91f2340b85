#include "models/derived/shrink.h"

#include "base/file.h"
#include "models/checkpoint/pretrained_model.h"
#include "models/derived/companions.h"

#include <charconv>

namespace attend {
namespace {

constexpr const char* kCounts[] = {"num_hidden_layers", "n_layer",        "n_layers",          "num_layers",
                                   "encoder_layers",    "decoder_layers", "num_decoder_layers"};

// config.json of a model with `count` layers in each stack.
Fields with_layers(const Fields& config, const Family& family, std::size_t count) {
  Json changed = config.json();
  const Json usual = family.fresh_config(family.presets.front());
  for (const char* field : kCounts)  // a missing field would mean the family's default number of layers
    if (changed.contains(field) || usual.contains(field)) changed[field] = count;
  return Fields(changed, config.source());
}

void check_layers(const StackSpec& stack, const std::vector<std::int64_t>& layers,
                  const std::string& source) {
  if (!stack.weights_of.empty()) fail("{}: its layers share their weights, so none can be left out", source);
  const auto count = static_cast<std::int64_t>(stack.layers.size());
  for (const std::int64_t layer : layers)
    if (layer < 0 || layer >= count)
      fail("`keep_layers` {}: expected layers from 0 to {} of {}", layer, count - 1, source);
}

// The name in the large model for `name` in the small one.
std::string whole_name(const std::string& name, const std::vector<std::int64_t>& layers) {
  for (const std::string_view stack : {"encoder.layers.", "decoder.layers."}) {
    if (!name.starts_with(stack)) continue;
    std::size_t layer = 0;
    const char* const begin = name.data() + stack.size();
    const auto [end, error] = std::from_chars(begin, name.data() + name.size(), layer);
    if (error != std::errc() || layer >= layers.size()) break;
    return fmt::format("{}{}{}", stack, layers[layer], end);
  }
  return name;
}

}  // namespace

void shrink_model(const ModelDirectory& from, const std::vector<std::int64_t>& layers,
                  const std::filesystem::path& to) {
  if (layers.empty()) fail("`keep_layers`: expected at least one layer");
  const std::string source = from.path().string();
  const PretrainedModel whole = PretrainedModel::load(from, Purpose::training);
  const ModelSpec& spec = whole.network()->spec();
  for (const auto& stack : {spec.encoder, spec.decoder})
    if (stack) check_layers(*stack, layers, source);

  const PretrainedModel small =
      PretrainedModel::fresh(with_layers(whole.config(), whole.family(), layers.size()), 0);
  const auto weights = whole.network()->named_parameters();
  Unrecorded no_grad;
  for (auto& item : small.network()->named_parameters()) {
    const std::string name = whole_name(item.key(), layers);
    const Tensor* const weight = weights.find(name);
    if (weight == nullptr || weight->sizes() != item.value().sizes())
      fail("{}: {} does not fit a model with {} of its layers", source, name, layers.size());
    item.value().copy_(*weight);
  }
  copy_companions(from.path(), to);
  const std::filesystem::path generation = from.path() / "generation_config.json";
  if (file_exists(generation)) write_file_atomically(to / generation.filename(), read_file(generation));
  small.save(to);
}

}  // namespace attend
