#include "objectives/shared/sentence_pairs.h"

#include <algorithm>

namespace attend {
namespace {

constexpr double kShorter = 0.1;  // fraction of pairs that are made shorter than possible

class PairMaker {
 public:
  PairMaker(const TokenRows& rows, PairTask task, std::int64_t longest)
      : rows_(rows), task_(task), longest_(longest) {}

  // The pairs of one document.
  void add(std::int64_t document, Random random, std::vector<SentencePair>& pairs) const {
    const std::int64_t last = rows_.first_of_group(document + 1);
    for (std::int64_t row = rows_.first_of_group(document); last - row >= 2;) {
      const std::int64_t wanted = random.uniform() < kShorter ? 2 + below(longest_ - 1, random) : longest_;
      std::int64_t end = row + 2;
      for (std::int64_t length = tokens(row, end); end < last && length < wanted; ++end)
        length += rows_.length(end);
      if (last - end == 1) ++end;  // it would have no neighbour
      const std::int64_t middle = row + 1 + below(end - row - 1, random);
      SentencePair pair = {piece(row, middle), piece(middle, end), below(2, random)};
      if (pair.label == 1 && task_ == PairTask::next_sentence) {
        pair.second = from_another(document, wanted - pair.first.length(), random);
        end = middle;
      }
      cut(pair, random);
      if (pair.label == 1 && task_ == PairTask::sentence_order) std::swap(pair.first, pair.second);
      pairs.push_back(pair);
      row = end;
    }
  }

 private:
  static std::int64_t below(std::int64_t count, Random& random) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
  }
  // Rows [first, end), which are contiguous.
  Piece piece(std::int64_t first, std::int64_t end) const {
    const std::int64_t begin = rows_[first].data() - rows_.ids().data();
    return {begin, rows_[end - 1].data() - rows_.ids().data() + rows_.length(end - 1)};
  }
  std::int64_t tokens(std::int64_t first, std::int64_t end) const { return piece(first, end).length(); }

  // Sentences of another document, from a random one on, until there are enough tokens; at the end of the
  // document, also earlier ones.
  Piece from_another(std::int64_t document, std::int64_t wanted, Random& random) const {
    std::int64_t other = below(rows_.groups() - 1, random);
    if (other >= document) ++other;
    const std::int64_t first = rows_.first_of_group(other), last = rows_.first_of_group(other + 1);
    std::int64_t row = first + below(last - first, random), end = row + 1, length = rows_.length(row);
    for (; end < last && length < wanted; ++end) length += rows_.length(end);
    while (row > first && length < wanted) length += rows_.length(--row);
    return piece(row, end);
  }

  void cut(SentencePair& pair, Random& random) const {
    while (pair.first.length() + pair.second.length() > longest_) {
      Piece& longer = pair.first.length() > pair.second.length() ? pair.first : pair.second;
      if (below(2, random) == 0)
        ++longer.begin;
      else
        --longer.end;
    }
  }

  const TokenRows& rows_;
  PairTask task_;
  std::int64_t longest_;
};

}  // namespace

std::vector<SentencePair> draw_pairs(const TokenRows& rows, PairTask task, std::int64_t longest,
                                     const Draws& draws) {
  if (longest < 2)
    fail("pairs of segments need room for two tokens at least, found {}", std::max<std::int64_t>(longest, 0));
  if (task == PairTask::next_sentence && rows.groups() < 2)
    fail(
        "the next sentence is told from one of another document, but there is only one: expected an empty "
        "line "
        "between documents");
  const PairMaker maker(rows, task, longest);
  // A separate random stream, so that the masking of pair n does not depend on how document n is cut.
  const Draws own = {Random(draws.seed, -1).next(), draws.epoch};
  std::vector<SentencePair> pairs;
  for (std::int64_t document = 0; document < rows.groups(); ++document)
    maker.add(document, own.of(document), pairs);
  if (pairs.empty())
    fail(
        "no document has two sentences: expected a sentence a line, and an empty line only between "
        "documents");
  return pairs;
}

}  // namespace attend
