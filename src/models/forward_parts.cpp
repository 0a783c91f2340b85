#include "models/forward_parts.h"

#include "models/score_outputs.h"

namespace attend {

Tensor find(const Tensors& inputs, std::string_view name) {
  const auto found = inputs.find(std::string(name));
  return found == inputs.end() ? Tensor() : found->second;
}

void check_names(const Tensors& inputs, const std::set<std::string>& known) {
  for (const auto& [name, tensor] : inputs)
    if (known.count(name) == 0)
      fail("the input {} is not one of this model's: {}", name, fmt::join(known, ", "));
}

std::set<std::string> label_inputs(Transformer& net) {
  std::set<std::string> names;
  if (net->language_model_head) names.insert("labels");
  if (net->pixels) names.insert("bool_masked_pos");
  if (net->scores)
    for (const std::string& name : label_inputs(net->scores->spec())) names.insert(name);
  return names;
}

void put_captured(Tensors& out, const std::string& prefix, const Capture::Stack& stack,
                  const Padded& queries) {
  for (std::size_t i = 0; i < stack.hidden.size(); ++i)
    out[fmt::format("{}hidden_states.{}", prefix, i)] = queries.pad(stack.hidden[i]);
  for (std::size_t i = 0; i < stack.self_attentions.size(); ++i)
    out[fmt::format("{}attentions.{}", prefix, i)] = pad_own_weights(stack.self_attentions[i], queries);
}

void keep_real_rows(Capture::Stack& stack, const Padded& whole, const Padded& given) {
  for (Tensor& hidden : stack.hidden) hidden = given.unpad(whole.pad(hidden));
  for (auto* layers : {&stack.self_attentions, &stack.cross_attentions})
    for (std::vector<Tensor>& layer : *layers)
      for (std::size_t b = 0; b < layer.size(); ++b)
        layer[b] = layer[b].index_select(1, given.columns(static_cast<std::int64_t>(b)));
}

}  // namespace attend
