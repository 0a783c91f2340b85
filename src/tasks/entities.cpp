#include "tasks/entities.h"

#include "base/error.h"

#include <algorithm>

namespace attend {
namespace {

struct Best {
  std::size_t label;
  float score;
};

Best best_of(const std::vector<float>& scores) {
  const auto best = std::ranges::max_element(scores);
  return {static_cast<std::size_t>(best - scores.begin()), *best};
}

// The label of a word from its tokens.
Best judge_word(std::span<const ScoredToken> tokens, Aggregation aggregation) {
  if (aggregation == Aggregation::first) return best_of(tokens.front().scores);
  if (aggregation == Aggregation::max)
    return best_of(std::ranges::max_element(tokens, {}, [](const ScoredToken& token) {
                     return best_of(token.scores).score;
                   })->scores);
  std::vector<float> mean(tokens.front().scores.size());
  for (const ScoredToken& token : tokens)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += token.scores[i] / static_cast<float>(tokens.size());
  return best_of(mean);
}

std::vector<std::string> words_of(const auto& items) {
  std::vector<std::string> words;
  for (const auto& item : items) words.push_back(item.word);
  return words;
}

std::vector<Entity> words_as_entities(std::span<const ScoredToken> tokens,
                                      const std::vector<std::string>& labels, Aggregation aggregation,
                                      const JoinTokens& join) {
  std::vector<Entity> words;
  for (std::size_t begin = 0, end = 0; begin < tokens.size(); begin = end) {
    for (end = begin + 1; end < tokens.size() && tokens[end].continues_word;) ++end;
    const auto word = tokens.subspan(begin, end - begin);
    const Best best = judge_word(word, aggregation);
    words.push_back(
        {labels.at(best.label), best.score, join(words_of(word)), word.front().start, word.back().end, 0});
  }
  return words;
}

std::vector<Entity> tokens_as_entities(std::span<const ScoredToken> tokens,
                                       const std::vector<std::string>& labels) {
  std::vector<Entity> entities;
  for (const ScoredToken& token : tokens) {
    const Best best = best_of(token.scores);
    entities.push_back({labels.at(best.label), best.score, token.word, token.start, token.end, token.index});
  }
  return entities;
}

// "B-PER" starts an entity of type PER, "I-PER" and "PER" continue one.
bool begins(const std::string& label) {
  return label.starts_with("B-");
}
std::string type_of(const std::string& label) {
  return begins(label) || label.starts_with("I-") ? label.substr(2) : label;
}

// The name of a group drops everything before the first hyphen.
std::string name_of(const std::string& label) {
  const std::size_t hyphen = label.find('-');
  return hyphen == label.npos ? label : label.substr(hyphen + 1);
}

std::vector<Entity> group(const std::vector<Entity>& entities, const JoinTokens& join) {
  std::vector<Entity> groups;
  for (std::size_t begin = 0, end = 0; begin < entities.size(); begin = end) {
    const std::string type = type_of(entities[begin].label);
    for (end = begin + 1;
         end < entities.size() && !begins(entities[end].label) && type_of(entities[end].label) == type;)
      ++end;
    const std::span<const Entity> members(entities.data() + begin, end - begin);
    double sum = 0;
    for (const Entity& member : members) sum += member.score;
    groups.push_back({name_of(members.front().label),
                      static_cast<float>(sum / static_cast<double>(members.size())), join(words_of(members)),
                      members.front().start, members.back().end, 0});
  }
  return groups;
}

}  // namespace

std::vector<Entity> make_entities(std::span<const ScoredToken> tokens, const std::vector<std::string>& labels,
                                  Aggregation aggregation, const JoinTokens& join) {
  if (aggregation == Aggregation::none) return tokens_as_entities(tokens, labels);
  return group(aggregation == Aggregation::simple ? tokens_as_entities(tokens, labels)
                                                  : words_as_entities(tokens, labels, aggregation, join),
               join);
}

std::vector<Entity> without_overlaps(std::vector<Entity> entities) {
  std::ranges::stable_sort(entities, {}, &Entity::start);
  std::vector<Entity> kept;
  for (Entity& entity : entities) {
    if (kept.empty() || entity.start >= kept.back().end) {
      kept.push_back(std::move(entity));
      continue;
    }
    Entity& last = kept.back();
    const std::size_t length = entity.end - entity.start, last_length = last.end - last.start;
    if (length > last_length || (length == last_length && entity.score > last.score))
      last = std::move(entity);
  }
  return kept;
}

}  // namespace attend
