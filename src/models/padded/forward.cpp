#include "models/padded/forward.h"

#include "models/adapters/adapter.h"
#include "models/padded/forward_parts.h"
#include "models/padded/prompt_inputs.h"

namespace attend {
namespace {

[[noreturn]] void fail_without_labels(const PretrainedModel& model) {
  Transformer net = model.network();
  const std::set<std::string> names = label_inputs(net);
  if (names.empty()) fail("gradients need a loss, but {} has no head with a loss", model.architecture());
  fail("gradients need the loss: expected the input{} {}", names.size() == 1 ? "" : "s",
       fmt::join(names, " and "));
}

// hidden [B, L, d] -> [B, size]
Tensor embed_texts(SentenceModules& modules, const Tensors& given, Transformer& net,
                   std::optional<std::int64_t> adapter, const Tensor& hidden) {
  const auto prompted = prompted_inputs(given, net, adapter);
  const Tensors& inputs = prompted ? *prompted : given;
  const Padded texts(find(inputs, "input_ids"), find(inputs, "attention_mask"), "input_ids");
  const TokenBatch batch = texts.batch({}, {});
  return modules.embed(texts.unpad(hidden), batch.offsets, {.places = batch.positions});
}

}  // namespace

bool takes_types(const ModelSpec& model) {
  if (model.encoder && (model.decoder || model.encoder->patches)) return false;
  return takes_types(model.decoder ? *model.decoder : *model.encoder);
}

bool takes_types(const StackSpec& stack) {
  const auto& distance = stack.layers.front().self_attention.distance;
  return stack.embeddings.types > 0 || stack.embeddings.types_are_tokens || (distance && distance->segments);
}

namespace {

// The gradients of all tensors; for a tensor that encoder and decoder share, the sum.
Tensors gradients_of(const PretrainedModel& model) {
  const auto of_stack = [&](bool encoder) {
    return model.by_checkpoint_name(
        [&](const std::string& name, const Tensor& weight) {
          return name.starts_with("encoder.") == encoder ? weight.gradient() : Tensor();
        },
        false);
  };
  Tensors all = of_stack(false);
  for (const auto& [name, gradient] : of_stack(true)) {
    Tensor& sum = all[name];
    sum = sum.defined() ? sum + gradient : gradient;
  }
  return all;
}

// Computes row b of every input and output with adapter number adapters[b] (-1: none).
Tensors run_by_adapter(const PretrainedModel& model, Tensors inputs, const Tensor& adapters,
                       const ForwardOptions& options) {
  inputs.erase("adapters");
  const std::int64_t B = inputs.begin()->second.size(0);
  if (options.gradients) fail("adapters: gradients are not supported with this input");
  if (adapters.dim() != 1 || adapters.size(0) != B || !ops::is_integer(adapters.type(), false))
    fail("adapters: expected a number for each of {} rows, found shape [{}]", B,
         fmt::join(adapters.sizes(), ", "));
  Tensors outputs;
  const auto [numbers, places] = ops::unique(adapters.to(kLong), /*sorted=*/true);
  for (std::int64_t i = 0; i < numbers.size(0); ++i) {
    const std::int64_t number = numbers[i].item<std::int64_t>();
    const Tensor rows = adapters.eq(number).nonzero().squeeze(1);
    Tensors theirs;
    for (const auto& [name, tensor] : inputs) theirs[name] = tensor.index_select(0, rows);
    ForwardOptions with_it = options;
    with_it.adapter = number;
    for (const auto& [name, tensor] : run_forward(model, theirs, with_it)) {
      if (tensor.dim() == 0 || tensor.size(0) != rows.size(0)) continue;  // a loss: of this part only
      if (Tensor& whole = outputs[name]; !whole.defined()) {
        std::vector<std::int64_t> shape = tensor.sizes().vec();
        shape[0] = B;
        whole = ops::zeros(shape, tensor.type());
      } else if (whole.sizes().slice(1) != tensor.sizes().slice(1)) {
        fail(
            "adapters: expected one adapter per call: these have prompts of different lengths, or different "
            "numbers of labels, so their results have different shapes");
      }
      outputs[name].index_copy_(0, rows, tensor);
    }
  }
  return outputs;
}

}  // namespace

std::map<std::string, Tensor> run_forward(const PretrainedModel& given, const Tensors& inputs,
                                          const ForwardOptions& options) {
  const Tensor adapters = find(inputs, "adapters");
  const bool by_row = adapters.defined() && !given.adapters().empty();
  const PretrainedModel& model = by_row ? given : given.with_adapter(options.adapter);
  Transformer net = model.network();
  const char* main_input = net->reads_images() ? "pixel_values" : "input_ids";
  if (inputs.count(main_input) == 0) fail("expected an input named {}", main_input);
  Recording grad(options.gradients);
  if (by_row) return run_by_adapter(model, inputs, adapters, options);
  Result r = net->is_encoder_decoder() ? forward_pair(model, inputs, options)
             : net->reads_images()     ? forward_images(model, inputs, options)
                                       : forward_text(model, inputs, options);
  if (r.loss.defined()) r.out["loss"] = r.loss;
  if (const Tensor hidden = find(r.out, "last_hidden_state"); options.sentence && hidden.defined())
    r.out["sentence_embedding"] = embed_texts(*options.sentence, inputs, net, options.adapter, hidden);
  if (options.gradients) {
    const Tensor loss = r.whole_loss();
    if (!loss.defined()) fail_without_labels(model);
    loss.backward();
    const auto gradients =
        model.adapters().empty()
            ? gradients_of(model)
            : model.adapters().front()->stored(model, [](const Tensor& tensor) { return tensor.gradient(); });
    for (const auto& [name, gradient] : gradients) r.out["grad." + name] = gradient;
  }
  for (auto& [name, tensor] : r.out) tensor = tensor.detach();
  return r.out;
}

}  // namespace attend
