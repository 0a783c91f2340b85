// A cache of the tokens of words. Text repeats its words (Zipf), so most words need one look-up.
#pragma once

#include <attend/tokenizer.h>

#include "base/huge_pages.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attend::tokenizers {

// A token of a word, and the bytes that it covers: the next `length` ones.
struct TokenPart {
  TokenId id;
  std::uint32_t length : 30;
  std::uint32_t literal : 1 = 0;  // its text is these bytes, not that of its id: an unknown piece of Unigram
  std::uint32_t shared : 1 = 0;   // the next token covers the same bytes: <0x..> tokens of Unigram
};

// Two tables. Short words are stored two to a set, in one cache line; a newer word replaces the older one.
// Longer words are in a hash table that is cleared when it is full.
class WordCache {
 public:
  static constexpr std::size_t max_length = 256;  // longer words are rarely repeated

  // A short word and its tokens. Up to three tokens are stored here, as for most words; more are stored in
  // more_.
  struct Entry {
    std::uint64_t key[2];                 // the bytes of the word, filled with zeros; the last byte is its
                                          // length
    std::array<TokenId, 3> ids;           // of more than three tokens: [0] is their index in more_
    std::array<std::uint8_t, 3> lengths;  // as in TokenPart, with `literal` and `shared` as the highest bits
    std::uint8_t count;
  };
  static_assert(sizeof(Entry) == 32);

  struct Key {
    std::uint64_t low, high;
    std::size_t set;
  };
  static constexpr std::size_t bytes_behind = 16;
  static bool is_short(std::string_view word) { return word.size() <= 15; }
  // The key of a short word, after which bytes_behind more bytes must be readable (they do not count): two
  // reads instead of a loop over the bytes.
  static Key key(std::string_view word) {
    std::uint64_t bytes[2];
    std::memcpy(bytes, word.data(), sizeof bytes);
    const std::size_t size = word.size();
    const std::uint64_t low = bytes[0] & masks[size + 8];
    const std::uint64_t high = (bytes[1] & masks[size]) | static_cast<std::uint64_t>(size) << 56;
    const std::uint64_t hash = (low ^ (high * 0x9E3779B97F4A7C15u)) * 0xD6E8FEB86659FD93u;
    return {low, high, static_cast<std::size_t>(hash >> (64 - set_bits))};
  }
  // The table is larger than the fastest caches: call this in advance for the next words.
  void prefetch(const Key& key) {
    if (entries_ == nullptr) {
      memory_ = HugePages<Entry>(std::size_t{2} << set_bits);
      entries_ = memory_.get();
    }
    __builtin_prefetch(&entries_[2 * key.set]);
  }
  // After prefetch(key). Null: not found. `key` is that of a short word that is not empty.
  const Entry* find(const Key& key) const {
    const Entry* set = &entries_[2 * key.set];
    if (set[0].key[0] == key.low && set[0].key[1] == key.high) return &set[0];
    if (set[1].key[0] == key.low && set[1].key[1] == key.high) return &set[1];
    return nullptr;
  }
  // After find(key).
  void insert(const Key& key, std::span<const TokenPart> parts) {
    if (parts.size() > max_count) return;
    Entry entry{{key.low, key.high}, {}, {}, static_cast<std::uint8_t>(parts.size())};
    if (parts.size() <= entry.ids.size()) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        entry.ids[i] = parts[i].id;
        entry.lengths[i] =
            static_cast<std::uint8_t>(parts[i].length | parts[i].literal << 6 | parts[i].shared << 7);
      }
    } else {
      if (more_.size() > max_more) clear_short_words();
      entry.ids[0] = static_cast<TokenId>(more_.size());
      more_.insert(more_.end(), parts.begin(), parts.end());
    }
    Entry* set = &entries_[2 * key.set];
    set[1] = set[0];
    set[0] = entry;
  }
  // Appends the tokens of a short word.
  void append(const Entry& entry, std::vector<TokenId>& ids) const {
    if (entry.count == 1)
      ids.push_back(entry.ids[0]);
    else if (entry.count <= entry.ids.size())
      ids.insert(ids.end(), entry.ids.begin(), entry.ids.begin() + entry.count);
    else
      for (const TokenPart& part : more(entry)) ids.push_back(part.id);
  }
  void append(const Entry& entry, std::vector<TokenPart>& parts) const {
    const auto part = [&entry](std::size_t i) {
      const unsigned length = entry.lengths[i];
      return TokenPart{entry.ids[i], length & 0x3F, length >> 6 & 1, length >> 7};
    };
    if (entry.count == 1)
      parts.push_back(part(0));
    else if (entry.count > entry.ids.size())
      parts.insert(parts.end(), more(entry).begin(), more(entry).end());
    else
      for (std::size_t i = 0; i < entry.count; ++i) parts.push_back(part(i));
  }

  const std::vector<TokenPart>* find_long(std::string_view word) const {
    const auto found = long_words_.find(word);
    return found == long_words_.end() ? nullptr : &found->second;
  }
  void insert_long(std::string_view word, std::span<const TokenPart> parts) {
    if (word.size() > max_length) return;
    const std::size_t bytes = word.size() + parts.size() * sizeof(TokenPart) + bytes_of_entry;
    if (long_bytes_ + bytes > max_long_bytes) {
      long_words_.clear();
      long_bytes_ = 0;
    }
    long_words_.try_emplace(std::string(word), parts.begin(), parts.end());
    long_bytes_ += bytes;
  }

 private:
  static constexpr int set_bits = 16;  // 4 MiB
  static constexpr std::size_t max_count = 255, max_more = std::size_t{1} << 18;
  static constexpr std::size_t max_long_bytes = std::size_t{8} << 20, bytes_of_entry = 96;  // approximately

  std::span<const TokenPart> more(const Entry& entry) const {
    return std::span(more_).subspan(static_cast<std::size_t>(entry.ids[0]), entry.count);
  }
  void clear_short_words() {
    std::fill_n(entries_, std::size_t{2} << set_bits, Entry{});
    more_.clear();
  }

  // [8 + n] keeps n of 8 bytes, for n from -8 (none) to 15 (all).
  static constexpr std::array<std::uint64_t, 24> masks = [] {
    std::array<std::uint64_t, 24> result{};
    for (std::size_t i = 9; i < result.size(); ++i)
      result[i] = ~std::uint64_t{0} >> (i < 16 ? 8 * (16 - i) : 0);
    return result;
  }();

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  HugePages<Entry> memory_;
  Entry* entries_ = nullptr;  // in memory_; all zero at first: the key of the empty word
  std::vector<TokenPart> more_;
  std::unordered_map<std::string, std::vector<TokenPart>, Hash, std::equal_to<>> long_words_;
  std::size_t long_bytes_ = 0;
};

}  // namespace attend::tokenizers
