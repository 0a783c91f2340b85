// Learns the pieces of a Unigram model and their probabilities (Kudo 2018, arXiv:1804.10959): from all
// frequent substrings, expectation maximization under every way to cut the words; what the text misses least
// is dropped, until the vocabulary has its size. The result is that of `tokenizers`' UnigramTrainer but for
// rounding. A pass over words of n bytes together, with pieces of at most m bytes, takes O(n m); there are
// three for each time that the vocabulary shrinks by a quarter.
#pragma once

#include "tokenizers/trainers/word_counter.h"

#include <string>
#include <vector>

namespace attend::tokenizers {

struct UnigramTraining {
  std::size_t vocabulary_size;
  std::size_t limit_alphabet;  // 0: no limit
  std::vector<std::string> special_tokens;
};

struct UnigramPiece {
  std::string text;
  double score;  // the logarithm of its probability; 0 for special tokens
};

// By id: the special tokens, then the others from the most probable to the least.
std::vector<UnigramPiece> train_unigram(const std::vector<WordCount>& words, const UnigramTraining& training);

}  // namespace attend::tokenizers
