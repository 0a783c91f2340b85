// Layers whose weights, gradients and optimizer state are divided among the processes (ZeRO-3: Rajbhandari et
// al. 2019, arXiv:1910.02054; FSDP: Zhao et al. 2023, arXiv:2304.11277).
//
// Each tensor of a layer has one owner, which alone keeps it, its gradient and its optimizer state. The
// owners send a layer to all processes before it computes; afterwards the others free it. In the backward
// pass it is sent and computed again, and the gradients are summed for the owners. All other tensors
// (embeddings, heads) stay on every process.
//
// Processes may need different layers at a time, because their texts, batches or roles differ. So before each
// exchange every process says what it needs, and all of them carry out the need of the first that has one. A
// process that needs nothing takes part until no process needs anything (Ranks::before_collectives). So one
// process can compute, save or restore alone. The order depends on no clock: a repeated run gives the same
// bits.
//
// While a layer computes, the next one is on its way: the one that followed the last two layers when they
// were fetched before. Sums of gradients end when the next layer's begin.
#pragma once

#include "nn/transformer/layer_weights.h"
#include "nn/transformer/transformer.h"
#include "parallel/ranks.h"
#include "training/processes/handing_out.h"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace attend {

class ShardedLayers final : public LayerWeights, public std::enable_shared_from_this<ShardedLayers> {
 public:
  // `ranks` must outlive it; one such object for each.
  explicit ShardedLayers(Ranks& ranks);
  ~ShardedLayers() override;
  ShardedLayers(const ShardedLayers&) = delete;
  ShardedLayers& operator=(const ShardedLayers&) = delete;

  // Divides the layers of a network, which has the same weights on all processes, and frees what others own.
  // Call it when the network is on its device.
  void shard(const Transformer& network);
  // The same while a network is read: divides it at the first call, then frees this parameter if another owns
  // it.
  void keep_own(const Transformer& network, const Tensor& parameter);

  // The rank that keeps the parameter; none: all do.
  std::optional<std::int64_t> owner(const Tensor& parameter) const;
  // The owner gets the value that this process has in memory; it is freed here unless this is the owner. For
  // a parameter without owner, does nothing.
  void give(const Tensor& parameter);
  // Takes part in what others need, until all processes are here.
  void wait_for_all();

  void fetch(std::span<const Tensor> parameters) override;
  void release(std::span<const Tensor> parameters) override;
  void sum(std::span<const Tensor> parameters, std::span<Tensor> gradients) override;

  // All layers are readable in this process, in unnamed files of a folder rather than in memory.
  class Whole {
   public:
    // `layers` null: does nothing.
    Whole(ShardedLayers* layers, const std::filesystem::path& folder);
    ~Whole();
    Whole(const Whole&) = delete;
    Whole& operator=(const Whole&) = delete;

   private:
    ShardedLayers* layers_;
  };

 private:
  enum class Action : std::int64_t { none, fetch, sum, give };
  struct Need {  // the same bytes for all processes
    Action action = Action::none;
    std::int64_t group = 0;
    std::uint64_t pieces = 0;  // bits: which of the group's
    std::int64_t from = 0;     // of `give`: the rank that has it
    auto operator<=>(const Need&) const = default;
  };
  struct Piece {
    Tensor weight;
    std::int64_t owner;
  };
  using Group = std::vector<Piece>;  // of one layer, at most 64
  struct Place {
    std::size_t group, piece;
  };
  // A layer on its way from its owners to all.
  struct Delivery {
    Delivery(const Need& layer, std::vector<Tensor> pieces) : need(layer), values(std::move(pieces)) {}
    Need need;
    std::vector<Tensor> values;  // of each piece
    std::vector<std::unique_ptr<Message>> messages;
  };
  // The last two layers that were fetched; Action::none: the processes met without a need.
  struct Recent {
    Need earlier, later;
    auto operator<=>(const Recent&) const = default;
  };
  struct Sum {
    std::vector<const Piece*> pieces = {};
    std::vector<Tensor> values = {};  // of each, parts of `numbers`
    Tensor numbers = {};
    std::unique_ptr<Ranks::Work> work = nullptr;
  };

  void add(const Transformer& network);
  const Piece* find(const Tensor& parameter) const;
  // The pieces of each group among these parameters.
  std::map<std::size_t, std::uint64_t> pieces_of(std::span<const Tensor> parameters) const;
  bool is_own(const Piece& piece) const { return piece.owner == ranks_.rank(); }
  Need agree(const Need& own);
  // Waits for the turn of `own`, or if that is none for the others, and takes part in all exchanges until
  // then. `gradients`: of the group's pieces, for a sum.
  void meet(Need own, std::span<Tensor> gradients = {});
  void deliver(const Need& need, bool keeps);
  void begin_delivery(const Need& need);
  void finish_delivery(bool keeps);
  void remember(const Need& need);
  void take(const Need& need);
  void begin_sums(const Need& need, std::span<Tensor> gradients);
  void begin_sum(const Group& group, std::span<const std::size_t> pieces, std::span<Tensor> gradients);
  void finish_sums();

  Ranks& ranks_;
  ops::Device* device_ = nullptr;  // of the networks
  std::vector<Group> groups_;
  std::unordered_map<const void*, Place> places_;  // by parameter
  std::set<const void*> networks_;
  std::optional<Delivery> delivery_;
  std::vector<Sum> sums_;
  std::map<Recent, Need> next_;  // what followed
  Recent last_;
};

// Those of the tensors that every process keeps. `layers` null: all.
std::vector<Tensor> kept_by_all(const ShardedLayers* layers, std::vector<Tensor> tensors);

}  // namespace attend
