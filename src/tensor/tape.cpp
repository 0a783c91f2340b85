#include "tensor/tape.h"

#include "tensor/ops.h"
#include "tensor/walk.h"

#include <limits>
#include <mutex>

namespace attend::ops {
namespace {

thread_local bool records = true;
std::atomic<std::uint64_t> nodes_made = 0;

[[noreturn]] void fail_released() {
  fail("backward() was called a second time, but the saved tensors were freed after the first");
}

struct RuleNode final : Node {
  Rule rule;
  std::vector<Tensor> backward(const std::vector<Tensor>& gradients) override {
    if (!rule) fail_released();
    return rule(gradients.front());
  }
  void release() override { rule = nullptr; }
};

struct AddingNode final : Node {
  Add add;
  std::vector<Tensor> backward(const std::vector<Tensor>&) override { return {}; }
  bool adds() const override { return true; }
  void add_to(const Tensor& whole, const Tensor& gradient) const override {
    if (!add) fail_released();
    add(whole, gradient);
  }
  void release() override { add = nullptr; }
};

Gradients& gradients_of(const Tensor& t) {
  auto& gradients = t.body().gradients;
  if (!gradients) gradients = std::make_shared<Gradients>();
  return *gradients;
}

void set_maker(const Tensor& result, std::shared_ptr<Node> node) {
  if (!result.is_floating_point()) return;  // integers have no gradient
  node->results = {{result.sizes(), result.type(), result.device()}};
  gradients_of(result).made_by = {std::move(node), 0};
  result.body().needs_gradient = true;
}

// Describes a view of `base`'s memory so that the same part of another tensor with its shape can be made.
Part part_of(const Tensor& base, const Tensor& view) {
  if (!base.is_contiguous() || base.type() != view.type())
    fail("a view of [{}] is too complex to be changed in place while gradients are recorded",
         fmt::join(base.sizes().vec(), ", "));
  const std::ptrdiff_t offset = view.body().data.get() - base.body().data.get();
  return [offset, sizes = view.body().sizes, strides = view.body().strides](const Tensor& whole) {
    auto body = std::make_shared<Tensor::Body>(*whole.body_ptr());
    body->gradients = nullptr;
    body->home_copy = nullptr;
    body->needs_gradient = false;
    body->data = std::shared_ptr<std::byte>(whole.body().data, whole.body().data.get() + offset);
    body->sizes = sizes;
    body->strides = strides;
    return Tensor(std::move(body));
  };
}

Add adding(Part part) {
  return
      [part = std::move(part)](const Tensor& whole, const Tensor& gradient) { part(whole).add_(gradient); };
}

}  // namespace

bool recording() {
  return records;
}
Recording::Recording(bool on) : before_(std::exchange(records, on)) {}
Recording::~Recording() {
  records = before_;
}

Node::Node() : number(nodes_made.fetch_add(1, std::memory_order_relaxed)) {}

// A tape may be long. Without this, nodes that free each other would recurse as deep as the tape is long.
Node::~Node() {
  thread_local std::vector<std::shared_ptr<Node>>* waiting = nullptr;
  const auto give = [&](std::vector<std::shared_ptr<Node>>& to) {
    for (Edge& edge : inputs)
      if (edge) to.push_back(std::move(edge.node));
  };
  if (waiting != nullptr) {
    give(*waiting);
    return;
  }
  std::vector<std::shared_ptr<Node>> own;
  waiting = &own;
  give(own);
  while (!own.empty()) {
    const std::shared_ptr<Node> last = std::move(own.back());
    own.pop_back();
  }
  waiting = nullptr;
}

void Node::add_to(const Tensor&, const Tensor&) const {
  fail("a node of the tape that does not support add_to was asked to add");
}

const Tensor& Saved::operator()() const {
  if (tensor_.defined() && tensor_.version() != version_)
    fail("[{}] was changed in place, but its gradient needs the old values",
         fmt::join(tensor_.sizes().vec(), ", "));
  return tensor_;
}

Edge edge_of(const Tensor& t) {
  if (!needs_gradient(t)) return {};
  Gradients& own = gradients_of(t);
  // A view of memory that was changed in place later is a part of the changed tensor.
  if (own.base.defined() && own.version != t.version()) {
    own.made_by = {};
    own.version = t.version();
    if (Edge edge = edge_of(own.base)) {
      auto node = std::make_shared<AddingNode>();
      node->add = adding(part_of(own.base, t));
      node->inputs.push_back(std::move(edge));
      set_maker(t, std::move(node));
    }
  }
  if (own.made_by) return own.made_by;
  static std::mutex making;
  const std::lock_guard lock(making);
  std::shared_ptr<Node> leaf = own.leaf.lock();
  if (!leaf) {
    auto made = std::make_shared<Leaf>();
    made->body = t.body_ptr();
    made->results = {{t.sizes(), t.type(), t.device()}};
    made->number = std::numeric_limits<std::uint64_t>::max();
    own.leaf = leaf = std::move(made);
  }
  return {std::move(leaf), 0};
}

void record(const Tensor& result, std::vector<Edge> inputs, Rule rule) {
  auto node = std::make_shared<RuleNode>();
  node->inputs = std::move(inputs);
  node->rule = std::move(rule);
  set_maker(result, std::move(node));
}

void record(const Tensor& result, const std::vector<Tensor>& inputs, Rule rule) {
  std::vector<Edge> edges;
  for (const Tensor& input : inputs) edges.push_back(edge_of(input));
  record(result, std::move(edges), std::move(rule));
}

void record_adding(const Tensor& result, const Tensor& input, Add add) {
  auto node = std::make_shared<AddingNode>();
  node->inputs.push_back(edge_of(input));
  node->add = std::move(add);
  set_maker(result, std::move(node));
}

namespace {

void note_base(const Tensor& view, const Tensor& input) {
  Gradients& own = gradients_of(view);
  const auto& of_input = input.body().gradients;
  own.base = of_input && of_input->base.defined() ? of_input->base : input;
  own.version = view.version();
}

}  // namespace

void record_view(const Tensor& result, const Tensor& input, std::function<Tensor(const Tensor&)> rule) {
  if (!recording()) return;
  note_base(result, input);
  if (needs_gradient(input))
    record(result, std::vector<Tensor>{input},
           [rule = std::move(rule)](const Tensor& gradient) { return std::vector<Tensor>{rule(gradient)}; });
}

void record_part(const Tensor& result, const Tensor& input, Part part) {
  if (!recording()) return;
  note_base(result, input);
  if (needs_gradient(input)) record_adding(result, input, adding(std::move(part)));
}

void begin_write(const Tensor& to) {
  const auto refuse = [](const Tensor& t) {
    if (t.body().needs_gradient && t.is_leaf())
      fail("a leaf that needs a gradient cannot be changed in place while gradients are recorded");
  };
  const auto& own = to.body().gradients;
  if (own && own->base.defined())
    refuse(own->base);
  else
    refuse(to);
}

void record_write(const Tensor& to, const std::vector<Tensor>& others, Rule rule) {
  const auto& gradients = to.body().gradients;
  const Tensor base = gradients ? gradients->base : Tensor();
  std::vector<Edge> edges;
  const auto before = [&](const Tensor& t) {  // the node that made it so far, whatever its version
    return t.body().gradients ? t.body().gradients->made_by : Edge{};
  };
  edges.push_back(before(base.defined() ? base : to));
  for (const Tensor& other : others) edges.push_back(edge_of(other));
  if (!base.defined()) return record(to, std::move(edges), std::move(rule));
  const Part part = part_of(base, to);
  record(base, std::move(edges), [part, rule = std::move(rule)](const Tensor& gradient) {
    const Tensor whole = gradient.contiguous(), own = part(whole);
    std::vector<Tensor> results = rule(own);
    if (!results.front().is_same(own)) {  // the overwritten values have another gradient
      const Tensor changed = whole.clone(), there = part(changed);
      if (results.front().defined())
        there.copy_(results.front());
      else
        there.zero_();
      results.front() = changed;
    } else {
      results.front() = whole;
    }
    return results;
  });
  Gradients& own = *to.body().gradients;
  auto node = std::make_shared<AddingNode>();
  node->add = adding(part);
  node->inputs.push_back(edge_of(base));
  set_maker(to, std::move(node));
  own.version = to.version();
}

// A view of a tensor that started to need gradients after the view was made.
bool Tensor::sees_gradients() const {
  return body().gradients->base.defined() && body().gradients->version != version() &&
         body().gradients->base.needs_gradient();
}

const Tensor& Tensor::set_needs_gradient(bool on) const {
  if (on && !is_floating_point())
    fail("only floating-point tensors can need gradients, found {}", name_of(type()));
  if (!on && !is_leaf())
    fail("the result of an operation needs a gradient if its inputs do: detach it first");
  body().needs_gradient = on;
  return *this;
}

std::shared_ptr<Node> Tensor::made_by() const {
  const auto& own = body().gradients;
  if (!own) return nullptr;
  if (own->base.defined() && own->version != version()) edge_of(*this);
  return own->made_by.node;
}

Tensor Tensor::gradient() const {
  return body().gradients ? body().gradients->gradient : Tensor();
}

Tensor& Tensor::mutable_gradient() const {
  return gradients_of(*this).gradient;
}

void Tensor::backward(bool keep_graph) const {
  run_backward({*this}, {}, {}, keep_graph);
}

}  // namespace attend::ops
