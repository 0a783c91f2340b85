#include "explain/one_layer.h"

#include "nn/attention/two_streams.h"

namespace attend {
namespace {

template <class Child>
std::shared_ptr<Child> child(const Module& parent, const std::string& name) {
  const auto children = parent.named_children();
  const auto* const found = children.find(name);
  return found ? std::dynamic_pointer_cast<Child>(*found) : nullptr;
}

}  // namespace

std::shared_ptr<LayerImpl> OneLayer::module() const {
  const auto& shared = stack_->spec().weights_of;
  const std::int64_t number = shared.empty() ? number_ : shared[static_cast<std::size_t>(number_)];
  return child<ModuleListImpl>(*stack_, "layers")->ptr<LayerImpl>(static_cast<std::size_t>(number));
}

LinearImpl& OneLayer::query_key_value() const {
  return *child<LinearImpl>(*child<SelfAttentionImpl>(*module(), "self_attention"), "query_key_value");
}

Tensor OneLayer::value_bias() const {
  const auto parameters =
      child<SelfAttentionImpl>(*module(), "self_attention")->named_parameters(/*recurse=*/false);
  const Tensor* const found = parameters.find("value_bias");
  return found ? *found : Tensor();
}

LinearImpl& OneLayer::output() const {
  return *child<LinearImpl>(*child<SelfAttentionImpl>(*module(), "self_attention"), "output");
}

LinearImpl* OneLayer::cross_output() const {
  const auto attention = child<CrossAttentionImpl>(*module(), "cross_attention");
  return attention ? child<LinearImpl>(*attention, "output").get() : nullptr;
}

Tensor OneLayer::run(const Tensor& x, const Offsets& offsets, const Tensor& types, const Tensor& key_value,
                     const Offsets& key_offsets, Pass& pass) const {
  const PassScope scope(pass);
  const StackSpec& spec = stack_->spec();
  TokenBatch batch;
  batch.offsets = offsets;
  batch.types = types;
  std::vector<Tensor> positions;
  for (std::int64_t b = 0; b < offsets.count(); ++b) positions.push_back(ops::arange(offsets.length(b)));
  batch.positions = ops::cat(positions);
  batch.ids = ops::zeros_like(batch.positions);
  DistanceTable table;
  auto distances = child<DistancesImpl>(*stack_, "distances");
  if (const auto of_layers = child<ModuleListImpl>(*stack_, "layer_distances"))
    distances = of_layers->ptr<DistancesImpl>(static_cast<std::size_t>(number_));
  if (distances)
    table = distances->forward(spec.layers.front().self_attention.empty_keys + offsets.longest(), x,
                               /*ahead=*/false);
  const bool sees_less = spec.looks_back || spec.half_backwards;
  const LayerContext context{.layer = number_,
                             .offsets = offsets,
                             .visible = sees_less ? default_mask(spec, batch) : nullptr,
                             .rotaries = std::make_shared<const RotaryTables>(
                                 rotary_tables(spec.rotaries, batch.positions, offsets, x.type())),
                             .types = types,
                             .distances = std::move(table),
                             .memory = key_value,
                             .memory_offsets = key_offsets};
  const Tensor result = module()->forward(x, context, pass);
  const auto convolution = number_ == 0 ? child<ConvolutionImpl>(*stack_, "convolution") : nullptr;
  return convolution ? convolution->forward(x, result, offsets, pass) : result;
}

}  // namespace attend
