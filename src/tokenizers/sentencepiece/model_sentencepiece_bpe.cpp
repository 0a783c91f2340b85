// Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909) over a whole text, as in SentencePiece: of all
// neighbours whose concatenation is a piece, the pair with the highest score is joined, the leftmost first.
// The file has no merges, so any two parts that spell a piece may join. User-defined symbols never join, and
// unused pieces are split again at the end. O(n^2) for short words, which is faster than the O(n log n) queue
// for long words and whole texts.
#include "tokenizers/sentencepiece/model_sentencepiece.h"

#include <queue>
#include <unordered_map>

namespace attend::tokenizers {
namespace {

using Type = SentencePieceFile::Type;

class SentencePieceBpe : public SentencePieceBase {
 public:
  SentencePieceBpe(const SentencePieceFile& file, PieceIds ids, Json fields, const std::string& source)
      : SentencePieceBase(file, std::move(ids), std::move(fields), source) {
    std::vector<Trie::Entry> frozen;
    for (std::size_t i = 0; i < file.pieces.size(); ++i)
      if (file.pieces[i].type == Type::user_defined)
        frozen.push_back({file.pieces[i].text, static_cast<TokenId>(i)});
    frozen_ = Trie(std::move(frozen));
  }

 private:
  // A part of the text: its position, and the node that its bytes lead to in the trie of pieces. A pair of
  // neighbours is looked up by continuing from the left one's node.
  struct Symbol {
    std::uint32_t begin, end;
    Trie::Node node;
    bool frozen;
  };
  using Symbols = std::pmr::vector<Symbol>;

  Symbols symbols_of(std::string_view text, std::pmr::memory_resource* memory) const {
    Symbols symbols(memory);
    symbols.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      std::size_t size = 0;
      frozen_.find_prefixes(text.substr(at), [&size](std::size_t length, TokenId) { size = length; });
      const bool frozen = size > 0;
      if (!frozen) size = unicode::decode(text.data() + at).size;
      symbols.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + size),
                         trie().step(trie().root(), text.substr(at, size)), frozen});
      at += size;
    }
    return symbols;
  }

  // The node of the two together; its value is no_piece if they do not join.
  Trie::Node join(std::string_view text, const Symbol& left, const Symbol& right) const {
    if (left.frozen || right.frozen) return {};
    return trie().step(left.node, text.substr(right.begin, right.end - right.begin));
  }

  // The number of bytes of an unused piece, by its text, that belong to the first of the two parts into which
  // it is split: the two that were last neighbours anywhere in the text, whether joined or not.
  using Splits = std::unordered_map<std::string_view, std::uint32_t>;

  std::size_t max_sure_scores() const override { return SIZE_MAX; }

  Segmentation segment(std::string_view text, float, Parts& parts) const override {
    Workspace workspace;
    Symbols symbols = symbols_of(text, &workspace);
    Splits splits;
    if (symbols.size() <= max_scanned && !has_unused())
      merge_short(text, symbols);
    else
      merge_long(text, symbols, splits);
    for (const Symbol& symbol : symbols)
      if (symbol.begin < symbol.end)
        add_used(text, {symbol.begin, symbol.end, symbol.node.value}, splits, parts);
    return {0, true};
  }

  // Appends a part of the text, or its two parts if it is an unused piece. An unused piece without a known
  // split is unknown; below this many levels it is not split, as in SentencePiece.
  void add_used(std::string_view text, const Part& part, const Splits& splits, Parts& parts,
                int level = 0) const {
    static constexpr int max_levels = 100;
    if (part.piece == no_piece || info(part.piece).type != Type::unused || level > max_levels)
      return parts.push_back(part);
    const auto split = splits.find(text.substr(part.begin, part.end - part.begin));
    if (split == splits.end()) return parts.push_back({part.begin, part.end, no_piece});
    const std::uint32_t middle = part.begin + split->second;
    const auto add = [&](std::uint32_t begin, std::uint32_t end) {
      add_used(text, {begin, end, find_piece(text.substr(begin, end - begin))}, splits, parts, level + 1);
    };
    add(part.begin, middle);
    add(middle, part.end);
  }

  void merge_short(std::string_view text, Symbols& symbols) const {
    struct Pair {
      float score;
      Trie::Node node;
    };
    std::array<Pair, max_scanned> pairs;  // [i]: symbols i and i + 1 together
    std::size_t count = symbols.size();
    const auto look_up = [&](std::size_t i) {
      const Trie::Node node = join(text, symbols[i], symbols[i + 1]);
      pairs[i] = {node.value == no_piece ? 0 : info(node.value).score, node};
    };
    for (std::size_t i = 0; i + 1 < count; ++i) look_up(i);
    while (true) {
      std::size_t best = count;
      for (std::size_t i = 0; i + 1 < count; ++i)
        if (pairs[i].node.value != no_piece && (best == count || pairs[i].score > pairs[best].score))
          best = i;
      if (best == count) break;
      symbols[best] = {symbols[best].begin, symbols[best + 1].end, pairs[best].node, false};
      --count;
      for (std::size_t i = best + 1; i < count; ++i) symbols[i] = symbols[i + 1];
      for (std::size_t i = best; i + 1 < count; ++i) pairs[i] = pairs[i + 1];
      if (best + 1 < count) look_up(best);
      if (best > 0) look_up(best - 1);
    }
    symbols.resize(count);
  }

  // Symbols that were joined with the one before become empty.
  void merge_long(std::string_view text, Symbols& symbols, Splits& splits) const {
    static constexpr std::uint32_t none = UINT32_MAX;
    struct Link {
      std::uint32_t before, after;
    };
    struct Candidate {
      float score;
      std::uint32_t left, right, size;
      Trie::Node node;
      bool operator<(const Candidate& other) const {  // the top of a priority_queue is the largest
        return score != other.score ? score < other.score : left > other.left;
      }
    };
    const auto count = static_cast<std::uint32_t>(symbols.size());
    std::vector<Link> links(count);
    std::priority_queue<Candidate> queue;
    const auto consider = [&](std::uint32_t left, std::uint32_t right) {
      if (left == none || right == none) return;
      const Trie::Node node = join(text, symbols[left], symbols[right]);
      if (node.value == no_piece) return;
      const std::uint32_t begin = symbols[left].begin, size = symbols[right].end - begin;
      if (info(node.value).type == Type::unused)
        splits[text.substr(begin, size)] = symbols[right].begin - begin;
      queue.push({info(node.value).score, left, right, size, node});
    };
    for (std::uint32_t i = 0; i < count; ++i) {
      links[i] = {i == 0 ? none : i - 1, i + 1 == count ? none : i + 1};
      consider(links[i].before, i);
    }
    while (!queue.empty()) {
      const Candidate top = queue.top();
      queue.pop();
      Symbol &left = symbols[top.left], &right = symbols[top.right];
      // Outdated if one of the two was joined with another.
      if (left.begin == left.end || right.begin == right.end || right.end - left.begin != top.size) continue;
      left.end = right.end;
      left.node = top.node;
      right.end = right.begin;
      links[top.left].after = links[top.right].after;
      if (links[top.left].after != none) links[links[top.left].after].before = top.left;
      consider(links[top.left].before, top.left);
      consider(top.left, links[top.left].after);
    }
  }

  static constexpr std::size_t max_scanned = 48;

  Trie frozen_;
};

}  // namespace

std::unique_ptr<Model> make_sentencepiece_bpe(const SentencePieceFile& file, PieceIds ids, Json fields,
                                              const std::string& source) {
  return std::make_unique<SentencePieceBpe>(file, std::move(ids), std::move(fields), source);
}

}  // namespace attend::tokenizers
