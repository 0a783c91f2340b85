#include "tensor/tape.h"

#include "tensor/ops.h"
#include "tensor/walk.h"

#include <limits>
#include <mutex>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace attend::ops {
namespace {

std::atomic<std::uint64_t> nodes_made = 0;

[[noreturn]] void fail_released() {
  fail("gradients were asked for a second time, of what was let go after the first");
}

// Where gradients of a leaf arrive.
struct Leaf final : Node {
  std::shared_ptr<Tensor::Body> body;
  std::vector<Tensor> backward(const std::vector<Tensor>&) override { return {}; }
  void release() override {}
};

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
  if (!result.is_floating_point()) return;  // whole numbers have no gradient
  node->results = {{result.sizes(), result.scalar_type()}};
  gradients_of(result).made_by = {std::move(node), 0};
  result.body().requires_grad = true;
}

// A view of the memory of `base`, described so that the same part of another tensor of its shape can be seen.
Part part_of(const Tensor& base, const Tensor& view) {
  if (!base.is_contiguous() || base.scalar_type() != view.scalar_type())
    fail("a view of [{}] is too involved to be changed in place while gradients are recorded",
         fmt::join(base.sizes().vec(), ", "));
  const std::ptrdiff_t offset = view.body().data.get() - base.body().data.get();
  return [offset, sizes = view.body().sizes, strides = view.body().strides](const Tensor& whole) {
    auto body = std::make_shared<Tensor::Body>(*whole.body_ptr());
    body->gradients = nullptr;
    body->requires_grad = false;
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

// A tensor that nobody else sees, and may be written to.
bool is_ours(const Tensor& t) {
  return t.handles() == 1 && t.body().data.use_count() == 1 && t.is_contiguous();
}

// x summed over what it was repeated along, and of the type of what was repeated.
Tensor fitted(Tensor x, const Node::Result& to) {
  if (x.scalar_type() != to.type) x = x.to(to.type);
  if (x.sizes() == IntArrayRef(to.sizes)) return x;
  const std::size_t more = x.sizes().size() - std::min(x.sizes().size(), to.sizes.size());
  Dimensions dims;
  for (std::size_t d = 0; d < x.sizes().size(); ++d)
    if (d < more || (to.sizes[d - more] == 1 && x.sizes()[d] != 1))
      dims.push_back(static_cast<std::int64_t>(d));
  const Dimensions from = x.sizes();
  if (dims.size() > 0) x = x.sum(dims, /*keep=*/true);
  for (std::size_t d = 0; d < more; ++d) x = x.select(0, 0);
  if (x.sizes() == IntArrayRef(to.sizes)) return x;
  if (more == 0 && x.numel() == 1 && to.sizes.size() == 0) return x.reshape({});
  fail("a gradient of [{}] for what is [{}]", fmt::join(IntArrayRef(from).vec(), ", "),
       fmt::join(IntArrayRef(to.sizes).vec(), ", "));
}

void accumulate(const Leaf& leaf, Tensor gradient) {
  if (!leaf.body->gradients) leaf.body->gradients = std::make_shared<Gradients>();
  Tensor& grad = leaf.body->gradients->grad;
  if (grad.defined()) {
    grad.add_(gradient);
  } else {
    grad = is_ours(gradient) ? std::move(gradient) : gradient.clone();
  }
}

class Engine {
 public:
  Engine(const std::vector<Tensor>& wanted, bool keep_graph) : keeps_(keep_graph), all_(wanted.empty()) {
    for (const Tensor& tensor : wanted) wanted_.push_back(edge_of(tensor));
    found_.resize(wanted.size());
    for (const Edge& edge : wanted_)
      if (edge) ends_.insert(edge.node.get());
  }

  void begin(const Edge& edge, const Tensor& gradient) {
    if (!edge) fail("gradients were asked of what needs none");
    explore(edge.node);
    roots_.emplace_back(edge, gradient);
  }

  std::vector<Tensor> run() {
    const NoGradGuard unrecorded;
    for (auto& [edge, gradient] : roots_) {
      if (!states_.at(edge.node.get()).leads) continue;
      add(edge, std::move(gradient));
    }
    for (auto& [edge, gradient] : roots_) {
      State& state = states_.at(edge.node.get());
      if (state.leads && state.waits == 0 && !state.ready) {
        state.ready = true;
        ready_.push(edge.node.get());
      }
    }
    roots_.clear();
    while (!ready_.empty()) {
      Node* const node = ready_.top();
      ready_.pop();
      visit(*node);
    }
    return std::move(found_);
  }

 private:
  struct State {
    std::vector<Tensor> gradients;  // of the results, as far as they are there
    std::size_t waits = 0;          // edges on which more may come
    bool leads = false;             // to something that is wanted
    bool ready = false, explored = false;
  };

  // Depth first without recursion: which nodes are reached, by how many edges, and which lead to an end.
  void explore(const std::shared_ptr<Node>& root) {
    struct Step {
      Node* node;
      std::size_t next = 0;
    };
    std::vector<Step> path;
    const auto enter = [&](Node* node) {
      State& state = states_[node];
      state.explored = true;
      state.gradients.resize(std::max<std::size_t>(1, node->results.size()));
      state.leads = all_ || ends_.contains(node);
      path.push_back({node});
    };
    if (states_.contains(root.get()) && states_[root.get()].explored) return;
    enter(root.get());
    while (!path.empty()) {
      Step& step = path.back();
      if (step.next < step.node->inputs.size()) {
        Node* const node = step.node->inputs[step.next++].node.get();
        if (node == nullptr) continue;
        ++states_[node].waits;
        if (!states_[node].explored) enter(node);
        continue;
      }
      Node* const done = step.node;
      path.pop_back();
      bool& leads = states_[done].leads;
      for (const Edge& edge : done->inputs) leads = leads || (edge && states_[edge.node.get()].leads);
    }
  }

  void add(const Edge& edge, Tensor gradient) {
    gradient = fitted(std::move(gradient), edge.node->results.at(edge.result));
    Tensor& sum = states_.at(edge.node.get()).gradients.at(edge.result);
    if (!sum.defined())
      sum = std::move(gradient);
    else if (is_ours(sum))
      sum.add_(gradient);
    else
      sum = sum + gradient;
  }

  // The sum of an edge's gradients, to be written to.
  const Tensor& whole(const Edge& edge) {
    Tensor& sum = states_.at(edge.node.get()).gradients.at(edge.result);
    const Node::Result& result = edge.node->results.at(edge.result);
    if (!sum.defined())
      sum = zeros(result.sizes, result.type);
    else if (!is_ours(sum))
      sum = sum.clone();
    return sum;
  }

  void keep_wanted(const Node& node, const std::vector<Tensor>& gradients) {
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      if (wanted_[i].node.get() == &node) found_[i] = gradients.at(wanted_[i].result);
  }

  void visit(Node& node) {
    std::vector<Tensor> gradients = std::move(states_.at(&node).gradients);
    keep_wanted(node, gradients);
    if (auto* const leaf = dynamic_cast<Leaf*>(&node)) {
      if (all_ && gradients.front().defined()) accumulate(*leaf, std::move(gradients.front()));
      return;
    }
    const bool any =
        std::any_of(gradients.begin(), gradients.end(), [](const Tensor& t) { return t.defined(); });
    bool leads = false;
    for (const Edge& edge : node.inputs) leads = leads || (edge && states_.at(edge.node.get()).leads);
    std::vector<Tensor> results(node.inputs.size());
    if (any && leads) {
      if (node.adds())
        node.add_to(whole(node.inputs.front()), gradients.front());
      else
        results = node.backward(gradients);
      if (results.size() < node.inputs.size()) results.resize(node.inputs.size());
      if (!keeps_) node.release();
    }
    gradients.clear();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Edge& edge = node.inputs[i];
      if (!edge) continue;
      State& state = states_.at(edge.node.get());
      if (state.leads && results[i].defined()) add(edge, std::exchange(results[i], {}));
      if (--state.waits == 0 && state.leads && !state.ready) {
        state.ready = true;
        ready_.push(edge.node.get());
      }
    }
  }

  struct Earlier {
    bool operator()(const Node* a, const Node* b) const { return a->number < b->number; }
  };
  bool keeps_, all_;
  std::vector<Edge> wanted_;
  std::unordered_set<const Node*> ends_;
  std::vector<Tensor> found_;
  std::vector<std::pair<Edge, Tensor>> roots_;
  std::unordered_map<const Node*, State> states_;
  std::priority_queue<Node*, std::vector<Node*>, Earlier> ready_;
};

}  // namespace

Node::Node() : number(nodes_made.fetch_add(1, std::memory_order_relaxed)) {}

// A tape may be long, and nodes that let go of each other would call each other so deep.
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
  fail("a step of the tape that does not add was asked to");
}

const Tensor& Saved::operator()() const {
  if (tensor_.defined() && tensor_._version() != version_)
    fail("[{}] was changed in place, but its gradient needs what it was",
         fmt::join(tensor_.sizes().vec(), ", "));
  return tensor_;
}

Edge edge_of(const Tensor& t) {
  if (!needs_gradient(t)) return {};
  Gradients& own = gradients_of(t);
  // A view of what was changed in place meanwhile is a part of what it has become.
  if (own.base.defined() && own.version != t._version()) {
    own.made_by = {};
    own.version = t._version();
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
    made->results = {{t.sizes(), t.scalar_type()}};
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
  own.version = view._version();
}

}  // namespace

void record_view(const Tensor& result, const Tensor& input, std::function<Tensor(const Tensor&)> rule) {
  if (!GradMode::is_enabled()) return;
  note_base(result, input);
  if (needs_gradient(input))
    record(result, std::vector<Tensor>{input},
           [rule = std::move(rule)](const Tensor& gradient) { return std::vector<Tensor>{rule(gradient)}; });
}

void record_part(const Tensor& result, const Tensor& input, Part part) {
  if (!GradMode::is_enabled()) return;
  note_base(result, input);
  if (needs_gradient(input)) record_adding(result, input, adding(std::move(part)));
}

void begin_write(const Tensor& to) {
  const auto refuse = [](const Tensor& t) {
    if (t.body().requires_grad && t.is_leaf())
      fail("a leaf that needs a gradient was to be changed in place while gradients are recorded");
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
  const auto before = [&](const Tensor& t) {  // what made it until now, whatever its version
    return t.body().gradients ? t.body().gradients->made_by : Edge{};
  };
  edges.push_back(before(base.defined() ? base : to));
  for (const Tensor& other : others) edges.push_back(edge_of(other));
  if (!base.defined()) return record(to, std::move(edges), std::move(rule));
  const Part part = part_of(base, to);
  record(base, std::move(edges), [part, rule = std::move(rule)](const Tensor& gradient) {
    const Tensor whole = gradient.contiguous(), own = part(whole);
    std::vector<Tensor> results = rule(own);
    if (!results.front().is_same(own)) {  // what stood there before has another gradient
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
  own.version = to._version();
}

std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients,
                                 const std::vector<Tensor>& wanted, bool keep_graph) {
  Engine engine(wanted, keep_graph);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tensor gradient = i < gradients.size() ? gradients[i] : Tensor();
    if (!gradient.defined()) {
      if (outputs[i].numel() != 1)
        fail("gradients begin at one number, found [{}]", fmt::join(outputs[i].sizes().vec(), ", "));
      gradient = ones_like(outputs[i]);
    }
    engine.begin(edge_of(outputs[i]), gradient);
  }
  return engine.run();
}

// A view of something that came to need gradients after the view was made.
bool Tensor::sees_gradients() const {
  return body().gradients->base.defined() && body().gradients->version != _version() &&
         body().gradients->base.requires_grad();
}

const Tensor& Tensor::requires_grad_(bool on) const {
  if (on && !is_floating_point())
    fail("expected floating point numbers, whose gradients there are, found {}", toString(scalar_type()));
  if (!on && !is_leaf()) fail("a result needs the gradient that its inputs need: detach it");
  body().requires_grad = on;
  return *this;
}

std::shared_ptr<Node> Tensor::grad_fn() const {
  const auto& own = body().gradients;
  if (!own) return nullptr;
  if (own->base.defined() && own->version != _version()) edge_of(*this);
  return own->made_by.node;
}

Tensor Tensor::grad() const {
  return body().gradients ? body().gradients->grad : Tensor();
}

Tensor& Tensor::mutable_grad() const {
  return gradients_of(*this).grad;
}

void Tensor::backward(bool keep_graph) const {
  run_backward({*this}, {}, {}, keep_graph);
}

}  // namespace attend::ops
