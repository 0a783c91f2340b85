#include "metrics/tags.h"

#include "base/error.h"

#include <algorithm>

namespace attend {
namespace {

// B-PER is kind B and type PER; B alone has the type "_", as has every tag of one character.
struct Tag {
  std::string_view kind, type;
};

Tag split_tag(std::string_view tag) {
  if (tag.empty()) fail("expected tags such as O or B-PER, found an empty one");
  std::size_t size = 1;  // of the first character, in bytes
  while (size < tag.size() && (tag[size] & 0xC0) == 0x80) ++size;
  std::string_view type = tag.substr(size);
  if (const std::size_t dash = type.find('-'); dash != type.npos) type.remove_prefix(dash + 1);
  return {tag.substr(0, size), type.empty() ? "_" : type};
}

bool is_outside(const Tag& tag) {
  return tag.kind == "O" || tag.kind == ".";
}

// Whether an entity that `before` is in ends there, `after` being the next tag.
bool ends(const Tag& before, const Tag& after) {
  if (before.kind == "E" || before.kind == "S") return true;
  if (before.kind == "B" || before.kind == "I")
    if (after.kind == "B" || after.kind == "S" || after.kind == "O") return true;
  return !is_outside(before) && before.type != after.type;
}

// Whether an entity begins at `after`, `before` being the tag in front of it.
bool begins(const Tag& before, const Tag& after) {
  if (after.kind == "B" || after.kind == "S") return true;
  if (before.kind == "E" || before.kind == "S" || before.kind == "O")
    if (after.kind == "E" || after.kind == "I") return true;
  return !is_outside(after) && before.type != after.type;
}

}  // namespace

std::vector<TaggedEntity> tagged_entities(std::span<const std::string> tags) {
  std::vector<TaggedEntity> result;
  Tag before{"O", ""};
  std::int64_t begin = 0;
  for (std::size_t i = 0; i <= tags.size(); ++i) {
    const Tag tag = i < tags.size() ? split_tag(tags[i]) : Tag{"O", "_"};
    const auto at = static_cast<std::int64_t>(i);
    if (ends(before, tag)) result.push_back({std::string(before.type), begin, at});
    if (begins(before, tag)) begin = at;
    before = tag;
  }
  return result;
}

TagMetric::TagMetric(std::vector<std::string> tags)
    : tags_(std::move(tags)),
      entities_(
          std::any_of(tags_.begin(), tags_.end(),
                      [](const std::string& tag) { return tag.starts_with("B-") || tag.starts_with("I-"); })),
      tokens_(static_cast<std::int64_t>(tags_.size())) {
  for (const std::string& tag : tags_) split_tag(tag);
}

void TagMetric::add(std::span<const std::int64_t> predicted, std::span<const std::int64_t> expected) {
  if (predicted.size() != expected.size())
    fail("expected a predicted label for each of {} tokens, found {}", expected.size(), predicted.size());
  for (std::size_t i = 0; i < expected.size(); ++i) tokens_.add(predicted[i], expected[i]);
  if (!entities_) return;
  const auto entities = [&](std::span<const std::int64_t> labels) {
    std::vector<std::string> tags;
    for (const std::int64_t label : labels) tags.push_back(tags_[static_cast<std::size_t>(label)]);
    return tagged_entities(tags);
  };
  const std::vector<TaggedEntity> ours = entities(predicted), theirs = entities(expected);
  counts_ += {static_cast<std::int64_t>(ours.size()), static_cast<std::int64_t>(theirs.size()), 0};
  // Both are in the order of their ends, which no two of one side share.
  for (auto a = ours.begin(), b = theirs.begin(); a != ours.end() && b != theirs.end();) {
    if (*a == *b) counts_.matched += 1;
    const std::int64_t end = std::min(a->end, b->end);
    if (a->end == end) ++a;
    if (b != theirs.end() && b->end == end) ++b;
  }
}

Figures TagMetric::figures() const {
  double accuracy = 0, macro_f1 = 0;
  for (const auto& [name, value] : tokens_.figures()) {
    if (name == "accuracy") accuracy = value;
    if (name == "macro_f1") macro_f1 = value;
  }
  if (!entities_) return {{"accuracy", accuracy}, {"f1", macro_f1}, {"macro_f1", macro_f1}};
  const PrecisionRecall entities = precision_recall(counts_);
  return {{"accuracy", accuracy},
          {"f1", entities.f1},
          {"precision", entities.precision},
          {"recall", entities.recall}};
}

}  // namespace attend
