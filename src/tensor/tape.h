// Gradients: a tape of what was computed, along which they are passed back.
//
// An operation computes its result and, where an input needs a gradient, records a Node: which nodes made its
// inputs, and a rule that turns the result's gradient into theirs. backward() goes through the nodes from the
// last to the first. What a node saved is let go as soon as its rule has run, so memory falls on the way.
// Rules themselves are not recorded: there are no second derivatives.
#pragma once

#include "tensor/handle.h"

#include <initializer_list>
#include <utility>

namespace attend::ops {

// Does this thread record?
struct GradMode {
  static bool is_enabled() { return enabled; }
  static void set_enabled(bool on) { enabled = on; }

 private:
  static inline thread_local bool enabled = true;
};

class Recording {
 public:
  explicit Recording(bool on) : before_(recording()) { GradMode::set_enabled(on); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { GradMode::set_enabled(before_); }

 private:
  bool before_;
};
struct Unrecorded : Recording {
  Unrecorded() : Recording(false) {}
};
using Unrecorded = Unrecorded;

// Result number `result` of a node. Null: nothing needs its gradient.
struct Edge {
  std::shared_ptr<Node> node;
  std::size_t result = 0;
  explicit operator bool() const { return node != nullptr; }
};

// What made some results.
struct Node {
  struct Result {
    Dimensions sizes;
    ScalarType type = kFloat;
  };
  Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node();

  // The inputs' gradients, given those of the results, of which some may be undefined. A gradient may have
  // another type than its input, or be of the shape that the input was repeated to.
  virtual std::vector<Tensor> backward(const std::vector<Tensor>& gradients) = 0;
  // Whether backward() has an Edge's gradient added where others are (add_to) in place of making one.
  virtual bool adds() const { return false; }
  virtual void add_to(const Tensor& whole, const Tensor& gradient) const;
  // Lets go of what was saved, after which there is no backward().
  virtual void release() = 0;

  std::vector<Edge> inputs;
  std::vector<Result> results;
  std::uint64_t number;  // a node that is made later has a higher one
};

// The end of the tape: where the gradients of a leaf arrive.
struct Leaf final : Node {
  std::shared_ptr<Tensor::Body> body;
  std::vector<Tensor> backward(const std::vector<Tensor>&) override { return {}; }
  void release() override {}
};

struct Gradients {
  Tensor grad;   // of a leaf
  Edge made_by;  // of a result
  std::weak_ptr<Node> leaf;
  Tensor base;                // a view: of which tensor
  std::uint32_t version = 0;  // a view: how often the memory had changed when made_by was right
};

// Does the tape have to know of what is computed with these?
inline bool needs_gradient(const Tensor& t) {
  return t.defined() && t.needs_gradient();
}
template <class... Tensors>
bool tracked(const Tensors&... inputs) {
  return recording() && (needs_gradient(inputs) || ...);
}

// A tensor that a rule reads. An Error when it is read, if it was changed in place meanwhile.
class Saved {
 public:
  Saved() = default;
  explicit Saved(const Tensor& t) : tensor_(t), version_(t.defined() ? t.version() : 0) {}
  // The result of the node that saves it: a view, for it would keep itself.
  static Saved result(const Tensor& t) { return Saved(t.detach()); }
  const Tensor& operator()() const;

 private:
  Tensor tensor_;
  std::uint32_t version_ = 0;
};

using Rule = std::function<std::vector<Tensor>(const Tensor& gradient)>;
using Part = std::function<Tensor(const Tensor& whole)>;
using Add = std::function<void(const Tensor& whole, const Tensor& gradient)>;

// `result` was made of `inputs`.
void record(const Tensor& result, const std::vector<Tensor>& inputs, Rule rule);
void record(const Tensor& result, std::vector<Edge> inputs, Rule rule);
// `result` is a part of `input`, or was made of rows of it: its gradient is added to the input's by `add`.
void record_adding(const Tensor& result, const Tensor& input, Add add);
// `result` shows `input`'s memory, which is noted while recording is on: all of it, and rule makes a gradient
// of the input's shape of its own; or a part, and part(gradient of input) is where its gradient belongs.
void record_view(const Tensor& result, const Tensor& input, std::function<Tensor(const Tensor&)> rule);
void record_part(const Tensor& result, const Tensor& input, Part part);
// What made it, where gradients of it go.
Edge edge_of(const Tensor& t);

// compute(), with make_rule(result) as the rule if one of `inputs` needs a gradient.
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

// The rule of a write in place: the gradients of what stood there and of the other inputs.
void begin_write(const Tensor& to);  // an Error if the tape cannot have it changed
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

// From outputs back to `wanted`; leaves get their gradient only where nothing is `wanted`.
std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients,
                                 const std::vector<Tensor>& wanted, bool keep_graph);

}  // namespace attend::ops
