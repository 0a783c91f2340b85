#include "nn/transformer/recompute.h"

#include "nn/linear/linear.h"

namespace attend {
namespace {

// The inputs, detached from their graph.
std::vector<Tensor> leaves(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs)
    leaves.push_back(input.detach().set_needs_gradient(input.needs_gradient()));
  return leaves;
}

// The gradients of the inputs, then of the parameters.
std::vector<Tensor> gradients_again(const Recomputable& function, const std::vector<Tensor>& inputs,
                                    const std::vector<Tensor>& parameters, Pass pass, LayerWeights* weights,
                                    const Tensor& gradient) {
  const Recording with_graph(true);
  std::vector<Tensor> sources = leaves(inputs);
  const InMemory in_memory(weights, parameters);
  const Tensor result = function(sources, pass);
  sources.insert(sources.end(), parameters.begin(), parameters.end());
  std::vector<Tensor> wanted;
  for (const Tensor& source : sources)
    if (source.needs_gradient()) wanted.push_back(source);
  const std::vector<Tensor> found = ops::gradients({result}, wanted, {gradient}, {.may_be_unused = true});
  std::vector<Tensor> all;
  auto next = found.begin();
  for (const Tensor& source : sources) all.push_back(source.needs_gradient() ? *next++ : Tensor());
  if (weights != nullptr) weights->sum(parameters, std::span(all).subspan(inputs.size()));
  return all;
}

std::vector<Tensor> read(const std::vector<ops::Saved>& saved) {
  std::vector<Tensor> tensors;
  for (const ops::Saved& tensor : saved) tensors.push_back(tensor());
  return tensors;
}

}  // namespace

Tensor recompute(const Recomputable& function, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& parameters, Pass& pass,
                 const std::shared_ptr<LayerWeights>& weights) {
  const Pass before = pass;
  Tensor result;
  {
    // With a graph, which is dropped at once: without one, layers use other code, which rounds differently.
    const Recording with_graph(true);
    const InMemory in_memory(weights.get(), parameters);
    // A copy can use memory that the graph freed; the result itself is allocated after the graph and would
    // fragment that memory.
    result = function(leaves(inputs), pass).detach().clone();
  }
  std::vector<Tensor> sources = inputs;
  sources.insert(sources.end(), parameters.begin(), parameters.end());
  if (!recording() || std::none_of(sources.begin(), sources.end(), needs_gradient)) return result;
  // The parameters are saved only to detect that one was changed before the backward pass.
  ops::record(result, sources,
              [function, before, weights, bfloat16 = Bfloat16Products::on(),
               saved_inputs = std::vector<ops::Saved>(inputs.begin(), inputs.end()),
               saved_parameters =
                   std::vector<ops::Saved>(parameters.begin(), parameters.end())](const Tensor& gradient) {
                const Bfloat16Products rounded(bfloat16);
                return gradients_again(function, read(saved_inputs), read(saved_parameters), before,
                                       weights.get(), gradient);
              });
  return result;
}

}  // namespace attend
