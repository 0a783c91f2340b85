// Learns the merges of BPE (Sennrich et al. 2016, arXiv:1508.07909): repeatedly joins the most frequent pair
// of neighbours everywhere. WordPiece is trained the same way, with a prefix on all characters of a word
// except the first. The result is that of `tokenizers`' BpeTrainer, token for token.
#pragma once

#include "tokenizers/trainers/word_counter.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace attend::tokenizers {

struct BpeTraining {
  std::size_t vocabulary_size;
  std::uint64_t min_frequency;
  std::size_t limit_alphabet;  // 0: no limit
  std::vector<std::string> special_tokens;
  std::vector<std::string> alphabet;  // characters that are in the vocabulary even if no word has them
  std::string prefix;                 // continuing_subword_prefix
};

struct BpeResult {
  std::vector<std::string> tokens;  // by id
  std::vector<std::pair<std::uint32_t, std::uint32_t>> merges;
};

BpeResult train_bpe(const std::vector<WordCount>& words, const BpeTraining& training);

}  // namespace attend::tokenizers
