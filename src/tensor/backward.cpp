// Gradients passed back along the tape.
#include "tensor/leaf_listener.h"
#include "tensor/ops.h"
#include "tensor/tape.h"

#include <queue>
#include <unordered_map>
#include <unordered_set>

#include <fmt/ranges.h>

namespace attend::ops {
namespace {

// Whether no other handle sees the tensor or its memory, so that it may be overwritten.
bool is_ours(const Tensor& t) {
  return t.handles() == 1 && t.body().data.use_count() == 1 && t.is_contiguous();
}

// x with the place, type and shape of a result: converted, and summed over the dimensions that were
// broadcast.
Tensor fitted(Tensor x, const Node::Result& to) {
  if (x.device() != to.device) x = x.on(to.device);
  if (x.type() != to.type) x = x.to(to.type);
  if (x.sizes() == Dimensions(to.sizes)) return x;
  const std::size_t more = x.sizes().size() - std::min(x.sizes().size(), to.sizes.size());
  Dimensions dims;
  for (std::size_t d = 0; d < x.sizes().size(); ++d)
    if (d < more || (to.sizes[d - more] == 1 && x.sizes()[d] != 1))
      dims.push_back(static_cast<std::int64_t>(d));
  const Dimensions from = x.sizes();
  if (dims.size() > 0) x = x.sum(dims, /*keep=*/true);
  for (std::size_t d = 0; d < more; ++d) x = x.select(0, 0);
  if (x.sizes() == Dimensions(to.sizes)) return x;
  if (more == 0 && x.numel() == 1 && to.sizes.size() == 0) return x.reshape({});
  fail("a gradient has the shape [{}], but its tensor has [{}]", fmt::join(Dimensions(from).vec(), ", "),
       fmt::join(Dimensions(to.sizes).vec(), ", "));
}

void accumulate(const Leaf& leaf, Tensor gradient) {
  if (!leaf.body->gradients) leaf.body->gradients = std::make_shared<Gradients>();
  Tensor& grad = leaf.body->gradients->gradient;
  if (grad.defined()) {
    grad.add_(gradient);
  } else {
    grad = is_ours(gradient) ? std::move(gradient) : gradient.clone();
  }
}

class Engine {
 public:
  Engine(const std::vector<Tensor>& wanted, bool keeps_tape) : keeps_(keeps_tape), all_(wanted.empty()) {
    for (const Tensor& tensor : wanted) wanted_.push_back(edge_of(tensor));
    found_.resize(wanted.size());
    for (const Edge& edge : wanted_)
      if (edge) ends_.insert(edge.node.get());
  }

  void begin(const Edge& edge, const Tensor& gradient) {
    if (!edge) fail("gradients were requested of a tensor that needs none");
    explore(edge.node);
    roots_.emplace_back(edge, gradient);
  }

  std::vector<Tensor> run() {
    const Unrecorded unrecorded;
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
    std::vector<Tensor> gradients;  // of the results; undefined until one arrives
    std::size_t waits = 0;          // edges from which more gradients may come
    bool leads = false;             // whether a path leads from here to an end
    bool ready = false, explored = false;
  };

  // Depth first without recursion: finds the reached nodes, how many edges lead to each, and which of them
  // lead to an end.
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

  // The sum of an edge's gradients, which the caller may write to.
  const Tensor& whole(const Edge& edge) {
    Tensor& sum = states_.at(edge.node.get()).gradients.at(edge.result);
    const Node::Result& result = edge.node->results.at(edge.result);
    if (!sum.defined())
      sum = zeros(result.sizes, result.type, result.device);
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
      if (!all_ || !gradients.front().defined()) return;
      accumulate(*leaf, std::move(gradients.front()));
      LeafListener::tell(leaf->body.get());
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

thread_local LeafListener* leaf_listener = nullptr;

}  // namespace

LeafListener::LeafListener(std::function<void(const void*)> arrived) : arrived_(std::move(arrived)) {
  if (leaf_listener != nullptr) fail("only one listener for gradients may exist at a time");
  leaf_listener = this;
}

LeafListener::~LeafListener() {
  leaf_listener = nullptr;
}

void LeafListener::tell(const void* leaf) {
  if (leaf_listener != nullptr) leaf_listener->arrived_(leaf);
}

std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients,
                                 const std::vector<Tensor>& wanted, bool keeps_tape) {
  Engine engine(wanted, keeps_tape);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tensor gradient = i < gradients.size() ? gradients[i] : Tensor();
    if (!gradient.defined()) {
      if (outputs[i].numel() != 1)
        fail("backward() needs a tensor with one number, found [{}]",
             fmt::join(outputs[i].sizes().vec(), ", "));
      gradient = ones_like(outputs[i]);
    }
    engine.begin(edge_of(outputs[i]), gradient);
  }
  return engine.run();
}

std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& given, const GradientOptions& options) {
  std::vector<Tensor> found = run_backward(outputs, given, inputs, options.keeps_tape);
  for (const Tensor& t : found)
    if (!t.defined() && !options.may_be_unused)
      fail("a gradient was requested for a tensor that was not used");
  return found;
}

}  // namespace attend::ops
