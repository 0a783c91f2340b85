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
  static constexpr TokenId most_id = (1 << 24) - 1;

  // What becomes of the id that a text had before, when the text is given again.
  enum class Earlier { forgotten, kept };

  // Error if the id is negative or above most_id; `source` names the file. Of a text that is given several
  // times find() gives the last id, and of an id that is given several times token() gives the last text: as
  // `tokenizers` has it.
  void add(std::string_view token, std::int64_t id, const std::string& source,
           Earlier earlier = Earlier::forgotten);
  void reserve(std::size_t tokens);

  TokenId find(std::string_view token) const;  // -1: not in the vocabulary
  // The same for many, which is faster: while one is compared, the next are on their way from memory.
  void find(std::span<const std::string_view> tokens, std::span<TokenId> ids) const;
  void prefetch(std::string_view token) const;  // who adds many does this some tokens before
  bool contains(TokenId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < places_.size() &&
           places_[static_cast<std::size_t>(id)].used;
  }
  std::string_view token(TokenId id) const {  // of an id in the vocabulary
    const Place& place = places_[static_cast<std::size_t>(id)];
    return std::string_view(texts_).substr(place.begin, place.size);
  }
  // Calls visit(token, id) for every text, those that share an id with another one last.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (TokenId id = 0; id < end_id(); ++id)
      if (contains(id)) visit(token(id), id);
    for (const auto& [text, id] : sharing_) visit(std::string_view(text), id);
  }
  std::size_t size() const { return ids_ + sharing_.size(); }              // tokens
  TokenId end_id() const { return static_cast<TokenId>(places_.size()); }  // one above the highest id

 private:
  struct Place {
    std::uint32_t begin = 0;
    std::uint32_t size : 31 = 0;
    std::uint32_t used : 1 = 0;
  };

  std::string texts_;
  std::vector<Place> places_;  // by id
  struct Slot {
    std::uint32_t hash = 0;  // the upper half of the text's, to tell most others apart without reading them
    TokenId id = -1;         // -1: free
  };
  std::size_t first_slot(std::uint64_t hash) const { return hash & (slots_.size() - 1); }
  TokenId find_sharing(std::string_view token) const;
  void grow(std::size_t slots);
  std::size_t slot_of(std::string_view token, std::uint64_t hash) const;  // that holds it, or would

  std::vector<Slot> slots_;  // open addressing by the lower half of the hash
  std::size_t used_slots_ = 0, ids_ = 0;
  std::map<std::string, TokenId, std::less<>> sharing_;  // texts whose id token() gives another text for
};

// A fast hash of short texts (not for hostile keys in large numbers: tables stay bounded by the file's size).
std::uint64_t hash_text(std::string_view text);

}  // namespace attend::tokenizers
