#include "tokenizers/text/split.h"

#include "base/error.h"

namespace attend::tokenizers {

SplitBehavior read_split_behavior(const Json& json, const std::string& source, const char* otherwise) {
  const Fields read(json, source);
  const std::string name =
      otherwise == nullptr ? read.text({"behavior"}) : read.text({"behavior"}, std::string(otherwise));
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  fail("{}: behavior is '{}', expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous",
       source, name);
}

void list_parts(std::size_t text_size, std::span<const TextSpan> matches, bool invert,
                std::vector<SplitPart>& parts) {
  parts.clear();
  std::uint32_t done = 0;
  for (const TextSpan& match : matches) {
    if (done < match.begin) parts.push_back({{done, match.begin}, invert});
    parts.push_back({match, !invert});
    done = match.end;
  }
  if (done < text_size) parts.push_back({{done, static_cast<std::uint32_t>(text_size)}, invert});
}

}  // namespace attend::tokenizers
