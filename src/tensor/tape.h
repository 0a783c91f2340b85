// Gradients: a tape of the computed operations, along which gradients are passed back.
//
// An operation computes its result and, if an input needs a gradient, records a Node: the nodes that made its
// inputs, and a rule that turns the result's gradient into the inputs' gradients. backward() goes through the
// nodes from the last to the first. A node frees its saved tensors as soon as its rule has run, so memory use
// falls during the pass. The rules themselves are not recorded: there are no second derivatives.
#pragma once

#include "tensor/handle.h"

#include <initializer_list>
#include <utility>

namespace attend::ops {

// Whether this thread records. Changed for a scope: `const Unrecorded scope;`, `const Recording
// scope(true);`.
bool recording();

class Recording {
 public:
  explicit Recording(bool on);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();

 private:
  bool before_;
};
struct Unrecorded : Recording {
  Unrecorded() : Recording(false) {}
};

// Result number `result` of a node. Null: nothing needs its gradient.
struct Edge {
  std::shared_ptr<Node> node;
  std::size_t result = 0;
  explicit operator bool() const { return node != nullptr; }
};

// An operation that made some results.
struct Node {
  struct Result {
    Dimensions sizes;
    ScalarType type = kFloat;
    Device* device = nullptr;
  };
  Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node();

  // The gradients of the inputs, from those of the results; some of the latter may be undefined. A gradient
  // may have another type than its input, or the shape to which the input was broadcast.
  virtual std::vector<Tensor> backward(const std::vector<Tensor>& gradients) = 0;
  // Whether backward() adds an edge's gradient to the existing sum (add_to) instead of making a new tensor.
  virtual bool adds() const { return false; }
  virtual void add_to(const Tensor& whole, const Tensor& gradient) const;
  // Frees what was saved; backward() is not possible afterwards.
  virtual void release() = 0;

  std::vector<Edge> inputs;
  std::vector<Result> results;
  std::uint64_t number;  // later nodes have higher numbers
};

// The end of the tape: gradients of a leaf are added here.
struct Leaf final : Node {
  std::shared_ptr<Tensor::Body> body;
  std::vector<Tensor> backward(const std::vector<Tensor>&) override { return {}; }
  void release() override {}
};

struct Gradients {
  Tensor gradient;  // of a leaf
  Edge made_by;     // of a result
  std::weak_ptr<Node> leaf;
  Tensor base;                // of a view: the tensor that it views
  std::uint32_t version = 0;  // of a view: the version of the memory for which made_by is valid
};

// Whether the tape must record what is computed with these.
inline bool needs_gradient(const Tensor& t) {
  return t.defined() && t.needs_gradient();
}
template <class... Tensors>
bool tracked(const Tensors&... inputs) {
  return recording() && (needs_gradient(inputs) || ...);
}

// A tensor that a rule reads. Reading it is an Error if it was changed in place after it was saved.
class Saved {
 public:
  Saved() = default;
  explicit Saved(const Tensor& t) : tensor_(t), version_(t.defined() ? t.version() : 0) {}
  // For a result of the node that saves it: detached, because a node must not keep itself alive.
  static Saved result(const Tensor& t) { return Saved(t.detach()); }
  const Tensor& operator()() const;

 private:
  Tensor tensor_;
  std::uint32_t version_ = 0;
};

using Rule = std::function<std::vector<Tensor>(const Tensor& gradient)>;
using Part = std::function<Tensor(const Tensor& whole)>;
using Add = std::function<void(const Tensor& whole, const Tensor& gradient)>;

// Records that `result` was made from `inputs`.
void record(const Tensor& result, const std::vector<Tensor>& inputs, Rule rule);
void record(const Tensor& result, std::vector<Edge> inputs, Rule rule);
// `result` is a part of `input`, or made of its rows: `add` adds the result's gradient to the input's.
void record_adding(const Tensor& result, const Tensor& input, Add add);
// `result` shows `input`'s memory; this is recorded only while recording is on. The first shows all of it,
// and rule makes a new gradient of the input's shape. The second shows a part: part(gradient of input) is
// where the gradient of the result belongs.
void record_view(const Tensor& result, const Tensor& input, std::function<Tensor(const Tensor&)> rule);
void record_part(const Tensor& result, const Tensor& input, Part part);
// The node that made t, to which its gradients go.
Edge edge_of(const Tensor& t);

// compute(), with make_rule(result) as the gradient rule if one of `inputs` needs a gradient.
template <class Compute, class MakeRule, class... Inputs>
Tensor with_rule(const Compute& compute, const MakeRule& make_rule, const Inputs&... inputs) {
  if (!tracked(inputs...)) return compute();
  Tensor result;
  {
    const Unrecorded unrecorded;
    result = compute();
  }
  record(result, std::vector<Tensor>{inputs...}, make_rule(result));
  return result;
}

// For writes in place: the rule gives the gradients of the overwritten values and of the other inputs.
void begin_write(const Tensor& to);  // an Error if the tape cannot allow the change
void record_write(const Tensor& to, const std::vector<Tensor>& others, Rule rule);

template <class Write, class MakeRule, class... Inputs>
const Tensor& in_place(const Tensor& to, const Write& write, const MakeRule& make_rule,
                       const Inputs&... others) {
  if (!tracked(to, others...)) {
    write();
    to.bump_version();
    return to;
  }
  begin_write(to);
  Rule rule = make_rule();
  {
    const Unrecorded unrecorded;
    write();
  }
  to.bump_version();
  record_write(to, std::vector<Tensor>{others...}, std::move(rule));
  return to;
}

// From the outputs back to `wanted`; leaves get gradients only if `wanted` is empty.
std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients,
                                 const std::vector<Tensor>& wanted, bool keeps_tape);

// The gradients of `outputs` (1 for each, or `given`) with respect to `inputs`.
struct GradientOptions {
  bool keeps_tape = false;     // so that it can be called again
  bool may_be_unused = false;  // an input that no output depends on has an undefined gradient; else an Error
};
std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& given = {}, const GradientOptions& options = {});

}  // namespace attend::ops
