#include "tokenizers/steps/encoding.h"

#include "base/error.h"

#include <algorithm>
#include <utility>

namespace attend::tokenizers {
namespace {

// Calls visit for each vector of `encoding` that has one entry per token, with the corresponding vector of
// `other`.
template <class Visit>
void for_each_field(Encoding& encoding, const Encoding& other, Visit visit) {
  visit(encoding.ids, other.ids);
  visit(encoding.tokens, other.tokens);
  visit(encoding.type_ids, other.type_ids);
  visit(encoding.attention_mask, other.attention_mask);
  visit(encoding.special_tokens_mask, other.special_tokens_mask);
  visit(encoding.offsets, other.offsets);
  visit(encoding.word_ids, other.word_ids);
  visit(encoding.sequence_ids, other.sequence_ids);
}

Encoding part(const Encoding& encoding, std::size_t begin, std::size_t end) {
  Encoding result;
  for_each_field(result, encoding, [&](auto& to, const auto& from) {
    if (!from.empty())
      to.assign(from.begin() + static_cast<std::ptrdiff_t>(begin),
                from.begin() + static_cast<std::ptrdiff_t>(end));
  });
  return result;
}

}  // namespace

void append_special(Encoding& encoding, TokenId id, const std::string& token, std::int32_t type,
                    Details details) {
  encoding.ids.push_back(id);
  if (details == Details::ids) return;
  encoding.type_ids.push_back(type);
  encoding.attention_mask.push_back(1);
  if (details == Details::types) return;
  encoding.tokens.push_back(token);
  encoding.special_tokens_mask.push_back(1);
  encoding.offsets.push_back({0, 0});
  encoding.word_ids.push_back(-1);
  encoding.sequence_ids.push_back(-1);
}

void append(Encoding& encoding, const Encoding& more) {
  std::vector<Encoding> overflowing;
  const auto add = [&](Encoding front, const Encoding& back) {
    append(front, back);
    overflowing.push_back(std::move(front));
  };
  for (const Encoding& front : encoding.overflowing) {
    add(front, more);
    for (const Encoding& back : more.overflowing) add(front, back);
  }
  for (const Encoding& back : more.overflowing) add(encoding, back);
  for_each_field(encoding, more,
                 [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); });
  encoding.overflowing = std::move(overflowing);
}

void drop_last(Encoding& encoding) {
  for_each_field(encoding, encoding, [](auto& field, const auto&) {
    if (!field.empty()) field.pop_back();
  });
}

void truncate(Encoding& encoding, std::size_t max_length, std::size_t stride,
              Truncation::Direction direction) {
  const std::size_t length = encoding.ids.size();
  if (length <= max_length) return;
  if (max_length == 0) {
    Encoding empty;
    empty.overflowing.push_back(std::move(encoding));
    encoding = std::move(empty);
    return;
  }
  if (stride >= max_length)
    fail("truncation: the stride {} must be smaller than the length that remains for the text, {} tokens",
         stride, max_length);
  const std::size_t step = max_length - stride;
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  if (direction == Truncation::Direction::right) {
    for (std::size_t begin = 0;; begin += step) {
      parts.emplace_back(begin, std::min(begin + max_length, length));
      if (parts.back().second == length) break;
    }
  } else {
    for (std::size_t end = length;; end -= step) {
      parts.emplace_back(end > max_length ? end - max_length : 0, end);
      if (parts.back().first == 0) break;
    }
  }
  Encoding first = part(encoding, parts[0].first, parts[0].second);
  for (std::size_t i = 1; i < parts.size(); ++i)
    first.overflowing.push_back(part(encoding, parts[i].first, parts[i].second));
  encoding = std::move(first);
}

void truncate(Encoding& first, Encoding* second, const Truncation& truncation, std::size_t max_length,
              bool slow) {
  const auto cut = [&](Encoding& encoding, std::size_t length) {
    truncate(encoding, length, truncation.stride, truncation.direction);
  };
  if (max_length == 0) {
    cut(first, 0);
    if (second != nullptr) cut(*second, 0);
    return;
  }
  const std::size_t total = first.ids.size() + (second != nullptr ? second->ids.size() : 0);
  if (total <= max_length) return;
  if (truncation.strategy == Truncation::Strategy::longest_first) {
    if (second == nullptr) {
      cut(first, max_length);
      return;
    }
    if (slow) {
      std::size_t a = first.ids.size(), b = second->ids.size();
      std::size_t surplus = a + b - max_length;
      const std::size_t ahead = std::min(surplus, a > b ? a - b : b - a);
      (a > b ? a : b) -= ahead;
      surplus -= ahead;
      cut(*second, b - (surplus + 1) / 2);
      cut(first, a - surplus / 2);
      return;
    }
    // Truncates only the longer one if that is enough, else both to half.
    std::size_t shorter = std::min(first.ids.size(), second->ids.size());
    std::size_t longer = shorter > max_length ? shorter : std::max(shorter, max_length - shorter);
    if (shorter + longer > max_length) {
      shorter = max_length / 2;
      longer = shorter + max_length % 2;
    }
    const bool first_is_longer = first.ids.size() > second->ids.size();
    cut(first, first_is_longer ? longer : shorter);
    cut(*second, first_is_longer ? shorter : longer);
    return;
  }
  Encoding* target = truncation.strategy == Truncation::Strategy::only_first ? &first : second;
  if (target == nullptr) fail("truncation: only_second needs a second text, and there is none");
  const std::size_t surplus = total - max_length;
  if (target->ids.size() <= surplus && slow) return;
  if (target->ids.size() <= surplus)
    fail("truncation: the {} text has {} tokens, too few to remove {}", target == &first ? "first" : "second",
         target->ids.size(), surplus);
  cut(*target, target->ids.size() - surplus);
}

std::size_t padded_length(const Padding& padding, std::size_t longest) {
  std::size_t length = padding.length.value_or(longest);
  if (padding.multiple_of > 0)
    length = (length + padding.multiple_of - 1) / padding.multiple_of * padding.multiple_of;
  return length;
}

void pad(Encoding& encoding, std::size_t length, const Padding& padding, Details details) {
  for (Encoding& piece : encoding.overflowing) pad(piece, length, padding, details);
  if (encoding.ids.size() >= length) return;
  const std::size_t missing = length - encoding.ids.size();
  const auto fill = [&](auto& field, const auto& value) {
    field.insert(padding.left ? field.begin() : field.end(), missing, value);
  };
  fill(encoding.ids, padding.id);
  if (details == Details::ids) return;
  fill(encoding.type_ids, padding.type_id);
  fill(encoding.attention_mask, 0);
  if (details == Details::types) return;
  fill(encoding.tokens, padding.token);
  fill(encoding.special_tokens_mask, 1);
  fill(encoding.offsets, TextSpan{0, 0});
  fill(encoding.word_ids, -1);
  fill(encoding.sequence_ids, -1);
}

}  // namespace attend::tokenizers
