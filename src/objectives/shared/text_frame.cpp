#include "objectives/shared/text_frame.h"

#include <algorithm>

namespace attend {
namespace {

// Words that every vocabulary can encode.
constexpr const char* kFirst = "a";
constexpr const char* kSecond = "b";

}  // namespace

TextFrame::TextFrame(const Tokenizer& tokenizer, bool with_types, bool pairs)
    : single_(learn(tokenizer.encode(kFirst), false)), with_types_(with_types) {
  if (pairs) pair_ = learn(tokenizer.encode_pair(kFirst, kSecond), true);
}

TextFrame::Frame TextFrame::learn(const Encoding& encoding, bool pair) {
  Frame frame;
  bool seen[2] = {false, false};
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const std::int32_t sequence = encoding.sequence_ids[i];
    if (sequence >= 0) {
      if (sequence == 0 && seen[1])
        fail("the tokenizer puts the second text before the first: expected the first text first");
      seen[sequence] = true;
      (sequence == 0 ? frame.first_type : frame.second_type) = encoding.type_ids[i];
      continue;
    }
    const bool before = !seen[0], between = pair && !before && !seen[1];
    (before ? frame.before : between ? frame.between : frame.after).push_back(encoding.ids[i]);
    (before    ? frame.before_types
     : between ? frame.between_types
               : frame.behind_types)
        .push_back(encoding.type_ids[i]);
  }
  if (!seen[0] || (pair && !seen[1]))
    fail("the tokenizer makes no token of \"{}\": a text cannot be framed with it",
         seen[0] ? kSecond : kFirst);
  return frame;
}

EncodedText TextFrame::join(const Frame& frame, std::span<const TokenId> first,
                            std::span<const TokenId> second) const {
  EncodedText text;
  const auto add = [](TokenIds& to, const auto& part) { to.insert(to.end(), part.begin(), part.end()); };
  add(text.ids, frame.before);
  add(text.ids, first);
  add(text.ids, frame.between);
  add(text.ids, second);
  add(text.ids, frame.after);
  if (!with_types_) return text;
  add(text.types, frame.before_types);
  text.types.insert(text.types.end(), first.size(), frame.first_type);
  add(text.types, frame.between_types);
  text.types.insert(text.types.end(), second.size(), frame.second_type);
  add(text.types, frame.behind_types);
  return text;
}

bool TextFrame::is_special(std::int64_t id) const {
  const auto holds = [&](const TokenIds& ids) { return std::find(ids.begin(), ids.end(), id) != ids.end(); };
  return holds(single_.before) || holds(single_.after) || holds(pair_.before) || holds(pair_.between) ||
         holds(pair_.after);
}

}  // namespace attend
