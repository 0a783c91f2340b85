#include "tasks/entities.h"

#include "base/characters.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

const std::vector<std::string> kLabels = {"O", "B-PER", "I-PER", "I-LOC"};

std::string join(std::vector<std::string> tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    const bool continues = token.starts_with("##");
    text += text.empty() || continues ? "" : " ";
    text += continues ? token.substr(2) : token;
  }
  return text;
}

// "Ada Love ##lace saw Bath", with the scores of each token.
std::vector<ScoredToken> tokens(const std::vector<std::vector<float>>& scores) {
  const char* words[] = {"Ada", "Love", "##lace", "saw", "Bath"};
  const std::size_t starts[] = {0, 4, 8, 13, 17}, ends[] = {3, 8, 12, 16, 21};
  std::vector<ScoredToken> result;
  for (std::size_t i = 0; i < scores.size(); ++i)
    result.push_back({words[i], scores[i], starts[i], ends[i], i + 1, i == 2});
  return result;
}

const std::vector<ScoredToken> kTokens =
    tokens({{0, 0.9, 0.1, 0}, {0, 0.1, 0.7, 0.2}, {0.1, 0, 0, 0.9}, {1, 0, 0, 0}, {0.2, 0, 0, 0.8}});

std::string shown(const std::vector<Entity>& entities) {
  std::string text;
  for (const Entity& entity : entities)
    text += entity.label + "(" + entity.word + " " + std::to_string(entity.start) + "-" +
            std::to_string(entity.end) + ")";
  return text;
}

TEST(Entities, AreTokensWithoutAggregation) {
  const auto entities = make_entities(kTokens, kLabels, Aggregation::none, join);
  EXPECT_EQ(shown(entities), "B-PER(Ada 0-3)I-PER(Love 4-8)I-LOC(##lace 8-12)O(saw 13-16)I-LOC(Bath 17-21)");
  EXPECT_EQ(entities[1].index, 2u);
  EXPECT_FLOAT_EQ(entities[1].score, 0.7f);
}

TEST(Entities, JoinNeighboursOfOneType) {
  const auto entities = make_entities(kTokens, kLabels, Aggregation::simple, join);
  EXPECT_EQ(shown(entities), "PER(Ada Love 0-8)LOC(lace 8-12)O(saw 13-16)LOC(Bath 17-21)");
  EXPECT_FLOAT_EQ(entities[0].score, 0.8f);
}

TEST(Entities, LabelWholeWords) {
  EXPECT_EQ(shown(make_entities(kTokens, kLabels, Aggregation::first, join)),
            "PER(Ada Lovelace 0-12)O(saw 13-16)LOC(Bath 17-21)");
  EXPECT_EQ(shown(make_entities(kTokens, kLabels, Aggregation::max, join)),
            "PER(Ada 0-3)LOC(Lovelace 4-12)O(saw 13-16)LOC(Bath 17-21)");
  const auto average = make_entities(kTokens, kLabels, Aggregation::average, join);
  EXPECT_EQ(shown(average), "PER(Ada 0-3)LOC(Lovelace 4-12)O(saw 13-16)LOC(Bath 17-21)");
  EXPECT_FLOAT_EQ(average[1].score, 0.55f);
}

TEST(Entities, BeginAtB) {
  const auto twice = tokens({{0, 0.9, 0.1, 0}, {0, 0.8, 0.2, 0}});
  EXPECT_EQ(shown(make_entities(twice, kLabels, Aggregation::simple, join)), "PER(Ada 0-3)PER(Love 4-8)");
}

TEST(Entities, KeepTheLongestWherePiecesOverlap) {
  const std::vector<Entity> entities = {{"PER", 0.5f, "Ada Love", 0, 8, 0},
                                        {"PER", 0.9f, "Ada", 0, 3, 0},
                                        {"LOC", 0.6f, "Bath", 17, 21, 0},
                                        {"ORG", 0.7f, "Bath", 17, 21, 0}};
  EXPECT_EQ(shown(without_overlaps(entities)), "PER(Ada Love 0-8)ORG(Bath 17-21)");
  EXPECT_TRUE(without_overlaps({}).empty());
}

TEST(Characters, AreCodePoints) {
  const std::string text = "Zoë 東京!";
  const Characters characters(text);
  EXPECT_EQ(characters.size(), 7u);
  EXPECT_EQ(characters.slice(2, 6), "ë 東京");
  EXPECT_EQ(characters.slice(6, 99), "!");
  EXPECT_EQ(characters.slice(9, 12), "");
}

}  // namespace
}  // namespace attend
