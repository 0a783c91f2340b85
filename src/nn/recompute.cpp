#include "nn/recompute.h"

#include "nn/linear.h"

namespace attend {
namespace {

struct SavedSegment : autograd::Kept {
  Recomputable function;
  Pass before;
  bool bfloat16 = false;
  std::size_t inputs = 0;  // of the saved tensors; parameters follow
};

// The inputs cut off from the graph they come from.
std::vector<Tensor> leaves(TensorList inputs) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs)
    leaves.push_back(input.detach().set_needs_gradient(input.needs_gradient()));
  return leaves;
}

struct Recompute : autograd::Function<Recompute> {
  static Tensor forward(autograd::AutogradContext* ctx, const Recomputable& function,
                        const TensorList& inputs, const TensorList& parameters, Pass* pass) {
    std::vector<Tensor> kept = inputs.vec();
    kept.insert(kept.end(), parameters.begin(), parameters.end());
    ctx->save_for_backward(std::move(kept));  // the parameters only to notice that one was changed meanwhile
    auto saved = std::make_shared<SavedSegment>();
    saved->function = function;
    saved->before = *pass;
    saved->bfloat16 = Bfloat16Products::on();
    saved->inputs = inputs.size();
    ctx->saved_data["saved"] = std::shared_ptr<autograd::Kept>(std::move(saved));
    // With a graph, which is dropped at once: without one blocks take other paths, which round otherwise.
    Recording gradients(true);
    const Tensor result = function(leaves(inputs), *pass).detach();
    // A copy lies in memory that the graph left; the result itself lies behind it and would keep it in
    // pieces.
    return result.clone();
  }

  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list gradients) {
    const auto kept = ctx->get_saved_variables();
    const auto capsule = ctx->saved_data["saved"].kept();
    const SavedSegment& saved = static_cast<const SavedSegment&>(*capsule);
    const Recording with_graph(true);
    const Bfloat16Products rounded(saved.bfloat16);
    std::vector<Tensor> sources = leaves(TensorList(kept).slice(0, saved.inputs));
    Pass pass = saved.before;
    const Tensor result = saved.function(sources, pass);
    sources.insert(sources.end(), kept.begin() + static_cast<std::ptrdiff_t>(saved.inputs), kept.end());
    std::vector<Tensor> wanted;
    for (const Tensor& source : sources)
      if (source.needs_gradient()) wanted.push_back(source);
    const auto found = autograd::grad({result}, wanted, {gradients[0]}, /*retain_graph=*/false,
                                      /*create_graph=*/false, /*allow_unused=*/true);
    autograd::variable_list all{Tensor()};  // the function has none
    auto next = found.begin();
    for (const Tensor& source : sources) all.push_back(source.needs_gradient() ? *next++ : Tensor());
    all.emplace_back();  // nor has the pass
    return all;
  }
};

}  // namespace

Tensor recompute(const Recomputable& function, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& parameters, Pass& pass) {
  return Recompute::apply(function, TensorList(inputs), TensorList(parameters), &pass);
}

}  // namespace attend
