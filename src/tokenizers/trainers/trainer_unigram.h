// Learns the pieces of a Unigram model and their probabilities (Kudo 2018, arXiv:1804.10959). It starts from
// all frequent substrings and applies expectation maximization over all segmentations of the words; pieces
// with the smallest loss are dropped until the vocabulary has its size. The result is that of `tokenizers`'
// UnigramTrainer except for rounding. A pass over words with n bytes in total, with pieces of at most m
// bytes, takes O(n m); there are three passes each time that the vocabulary shrinks by a quarter.
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
