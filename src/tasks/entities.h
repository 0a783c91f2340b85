// From the scores of tokens to entities: adjacent tokens with the same label are merged.
#pragma once

#include <attend/tasks.h>

#include <functional>
#include <span>

namespace attend {

struct ScoredToken {
  std::string word;
  std::vector<float> scores;  // one per label
  std::size_t start = 0, end = 0, index = 0;
  bool continues_word = false;
};

// Converts tokens to text with the tokenizer's decoder.
using JoinTokens = std::function<std::string(std::vector<std::string>)>;

std::vector<Entity> make_entities(std::span<const ScoredToken> tokens, const std::vector<std::string>& labels,
                                  Aggregation aggregation, const JoinTokens& join);

// If windows of a text overlap, the longest entity is kept, and of equally long ones the one with the highest
// score.
std::vector<Entity> without_overlaps(std::vector<Entity> entities);

}  // namespace attend
