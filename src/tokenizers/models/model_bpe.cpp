// Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909): a word starts as its characters. Of all
// neighbouring pairs with a merge, the one with the lowest rank is merged, the leftmost first, until there is
// none. O(n^2) for short words, which is faster than the O(n log n) queue for long words. With BPE-dropout
// (Provilkov et al. 2020, arXiv:1910.13267) a merge is skipped with some probability.
#include "base/error.h"
#include "tokenizers/models/merge_table.h"
#include "tokenizers/models/model.h"
#include "tokenizers/text/byte_level.h"

#include <algorithm>
#include <array>
#include <queue>

namespace attend::tokenizers {
namespace {

class Bpe : public Model {
 public:
  Bpe(const Json& json, ModelTables tables, const std::string& source)
      : Model(std::move(tables.vocabulary), json) {
    const Fields read(json, source);
    dropout_ = static_cast<float>(read.number({"dropout"}, 0.0, 0.0, 1.0));
    unknown_ = read.text({"unk_token"}, "");
    has_unknown_ = read.has({"unk_token"});
    unknown_id_ = has_unknown_ ? vocabulary().find(unknown_) : -1;
    prefix_ = read.text({"continuing_subword_prefix"}, "");
    suffix_ = read.text({"end_of_word_suffix"}, "");
    fuse_unknown_ = read.flag({"fuse_unk"}, false);
    byte_fallback_ = read.flag({"byte_fallback"}, false);
    ignore_merges_ = read.flag({"ignore_merges"}, false);
    read_merges(tables.merges, source);
    for (int byte = 0; byte < 256; ++byte) {
      letters_[static_cast<std::size_t>(byte)] =
          vocabulary().find(byte_level_letter(static_cast<unsigned char>(byte)));
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
      bytes_[static_cast<std::size_t>(byte)] = vocabulary().find(name);
    }
    knows_letters_ = std::all_of(letters_.begin(), letters_.end(), [](TokenId id) { return id >= 0; });
  }

  // If a letter is unknown, tokens may end in the middle of a character: then only letters give the same
  // offsets as `tokenizers`.
  bool reads_bytes() const override { return knows_letters_ && prefix_.empty() && suffix_.empty(); }
  bool depends_on_chance(const ModelScratch& scratch) const override { return dropout(scratch) > 0; }

  std::string tables() const override {
    struct Line {
      std::uint32_t rank;
      TokenId left, right;
    };
    std::vector<Line> lines;
    merges_.for_each([&](TokenId left, TokenId right, MergeTable::Merge merge) {
      lines.push_back({merge.rank, left, right});
    });
    std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.rank < b.rank; });
    std::string text = Model::tables() + ",\"merges\":[";
    for (const Line& line : lines) {
      if (&line != lines.data()) text += ',';
      text += '[' + Json(vocabulary().token(line.left)).dump() + ',' +
              Json(vocabulary().token(line.right)).dump() + ']';
    }
    return text + ']';
  }

 private:
  void read_merges(const std::vector<std::pair<TokenId, TokenId>>& merges, const std::string& source) {
    merges_.reserve(merges.size());
    std::string joined;
    TokenId result = -1;
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const auto [left, right] = merges[rank];
      const std::string_view second = vocabulary().token(right);
      if (second.size() < prefix_.size())
        fail("{}: merges[{}]: '{}' is shorter than the continuing_subword_prefix '{}'", source, rank, second,
             prefix_);
      joined = vocabulary().token(left);
      joined += second.substr(prefix_.size());
      // Most vocabularies list the results in the order of the merges.
      ++result;
      if (!vocabulary().contains(result) || vocabulary().token(result) != joined)
        result = vocabulary().find(joined);
      if (result < 0)
        fail("{}: merges[{}] joins '{}' and '{}' to '{}', which is not in the vocabulary", source, rank,
             vocabulary().token(left), second, joined);
      merges_.set(left, right, {static_cast<std::uint32_t>(rank), result});
    }
  }

  void tokenize_word(std::string_view word, bool bytes, ModelScratch& scratch,
                     std::vector<TokenPart>& parts) const override {
    if (bytes && !ignore_merges_ && prefix_.empty() && suffix_.empty() && start_from_bytes(word, parts)) {
      merge(parts, scratch);
      return;
    }
    if (!bytes) {
      tokenize_text(word, scratch, parts);
      return;
    }
    scratch.text = to_byte_level(word);
    tokenize_text(scratch.text, scratch, parts);
    // One letter stands for one byte of the word.
    std::size_t at = 0;
    for (TokenPart& part : parts) {
      const std::size_t end = std::min(at + part.length, scratch.text.size());
      part.length =
          static_cast<std::uint32_t>(unicode::count(std::string_view(scratch.text).substr(at, end - at)));
      at = end;
    }
  }

  void tokenize_text(std::string_view word, ModelScratch& scratch, std::vector<TokenPart>& parts) const {
    // With dropout, `tokenizers` takes no word as a whole.
    if (ignore_merges_ && dropout(scratch) == 0) {
      if (const TokenId whole = vocabulary().find(word); whole >= 0) {
        parts.push_back({whole, static_cast<std::uint32_t>(word.size())});
        return;
      }
    }
    start_from_characters(word, parts);
    merge(parts, scratch);
  }

  // False if a byte's letter is not in the vocabulary.
  bool start_from_bytes(std::string_view word, std::vector<TokenPart>& parts) const {
    for (const char byte : word) {
      const TokenId id = letters_[static_cast<unsigned char>(byte)];
      if (id < 0) {
        parts.clear();
        return false;
      }
      parts.push_back({id, 1});
    }
    return true;
  }

  void start_from_characters(std::string_view word, std::vector<TokenPart>& parts) const {
    std::string decorated;
    std::uint32_t unknown = 0;  // bytes of unknown characters that no token covers yet
    const auto flush = [&] {
      if (unknown > 0) parts.push_back({unknown_id_, unknown});
      unknown = 0;
    };
    for (std::size_t at = 0; at < word.size();) {
      const unsigned size = unicode::decode(word.data() + at).size;
      std::string_view symbol = word.substr(at, size);
      const bool first = at == 0, last = at + size == word.size();
      at += size;
      if ((!first && !prefix_.empty()) || (last && !suffix_.empty())) {
        decorated.assign(first ? std::string_view() : prefix_);
        decorated += symbol;
        if (last) decorated += suffix_;
        symbol = decorated;
      }
      if (const TokenId id = vocabulary().find(symbol); id >= 0) {
        flush();
        parts.push_back({id, size});
        continue;
      }
      if (byte_fallback_ && std::all_of(symbol.begin(), symbol.end(), [this](char byte) {
            return bytes_[static_cast<unsigned char>(byte)] >= 0;
          })) {
        // Unknown characters before these stay open: `tokenizers` puts them after.
        for (const char byte : symbol) parts.push_back({bytes_[static_cast<unsigned char>(byte)], 1});
        continue;
      }
      if (!has_unknown_) continue;  // the character disappears
      if (unknown_id_ < 0) fail("BPE: the unk_token '{}' is not in the vocabulary", unknown_);
      if (!fuse_unknown_) flush();
      unknown += size;
    }
    flush();
  }

  float dropout(const ModelScratch& scratch) const { return std::max(dropout_, scratch.dropout); }

  void merge(std::vector<TokenPart>& parts, ModelScratch& scratch) const {
    if (parts.size() < 2) return;
    if (parts.size() <= max_scanned && dropout(scratch) == 0)
      merge_short(parts);
    else
      merge_long(parts, dropout(scratch), scratch.random);
  }

  void merge_short(std::vector<TokenPart>& parts) const {
    std::array<MergeTable::Merge, max_scanned> merges;  // [i] joins parts i and i + 1
    std::size_t count = parts.size();
    for (std::size_t i = 0; i + 1 < count; ++i) merges[i] = merges_.find(parts[i].id, parts[i + 1].id);
    while (count > 1) {
      std::size_t best = 0;
      for (std::size_t i = 1; i + 1 < count; ++i)
        if (merges[i].rank < merges[best].rank) best = i;
      if (merges[best].rank == MergeTable::never) break;
      parts[best].id = merges[best].result;
      parts[best].length += parts[best + 1].length;
      --count;
      for (std::size_t i = best + 1; i < count; ++i) parts[i] = parts[i + 1];
      for (std::size_t i = best; i + 1 < count; ++i) merges[i] = merges[i + 1];
      if (best + 1 < count) merges[best] = merges_.find(parts[best].id, parts[best + 1].id);
      if (best > 0) merges[best - 1] = merges_.find(parts[best - 1].id, parts[best].id);
    }
    parts.resize(count);
  }

  void merge_long(std::vector<TokenPart>& parts, float dropout, std::minstd_rand& random) const {
    constexpr std::uint32_t none = UINT32_MAX;
    struct Link {
      std::uint32_t before, after;
    };
    struct Candidate {
      std::uint32_t rank, at;
      TokenId left, right, result;
      bool operator<(const Candidate& other) const {  // the top of a priority_queue is the largest
        return rank != other.rank ? rank > other.rank : at > other.at;
      }
    };
    const auto count = static_cast<std::uint32_t>(parts.size());
    std::vector<Link> links(count);
    std::vector<Candidate> start;
    const auto candidate = [&](std::uint32_t at, std::uint32_t next) {
      const MergeTable::Merge found = merges_.find(parts[at].id, parts[next].id);
      return Candidate{found.rank, at, parts[at].id, parts[next].id, found.result};
    };
    for (std::uint32_t i = 0; i < count; ++i) {
      links[i] = {i == 0 ? none : i - 1, i + 1 == count ? none : i + 1};
      if (i + 1 == count) break;
      if (const Candidate found = candidate(i, i + 1); found.rank != MergeTable::never)
        start.push_back(found);
    }
    std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(start));
    std::vector<Candidate> passed_over;  // skipped until another merge is done
    std::uniform_real_distribution<float> chance;
    while (!queue.empty()) {
      const Candidate top = queue.top();
      queue.pop();
      if (dropout > 0) {
        if (chance(random) < dropout) {
          passed_over.push_back(top);
          continue;
        }
        for (const Candidate& candidate : passed_over) queue.push(candidate);
        passed_over.clear();
      }
      const std::uint32_t next = links[top.at].after;
      // A candidate is outdated if one of its two parts was merged with another.
      if (parts[top.at].id != top.left || next == none || parts[next].id != top.right) continue;
      parts[top.at].id = top.result;
      parts[top.at].length += parts[next].length;
      parts[next].id = -1;
      links[top.at].after = links[next].after;
      if (links[next].after != none) links[links[next].after].before = top.at;
      if (const std::uint32_t before = links[top.at].before; before != none)
        if (const Candidate found = candidate(before, top.at); found.rank != MergeTable::never)
          queue.push(found);
      if (const std::uint32_t after = links[top.at].after; after != none)
        if (const Candidate found = candidate(top.at, after); found.rank != MergeTable::never)
          queue.push(found);
    }
    std::erase_if(parts, [](const TokenPart& part) { return part.id < 0; });
  }

  static constexpr std::size_t max_scanned = 48;

  std::string unknown_, prefix_, suffix_;
  float dropout_;
  bool has_unknown_, fuse_unknown_, byte_fallback_, ignore_merges_;
  TokenId unknown_id_;
  MergeTable merges_;
  bool knows_letters_;                        // all of them
  std::array<TokenId, 256> letters_, bytes_;  // of each byte: its letter, its <0x..> token; -1: none
};

}  // namespace

std::unique_ptr<Model> make_bpe(const Json& fields, ModelTables tables, const std::string& source) {
  if (!tables.has_merges) fail("{}: the field merges is missing", source);
  return std::make_unique<Bpe>(fields, std::move(tables), source);
}

}  // namespace attend::tokenizers
