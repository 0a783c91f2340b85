#include "tokenizers/models/vocabulary.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace attend::tokenizers {

std::uint64_t hash_text(std::string_view text) {
  constexpr std::uint64_t factor = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
  std::uint64_t hash = text.size() * factor;
  const char* at = text.data();
  std::size_t left = text.size();
  const auto mix = [&hash](std::uint64_t word) {
    const auto product = static_cast<unsigned __int128>(hash ^ word) * factor;
    hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    mix(word);
  }
  std::uint64_t word = 0;
  if (left > 0) std::memcpy(&word, at, left);  // an empty text may have a null pointer
  mix(word);
  return hash ^ hash >> 32;
}

void Vocabulary::reserve(std::size_t tokens) {
  places_.reserve(tokens);
  grow(std::bit_ceil(tokens * 2 + 16));
}

std::size_t Vocabulary::slot_of(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  const auto upper = static_cast<std::uint32_t>(hash >> 32);
  std::size_t slot = first_slot(hash);
  while (slots_[slot].id >= 0 && (slots_[slot].hash != upper || token(slots_[slot].id) != text))
    slot = (slot + 1) & mask;
  return slot;
}

void Vocabulary::grow(std::size_t slots) {
  if (slots <= slots_.size()) return;
  slots_.assign(slots, {});
  used_slots_ = 0;
  for (TokenId id = 0; id < end_id(); ++id) {
    if (!contains(id)) continue;
    const std::uint64_t hash = hash_text(token(id));
    Slot& slot = slots_[slot_of(token(id), hash)];
    if (slot.id < 0) ++used_slots_;
    slot = {static_cast<std::uint32_t>(hash >> 32), id};
  }
}

void Vocabulary::add(std::string_view token, std::int64_t id, const std::string& source, Earlier earlier) {
  if (id < 0 || id > max_id)
    fail("{}: token '{}' has id {}, expected 0 to {}", source, token, id, static_cast<std::int64_t>(max_id));
  if (texts_.size() + token.size() > UINT32_MAX) fail("{}: the tokens have more than 4 GiB of text", source);
  const auto number = static_cast<TokenId>(id);
  if (contains(number) && this->token(number) == token) return;
  if (!sharing_.empty())
    if (const auto shared = sharing_.find(token); shared != sharing_.end()) sharing_.erase(shared);
  if (contains(number)) sharing_.insert_or_assign(std::string(this->token(number)), number);
  if ((used_slots_ + 1) * 2 > slots_.size()) grow(std::bit_ceil(used_slots_ * 4 + 16));
  const std::uint64_t hash = hash_text(token);
  Slot& slot = slots_[slot_of(token, hash)];
  if (slot.id < 0) {
    ++used_slots_;
  } else if (earlier == Earlier::forgotten) {
    places_[static_cast<std::size_t>(slot.id)].used = 0;
    --ids_;
  }
  slot = {static_cast<std::uint32_t>(hash >> 32), number};
  const auto index = static_cast<std::size_t>(id);
  if (places_.size() <= index) places_.resize(index + 1);
  Place& place = places_[index];
  if (place.used == 0) ++ids_;
  place.begin = static_cast<std::uint32_t>(texts_.size());
  place.size = static_cast<std::uint32_t>(token.size()) & 0x7FFFFFFF;
  place.used = 1;
  texts_ += token;
}

TokenId Vocabulary::find(std::string_view text) const {
  if (slots_.empty()) return -1;
  const TokenId id = slots_[slot_of(text, hash_text(text))].id;
  return id >= 0 || sharing_.empty() ? id : find_sharing(text);
}

TokenId Vocabulary::find_sharing(std::string_view text) const {
  const auto found = sharing_.find(text);
  return found == sharing_.end() ? -1 : found->second;
}

void Vocabulary::prefetch(std::string_view text) const {
  if (!slots_.empty()) __builtin_prefetch(&slots_[first_slot(hash_text(text))]);
}

void Vocabulary::find(std::span<const std::string_view> texts, std::span<TokenId> ids) const {
  if (slots_.empty()) {
    std::fill(ids.begin(), ids.end(), -1);
    return;
  }
  std::array<std::uint64_t, 32> hashes;
  for (std::size_t begin = 0; begin < texts.size(); begin += hashes.size()) {
    const std::size_t count = std::min(hashes.size(), texts.size() - begin);
    // Three reads depend on each other: of the slot, of the token's position, of its text.
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = hash_text(texts[begin + i]);
      __builtin_prefetch(&slots_[first_slot(hashes[i])]);
    }
    const auto likely = [&](std::size_t i) { return slots_[first_slot(hashes[i])].id; };
    for (std::size_t i = 0; i < count; ++i)
      if (const TokenId id = likely(i); id >= 0) __builtin_prefetch(&places_[static_cast<std::size_t>(id)]);
    for (std::size_t i = 0; i < count; ++i)
      if (const TokenId id = likely(i); id >= 0) __builtin_prefetch(token(id).data());
    for (std::size_t i = 0; i < count; ++i) ids[begin + i] = slots_[slot_of(texts[begin + i], hashes[i])].id;
  }
  for (std::size_t i = 0; i < ids.size() && !sharing_.empty(); ++i)
    if (ids[i] < 0) ids[i] = find_sharing(texts[i]);
}

}  // namespace attend::tokenizers
