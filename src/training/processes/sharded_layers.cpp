#include "training/processes/sharded_layers.h"

#include "nn/linear/packed_matrix.h"
#include "tensor/file_memory.h"

#include <algorithm>

namespace attend {
namespace {

constexpr std::size_t kGroupPieces = 64;          // the bits of Need::pieces
constexpr std::int64_t kBucketNumbers = 1 << 23;  // 32 MB

bool has(std::uint64_t pieces, std::size_t i) {
  return (pieces >> i & 1) != 0;
}

// How often the network uses each of its parameters.
std::map<const void*, int> count_uses(const Transformer& network) {
  std::map<const void*, int> uses;
  for (const auto& module : network->modules())
    for (const Tensor& parameter : module->parameters(/*recurse=*/false)) ++uses[parameter.identity()];
  return uses;
}

}  // namespace

ShardedLayers::ShardedLayers(Ranks& ranks) : ranks_(ranks) {
  ranks_.before_collectives([this] { meet({}); });
}

ShardedLayers::~ShardedLayers() {
  ranks_.before_collectives(nullptr);
  // If a process was lost, the engine may still write to this memory.
  if (!sums_.empty()) static_cast<void>(new std::vector<Sum>(std::move(sums_)));
}

void ShardedLayers::add(const Transformer& network) {
  if (!networks_.insert(network.get()).second) return;
  const std::map<const void*, int> uses = count_uses(network);
  std::vector<Piece*> pieces;
  std::vector<Group> groups;
  for (const auto& module : network->modules()) {
    if (module->as<LayerImpl>() == nullptr) continue;
    Group group;
    for (const Tensor& parameter : module->parameters()) {
      // A tensor with several uses is read outside of its layer; one that is not contiguous is a quantized
      // matrix's.
      if (uses.at(parameter.identity()) > 1 || parameter.numel() == 0 || !parameter.is_contiguous() ||
          parameter.type() != kFloat)
        continue;
      if (group.size() == kGroupPieces) groups.push_back(std::exchange(group, {}));
      group.push_back({parameter, 0});
    }
    if (!group.empty()) groups.push_back(std::move(group));
  }
  std::vector<std::int64_t> sizes;
  for (Group& group : groups)
    for (Piece& piece : group) {
      pieces.push_back(&piece);
      sizes.push_back(piece.weight.numel());
    }
  const std::vector<std::int64_t> owners = share_out(sizes, ranks_.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i]->owner = owners[i];
  for (Group& group : groups) {
    for (std::size_t i = 0; i < group.size(); ++i) places_[group[i].weight.identity()] = {groups_.size(), i};
    groups_.push_back(std::move(group));
  }
  for (const Stack& stack : {network->encoder, network->decoder})
    if (stack) stack->layer_weights = shared_from_this();
}

const ShardedLayers::Piece* ShardedLayers::find(const Tensor& parameter) const {
  const auto place = places_.find(parameter.identity());
  return place == places_.end() ? nullptr : &groups_[place->second.group][place->second.piece];
}

void ShardedLayers::shard(const Transformer& network) {
  add(network);
  for (const Tensor& parameter : network->parameters())
    if (parameter.device() != nullptr) device_ = parameter.device();
  release(network->parameters());
}

void ShardedLayers::keep_own(const Transformer& network, const Tensor& parameter) {
  add(network);
  release(std::span(&parameter, 1));
}

std::optional<std::int64_t> ShardedLayers::owner(const Tensor& parameter) const {
  const Piece* const piece = find(parameter);
  return piece == nullptr ? std::nullopt : std::optional(piece->owner);
}

std::map<std::size_t, std::uint64_t> ShardedLayers::pieces_of(std::span<const Tensor> parameters) const {
  std::map<std::size_t, std::uint64_t> pieces;
  for (const Tensor& parameter : parameters)
    if (const auto place = places_.find(parameter.identity()); place != places_.end())
      pieces[place->second.group] |= std::uint64_t{1} << place->second.piece;
  return pieces;
}

void ShardedLayers::give(const Tensor& parameter) {
  for (const auto& [group, pieces] : pieces_of(std::span(&parameter, 1))) {
    meet({Action::give, static_cast<std::int64_t>(group), pieces, ranks_.rank()});
    release(std::span(&parameter, 1));
  }
}

void ShardedLayers::wait_for_all() {
  meet({});
}

void ShardedLayers::fetch(std::span<const Tensor> parameters) {
  for (const auto& [group, pieces] : pieces_of(parameters))
    meet({Action::fetch, static_cast<std::int64_t>(group), pieces});
}

void ShardedLayers::release(std::span<const Tensor> parameters) {
  for (const Tensor& parameter : parameters)
    if (const Piece* const piece = find(parameter); piece != nullptr && !is_own(*piece)) {
      Tensor weight = piece->weight;
      attend::release(weight);
    }
}

void ShardedLayers::sum(std::span<const Tensor> parameters, std::span<Tensor> gradients) {
  for (const auto& [group, all] : pieces_of(parameters)) {
    std::vector<Tensor> own(groups_[group].size());
    std::uint64_t pieces = 0;  // with a gradient
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto place = places_.find(parameters[i].identity());
      if (place == places_.end() || place->second.group != group || !gradients[i].defined()) continue;
      own[place->second.piece] = std::exchange(gradients[i], {});
      pieces |= std::uint64_t{1} << place->second.piece;
    }
    if (pieces != 0) meet({Action::sum, static_cast<std::int64_t>(group), pieces}, own);
  }
}

ShardedLayers::Need ShardedLayers::agree(const Need& own) {
  struct Exchange {
    Need own;
    std::vector<Need> all;
  };
  // If another rank is lost, the engine may still write to it; then it is never freed.
  auto* const exchange = new Exchange{own, std::vector<Need>(static_cast<std::size_t>(ranks_.size()))};
  ranks_.gather(std::as_writable_bytes(std::span(&exchange->own, 1)),
                std::as_writable_bytes(std::span(exchange->all)));
  const std::vector<Need> all = std::move(exchange->all);
  delete exchange;
  const auto first = std::ranges::find_if(all, [](const Need& need) { return need.action != Action::none; });
  if (first == all.end()) return {};
  Need chosen = *first;
  for (const Need& need : all)
    if (need.action == chosen.action && need.group == chosen.group && need.from == chosen.from)
      chosen.pieces |= need.pieces;
  return chosen;
}

void ShardedLayers::meet(Need own, std::span<Tensor> gradients) {
  const Ranks::Meeting meeting(ranks_);
  const Unrecorded no_gradient;
  while (true) {
    const Need next = agree(own);
    const bool is_own = next.action == own.action && next.group == own.group && next.from == own.from;
    switch (next.action) {
      case Action::none:
        finish_sums();
        finish_delivery(/*keeps=*/false);
        remember({});
        break;
      case Action::fetch:
        deliver(next, /*keeps=*/is_own);
        break;
      case Action::sum:
        begin_sums(next, is_own ? gradients : std::span<Tensor>());
        break;
      case Action::give:
        finish_delivery(/*keeps=*/false);
        take(next);
        break;
    }
    if (is_own) return;
  }
}

void ShardedLayers::deliver(const Need& need, bool keeps) {
  if (!delivery_ || delivery_->need != need) {
    finish_delivery(/*keeps=*/false);
    begin_delivery(need);
  }
  finish_delivery(keeps);
  remember(need);
  if (const auto next = next_.find(last_); next != next_.end() && next->second.action == Action::fetch)
    begin_delivery(next->second);
}

void ShardedLayers::remember(const Need& need) {
  next_[last_] = need;
  last_ = {last_.later, need};
}

void ShardedLayers::begin_delivery(const Need& need) {
  const Group& group = groups_[static_cast<std::size_t>(need.group)];
  delivery_.emplace(need, std::vector<Tensor>(group.size()));
  for (std::int64_t owner = 0; owner < ranks_.size(); ++owner) {
    std::vector<Tensor> values;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (!has(need.pieces, i) || group[i].owner != owner) continue;
      const Tensor& weight = group[i].weight;
      values.push_back(is_own(group[i]) ? weight.detach() : ops::empty(weight.sizes(), kFloat, device_));
      delivery_->values[i] = values.back();
    }
    for (const std::span<const Tensor> message : messages_of(values))
      delivery_->messages.push_back(std::make_unique<Message>(ranks_, message, owner));
  }
}

void ShardedLayers::finish_delivery(bool keeps) {
  if (!delivery_) return;
  for (const auto& message : delivery_->messages) message->finish();
  const Group& group = groups_[static_cast<std::size_t>(delivery_->need.group)];
  for (std::size_t i = 0; keeps && i < group.size(); ++i)
    if (delivery_->values[i].defined() && !is_own(group[i])) group[i].weight.set_data(delivery_->values[i]);
  delivery_.reset();
}

// From one process to the owners. A broadcast: there are few of these.
void ShardedLayers::take(const Need& need) {
  const Group& group = groups_[static_cast<std::size_t>(need.group)];
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!has(need.pieces, i)) continue;
    const Tensor& weight = group[i].weight;
    const bool holds = is_own(group[i]) || need.from == ranks_.rank();
    const Tensor value = holds ? weight.detach() : ops::empty(weight.sizes());
    hand_out(ranks_, std::span(&value, 1), need.from);
  }
}

void ShardedLayers::begin_sums(const Need& need, std::span<Tensor> gradients) {
  finish_sums();
  const Group& group = groups_[static_cast<std::size_t>(need.group)];
  std::vector<std::size_t> bucket;
  std::int64_t numbers = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!has(need.pieces, i)) continue;
    if (!bucket.empty() && numbers + group[i].weight.numel() > kBucketNumbers) {
      begin_sum(group, std::exchange(bucket, {}), gradients);
      numbers = 0;
    }
    bucket.push_back(i);
    numbers += group[i].weight.numel();
  }
  if (!bucket.empty()) begin_sum(group, bucket, gradients);
}

void ShardedLayers::begin_sum(const Group& group, std::span<const std::size_t> pieces,
                              std::span<Tensor> gradients) {
  std::int64_t numbers = 0;
  for (const std::size_t i : pieces) numbers += group[i].weight.numel();
  Sum sum{.numbers = ops::empty({numbers})};
  numbers = 0;
  for (const std::size_t i : pieces) {
    const Tensor& weight = group[i].weight;
    const Tensor value = sum.numbers.narrow(0, numbers, weight.numel()).view(weight.sizes());
    numbers += weight.numel();
    if (!gradients.empty() && gradients[i].defined())
      value.copy_(std::exchange(gradients[i], {}));
    else
      value.zero_();
    sum.pieces.push_back(&group[i]);
    sum.values.push_back(value);
  }
  sum.work = ranks_.begin_sum({sum.numbers.data<float>(), static_cast<std::size_t>(numbers)});
  sums_.push_back(std::move(sum));
}

void ShardedLayers::finish_sums() {
  for (const Sum& sum : sums_) {
    sum.work->wait();
    for (std::size_t i = 0; i < sum.pieces.size(); ++i) {
      if (!is_own(*sum.pieces[i])) continue;
      const Tensor& weight = sum.pieces[i]->weight;
      const Tensor value = sum.values[i].on(device_);
      Tensor& gradient = weight.mutable_gradient();
      if (gradient.defined())
        gradient.add_(value);
      else
        gradient = value.clone();
    }
  }
  sums_.clear();
}

std::vector<Tensor> kept_by_all(const ShardedLayers* layers, std::vector<Tensor> tensors) {
  if (layers != nullptr)
    std::erase_if(tensors, [&](const Tensor& tensor) { return layers->owner(tensor).has_value(); });
  return tensors;
}

ShardedLayers::Whole::Whole(ShardedLayers* layers, const std::filesystem::path& folder) : layers_(layers) {
  if (layers_ == nullptr) return;
  for (const Group& group : layers_->groups_)
    for (const Piece& piece : group) {
      layers_->fetch(std::span(&piece.weight, 1));
      if (!layers_->is_own(piece)) piece.weight.set_data(ops::in_file(piece.weight, folder));
    }
}

ShardedLayers::Whole::~Whole() {
  if (layers_ == nullptr) return;
  for (const Group& group : layers_->groups_)
    for (const Piece& piece : group) layers_->release(std::span(&piece.weight, 1));
}

}  // namespace attend
