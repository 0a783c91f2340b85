// From the scores of tokens to entities: neighbours with one label become one.
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

// Tokens to text, as the tokenizer's decoder writes them.
using JoinTokens = std::function<std::string(std::vector<std::string>)>;

std::vector<Entity> make_entities(std::span<const ScoredToken> tokens, const std::vector<std::string>& labels,
                                  Aggregation aggregation, const JoinTokens& join);

// If windows of a text overlap, the longest entity counts, and of equally long ones the most certain.
std::vector<Entity> without_overlaps(std::vector<Entity> entities);

}  // namespace attend
