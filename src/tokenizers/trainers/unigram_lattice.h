// All segmentations of one word into the pieces of a Unigram model (Kudo 2018, arXiv:1804.10959), for
// training. For a word of n bytes and pieces of at most m bytes everything here takes O(n m).
#pragma once

#include "tokenizers/text/trie.h"
#include "tokenizers/trainers/trainer_unigram.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace attend::tokenizers {

constexpr std::uint32_t unknown_piece = 0;  // the index of the piece for unknown characters

struct UnigramModel {
  std::vector<UnigramPiece> pieces;
  Trie trie;
  double min_score = 0;

  explicit UnigramModel(std::vector<UnigramPiece> all);
};

class UnigramLattice {
 public:
  explicit UnigramLattice(const UnigramModel& model) : model_(model) {}

  void set(std::string_view word);

  // Adds to `expected`, by piece, its expected number in the word: over all segmentations, weighted by their
  // probabilities (the forward-backward algorithm).
  void add_expected(double count, std::vector<double>& expected);

  // The score and, from the last to the first, the pieces of the most probable segmentation (Viterbi's
  // algorithm); `parts`: only segmentations with two or more pieces, if there are any. Valid until the next
  // call.
  struct Cut {
    double score;
    std::span<const std::uint32_t> pieces;
  };
  Cut best(bool parts = false);

 private:
  // The logarithm of a sum of exponentials, one term at a time.
  class LogSum {
   public:
    void add(double term) {
      if (term <= max_) {
        sum_ += std::exp(term - max_);
      } else {
        sum_ = sum_ * std::exp(max_ - term) + 1;
        max_ = term;
      }
    }
    double value() const { return max_ + std::log(sum_); }

   private:
    double max_ = -std::numeric_limits<double>::infinity(), sum_ = 0;
  };
  struct Node {
    std::uint32_t begin, end, piece;
    double score;
  };
  struct Best {
    double score;
    std::uint32_t node;
  };

  const UnigramModel& model_;
  std::size_t size_ = 0;
  std::vector<Node> nodes_;              // by begin
  std::vector<std::size_t> groups_;      // indices in nodes_ of the first node of each begin, and the end
  std::vector<LogSum> sums_;             // by byte of the word
  std::vector<double> before_, behind_;  // logarithms: over all ways to a byte, and from it to the end
  std::vector<Best> best_;
  std::vector<std::uint32_t> path_;
};

}  // namespace attend::tokenizers
