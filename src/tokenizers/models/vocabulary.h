// Token texts and their ids, in two flat tables.
#pragma once

#include <attend/tokenizer.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

class Vocabulary {
 public:
  static constexpr TokenId max_id = (1 << 24) - 1;

  // What happens to the old id of a text that is added again.
  enum class Earlier { forgotten, kept };

  // An Error if the id is negative or above max_id; `source` names the file. If a text is added several
  // times, find() returns the last id; if an id is added several times, token() returns the last text, as in
  // `tokenizers`.
  void add(std::string_view token, std::int64_t id, const std::string& source,
           Earlier earlier = Earlier::forgotten);
  void reserve(std::size_t tokens);

  TokenId find(std::string_view token) const;  // -1: not in the vocabulary
  // The same for many texts, which is faster: while one is compared, the next are loaded from memory.
  void find(std::span<const std::string_view> tokens, std::span<TokenId> ids) const;
  void prefetch(std::string_view token) const;  // call it some tokens before adding many
  bool contains(TokenId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < places_.size() &&
           places_[static_cast<std::size_t>(id)].used;
  }
  std::string_view token(TokenId id) const {  // of an id in the vocabulary
    const Place& place = places_[static_cast<std::size_t>(id)];
    return std::string_view(texts_).substr(place.begin, place.size);
  }
  // Calls visit(token, id) for every text; texts whose id belongs to another text come last.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (TokenId id = 0; id < end_id(); ++id)
      if (contains(id)) visit(token(id), id);
    for (const auto& [text, id] : sharing_) visit(std::string_view(text), id);
  }
  std::size_t size() const { return ids_ + sharing_.size(); }              // number of tokens
  TokenId end_id() const { return static_cast<TokenId>(places_.size()); }  // the highest id + 1

 private:
  struct Place {
    std::uint32_t begin = 0;
    std::uint32_t size : 31 = 0;
    std::uint32_t used : 1 = 0;
  };

  std::string texts_;
  std::vector<Place> places_;  // by id
  struct Slot {
    std::uint32_t hash = 0;  // the upper half of the text's hash, to reject most other texts without reading
                             // them
    TokenId id = -1;         // -1: free
  };
  std::size_t first_slot(std::uint64_t hash) const { return hash & (slots_.size() - 1); }
  TokenId find_sharing(std::string_view token) const;
  void grow(std::size_t slots);
  std::size_t slot_of(std::string_view token, std::uint64_t hash) const;  // the slot that holds it, or would

  std::vector<Slot> slots_;  // open addressing by the lower half of the hash
  std::size_t used_slots_ = 0, ids_ = 0;
  std::map<std::string, TokenId, std::less<>> sharing_;  // texts whose id has another text in token()
};

// A fast hash for short texts (not secure against many hostile keys: the file's size limits the tables).
std::uint64_t hash_text(std::string_view text);

}  // namespace attend::tokenizers
