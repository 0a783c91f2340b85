// The tokens of words seen before. Text repeats its words (Zipf), so most words cost one look-up.
#pragma once

#include <attend/tokenizer.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attend::tokenizers {

// A token of a word and the bytes of the word it stands for: the next `length` ones.
struct TokenPart {
  TokenId id;
  std::uint32_t length : 30;
  std::uint32_t literal : 1 = 0;  // it reads as those bytes, not as its id does: an unknown piece of Unigram
  std::uint32_t shared : 1 = 0;   // the next token stands for the same bytes: <0x..> tokens of Unigram
};

// Two tables: short words with few tokens lie in one cache line each, two to a set, where a newer word takes
// the place of the older one; the others in a hash table that starts anew when it is full.
class WordCache {
 public:
  static constexpr std::size_t most_length = 256;  // longer words hardly ever come back

  struct Entry {
    std::uint64_t key[2];  // the bytes of the word, zero-filled; the last byte is its length
    std::array<TokenId, 9> ids;
    std::array<std::uint8_t, 9> lengths;  // as in TokenPart, with `literal` and `shared` as the highest bits
    std::uint8_t count;

    TokenPart part(std::size_t i) const {
      return {ids[i], lengths[i] & 0x3Fu, lengths[i] >> 6 & 1u, lengths[i] >> 7 & 1u};
    }
  };
  static_assert(sizeof(Entry) == 64);

  struct Key {
    std::uint64_t low, high;
    std::size_t set;
  };
  static bool is_short(std::string_view word) { return word.size() <= 15; }
  static Key key(std::string_view word) {
    // Two overlapping reads instead of a loop over the bytes.
    std::uint64_t low = 0, high = 0;
    const char* at = word.data();
    const std::size_t size = word.size();
    if (size >= 8) {
      std::memcpy(&low, at, 8);
      if (size > 8) {
        std::memcpy(&high, at + size - 8, 8);
        high >>= 8 * (16 - size);
      }
    } else if (size >= 4) {
      std::uint32_t first, last;
      std::memcpy(&first, at, 4);
      std::memcpy(&last, at + size - 4, 4);
      low = first | static_cast<std::uint64_t>(last) << 8 * (size - 4);
    } else if (size > 0) {
      low = static_cast<unsigned char>(at[0]) |
            static_cast<std::uint64_t>(static_cast<unsigned char>(at[size / 2])) << 8 * (size / 2) |
            static_cast<std::uint64_t>(static_cast<unsigned char>(at[size - 1])) << 8 * (size - 1);
    }
    high |= static_cast<std::uint64_t>(size) << 56;
    const std::uint64_t hash = (low ^ (high * 0x9E3779B97F4A7C15u)) * 0xD6E8FEB86659FD93u;
    return {low, high, static_cast<std::size_t>(hash >> (64 - set_bits))};
  }
  // The table is larger than the nearest caches: who knows the next words asks for them ahead of time.
  void prefetch(const Key& key) {
    if (entries_ == nullptr)
      entries_.reset(static_cast<Entry*>(std::calloc(std::size_t{2} << set_bits, sizeof(Entry))));
    if (entries_ == nullptr) throw std::bad_alloc();
    __builtin_prefetch(&entries_[2 * key.set]);
  }
  // After prefetch(key). Null: not there. `key` is that of a short word, and not of the empty one.
  const Entry* find(const Key& key) const {
    const Entry* set = &entries_[2 * key.set];
    if (set[0].key[0] == key.low && set[0].key[1] == key.high) return &set[0];
    if (set[1].key[0] == key.low && set[1].key[1] == key.high) return &set[1];
    return nullptr;
  }
  // After find(key). False: the word has too many tokens.
  bool insert(const Key& key, std::span<const TokenPart> parts) {
    Entry entry;
    if (parts.size() > entry.ids.size()) return false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].length > 0x3F) return false;
      entry.ids[i] = parts[i].id;
      entry.lengths[i] =
          static_cast<std::uint8_t>(parts[i].length | parts[i].literal << 6 | parts[i].shared << 7);
    }
    entry.key[0] = key.low;
    entry.key[1] = key.high;
    entry.count = static_cast<std::uint8_t>(parts.size());
    Entry* set = &entries_[2 * key.set];
    set[1] = set[0];
    set[0] = entry;
    return true;
  }

  const std::vector<TokenPart>* find_long(std::string_view word) const {
    const auto found = long_words_.find(word);
    return found == long_words_.end() ? nullptr : &found->second;
  }
  void insert_long(std::string_view word, std::span<const TokenPart> parts) {
    if (word.size() > most_length) return;
    if (long_words_.size() >= 65536) long_words_.clear();
    long_words_.try_emplace(std::string(word), parts.begin(), parts.end());
  }

 private:
  static constexpr int set_bits = 15;  // 4 MiB

  struct Free {
    void operator()(Entry* entries) const { std::free(entries); }
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unique_ptr<Entry[], Free> entries_;  // all zero at first: the key of the empty word
  std::unordered_map<std::string, std::vector<TokenPart>, Hash, std::equal_to<>> long_words_;
};

}  // namespace attend::tokenizers
