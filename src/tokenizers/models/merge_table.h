// The merges of BPE: which two tokens join, with what rank, and into which token.
#pragma once

#include <attend/tokenizer.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace attend::tokenizers {

class MergeTable {
 public:
  static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
  struct Merge {
    std::uint32_t rank = never;
    TokenId result = -1;
  };

  void reserve(std::size_t merges) { slots_.assign(std::bit_ceil(merges * 2 + 2), {}); }
  // If a pair occurs again, the last one counts, as in `tokenizers`. Not more pairs than were reserved.
  void set(TokenId left, TokenId right, Merge merge) {
    const std::uint64_t pair = key(left, right);
    std::size_t slot = first_slot(pair);
    while (slots_[slot].pair != free_slot && slots_[slot].pair != pair)
      slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = {pair, merge};
  }
  Merge find(TokenId left, TokenId right) const {
    const std::uint64_t pair = key(left, right);
    for (std::size_t slot = first_slot(pair);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].pair == pair) return slots_[slot].merge;
      if (slots_[slot].pair == free_slot) return {};
    }
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_)
      if (slot.pair != free_slot)
        visit(static_cast<TokenId>(slot.pair >> 32), static_cast<TokenId>(slot.pair & 0xFFFFFFFF),
              slot.merge);
  }

 private:
  static constexpr std::uint64_t free_slot = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t pair = free_slot;
    Merge merge;
  };
  static std::uint64_t key(TokenId left, TokenId right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t first_slot(std::uint64_t pair) const {
    const std::uint64_t mixed = pair * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(mixed ^ mixed >> 32) & (slots_.size() - 1);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(2);
};

}  // namespace attend::tokenizers
