#include "models/forward.h"

#include "models/adapter.h"
#include "models/forward_parts.h"

namespace attend {
namespace {

[[noreturn]] void fail_without_labels(const Model& model) {
  Transformer net = model.network();
  const std::set<std::string> names = label_inputs(net);
  if (names.empty())
    fail("gradients are those of the loss, and {} has no head with one", model.architecture());
  fail("gradients are those of the loss: expected the input{} {}", names.size() == 1 ? "" : "s",
       fmt::join(names, " and "));
}

}  // namespace

bool takes_types(const ModelSpec& model) {
  if (model.encoder && (model.decoder || model.encoder->patches)) return false;
  const StackSpec& stack = model.decoder ? *model.decoder : *model.encoder;
  const auto& distance = stack.layers.front().self_attention.distance;
  return stack.embeddings.types > 0 || stack.embeddings.types_are_tokens || (distance && distance->segments);
}

std::map<std::string, Tensor> run_forward(const Model& model, const Tensors& inputs,
                                          const ForwardOptions& options) {
  Transformer net = model.network();
  const char* main_input = net->reads_images() ? "pixel_values" : "input_ids";
  if (inputs.count(main_input) == 0) fail("expected an input named {}", main_input);
  at::AutoGradMode grad(options.gradients);
  Result r = net->reads_images()         ? forward_images(model, inputs, options)
             : net->is_encoder_decoder() ? forward_pair(model, inputs, options)
                                         : forward_text(model, inputs, options);
  if (r.loss.defined()) r.out["loss"] = r.loss;
  if (options.gradients) {
    if (!r.loss.defined()) fail_without_labels(model);
    r.loss.backward();
    const auto gradients =
        model.adapters().empty()
            ? model.by_checkpoint_name([](auto&, const Tensor& weight) { return weight.grad(); }, false)
            : model.adapters().front()->stored(model, [](const Tensor& tensor) { return tensor.grad(); });
    for (const auto& [name, gradient] : gradients) r.out["grad." + name] = gradient;
  }
  for (auto& [name, tensor] : r.out) tensor = tensor.detach();
  return r.out;
}

}  // namespace attend
