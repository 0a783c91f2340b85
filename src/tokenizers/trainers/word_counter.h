// Counts the words in files: the input of the trainers.
#pragma once

#include "tokenizers/steps/normalizer.h"
#include "tokenizers/steps/pre_tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace attend::tokenizers {

struct WordCount {
  std::string word;
  std::uint64_t count;
};

// Each line with its line end is a separate text, which is normalized and split; a null normalizer or
// pre-tokenizer does nothing. The words are sorted by their bytes.
std::vector<WordCount> count_words(const std::vector<std::filesystem::path>& files,
                                   const Normalizer* normalizer, const PreTokenizer* pre_tokenizer);

}  // namespace attend::tokenizers
