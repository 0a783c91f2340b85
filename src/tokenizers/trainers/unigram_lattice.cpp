#include "tokenizers/trainers/unigram_lattice.h"

#include "tokenizers/text/unicode.h"

#include <algorithm>

namespace attend::tokenizers {
namespace {

constexpr double unknown_penalty = 10;  // SentencePiece's value, which `tokenizers` uses too

}  // namespace

UnigramModel::UnigramModel(std::vector<UnigramPiece> all) : pieces(std::move(all)) {
  std::vector<Trie::Entry> texts;
  for (std::size_t i = unknown_piece + 1; i < pieces.size(); ++i) {
    texts.push_back({pieces[i].text, static_cast<TokenId>(i)});
    min_score = std::min(min_score, pieces[i].score);
  }
  trie = Trie(std::move(texts));
}

void UnigramLattice::set(std::string_view word) {
  nodes_.clear();
  groups_.clear();
  size_ = word.size();
  for (std::uint32_t at = 0; at < word.size();) {
    groups_.push_back(nodes_.size());
    const unsigned first = unicode::decode(word.data() + at).size;
    bool single = false;  // whether there is a piece for this one character
    model_.trie.find_prefixes(word.substr(at), [&](std::size_t length, TokenId id) {
      const auto piece = static_cast<std::uint32_t>(id);
      nodes_.push_back({at, at + static_cast<std::uint32_t>(length), piece, model_.pieces[piece].score});
      single = single || length == first;
    });
    if (!single) nodes_.push_back({at, at + first, unknown_piece, model_.min_score - unknown_penalty});
    at += first;
  }
  groups_.push_back(nodes_.size());
}

void UnigramLattice::add_expected(double count, std::vector<double>& expected) {
  sums_.assign(size_ + 1, {});
  before_.resize(size_ + 1);
  behind_.assign(size_ + 1, 0);
  sums_[0].add(0);
  for (std::size_t group = 0; group + 1 < groups_.size(); ++group) {
    const std::uint32_t begin = nodes_[groups_[group]].begin;
    before_[begin] = sums_[begin].value();
    for (std::size_t i = groups_[group]; i < groups_[group + 1]; ++i)
      sums_[nodes_[i].end].add(before_[begin] + nodes_[i].score);
  }
  for (std::size_t group = groups_.size() - 1; group-- > 0;) {
    LogSum sum;
    for (std::size_t i = groups_[group]; i < groups_[group + 1]; ++i)
      sum.add(nodes_[i].score + behind_[nodes_[i].end]);
    behind_[nodes_[groups_[group]].begin] = sum.value();
  }
  for (const Node& node : nodes_)
    expected[node.piece] +=
        count * std::exp(before_[node.begin] + node.score + behind_[node.end] - behind_[0]);
}

UnigramLattice::Cut UnigramLattice::best(bool parts) {
  best_.assign(size_ + 1, {-std::numeric_limits<double>::infinity(), 0});
  best_[0].score = 0;
  path_.clear();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const double score = best_[node.begin].score + node.score;
    if (score > best_[node.end].score && !(parts && node.end - node.begin == size_))
      best_[node.end] = {score, i};
  }
  if (!std::isinf(best_[size_].score))
    for (std::size_t end = size_; end > 0; end = nodes_[best_[end].node].begin)
      path_.push_back(nodes_[best_[end].node].piece);
  return {best_[size_].score, path_};
}

}  // namespace attend::tokenizers
