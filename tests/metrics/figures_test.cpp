// Metrics against scikit-learn, scipy, seqeval, rouge_score and SQuAD's script
// (tests/oracle/make_metric_goldens.py).
#include <attend/error.h>

#include "expect_error.h"
#include "metrics/answers.h"
#include "metrics/bleu.h"
#include "metrics/classification.h"
#include "metrics/multi_label.h"
#include "metrics/perplexity.h"
#include "metrics/regression.h"
#include "metrics/retrieval.h"
#include "metrics/rouge.h"
#include "metrics/tags.h"
#include "test_data.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attend {
namespace {

using nlohmann::json;
using Labels = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const json& goldens(const char* name) {
  static const json all = json::parse(std::ifstream(test_data() / "metrics/figures.json"));
  return all.at(name);
}

// The same names, and values that differ by at most 1e-9 (relative, if large); null is NaN.
void expect_figures(const Metric& metric, const json& expected, const json& source) {
  const Figures figures = metric.figures();
  EXPECT_EQ(figures.size(), expected.size()) << source;
  for (const auto& [name, value] : figures) {
    ASSERT_TRUE(expected.contains(name)) << name << " " << source;
    if (expected[name].is_null()) {
      EXPECT_TRUE(std::isnan(value)) << name << " is " << value << " " << source;
    } else
      EXPECT_NEAR(value, expected[name].get<double>(), 1e-9 * std::max(1.0, std::abs(value)))
          << name << " " << source;
  }
}

void expect_nan(const Metric& metric) {
  for (const auto& [name, value] : metric.figures()) EXPECT_TRUE(std::isnan(value)) << name;
}

TEST(ClassificationMetric, EqualsScikitLearn) {
  for (const json& golden : goldens("classification")) {
    ClassificationMetric metric(golden["labels"]);
    for (std::size_t i = 0; i < golden["expected"].size(); ++i)
      metric.add(golden["predicted"][i], golden["expected"][i]);
    expect_figures(metric, golden["figures"], golden);
  }
}

TEST(ClassificationMetric, RefusesLabelsThatAreNotThere) {
  ClassificationMetric metric(3);
  EXPECT_ERROR("expected a label from 0 to 2, found predicted 3", metric.add(3, 0));
  EXPECT_ERROR("expected a label from 0 to 2, found expected -100", metric.add(0, -100));
  EXPECT_ERROR("one label to classify by at least, found 0", ClassificationMetric(0));
  expect_nan(metric);  // rejected values do not count
}

TEST(MultiLabelMetric, EqualsScikitLearn) {
  for (const json& golden : goldens("multi_label")) {
    MultiLabelMetric metric(golden["labels"]);
    for (std::size_t i = 0; i < golden["expected"].size(); ++i)
      metric.add(golden["predicted"][i].get<Labels>(), golden["expected"][i].get<Labels>());
    expect_figures(metric, golden["figures"], golden);
  }
}

TEST(MultiLabelMetric, CountsALabelOncePerExample) {
  MultiLabelMetric metric(2);
  expect_nan(metric);
  EXPECT_ERROR("expected a label from 0 to 1, found predicted 2", metric.add(Labels{0, 2}, Labels{}));
  metric.add(Labels{1, 1}, Labels{1});
  EXPECT_EQ(metric.figures()[0].second, 1);
  EXPECT_EQ(metric.figures()[1].second, 1);
}

TEST(RegressionMetric, EqualsScipy) {
  for (const json& golden : goldens("regression")) {
    RegressionMetric metric;
    for (std::size_t i = 0; i < golden["expected"].size(); ++i)
      metric.add(golden["predicted"][i], golden["expected"][i]);
    expect_figures(metric, golden["figures"], golden);
  }
}

TEST(RegressionMetric, IsNotDefinedOfLessThanTwoNumbersOrOfNaN) {
  RegressionMetric metric;
  expect_nan(metric);
  metric.add(1, 2);
  EXPECT_TRUE(std::isnan(metric.figures()[0].second) && std::isnan(metric.figures()[1].second));
  EXPECT_EQ(metric.figures()[2].second, 1);
  metric.add(nan, 2);
  metric.add(3, 5);
  expect_nan(metric);
  EXPECT_ERROR("as many numbers on both sides, found 1 and 0",
               spearman(std::vector<double>{1}, std::vector<double>{}));
}

TEST(AnswerMetric, EqualsSquadsScript) {
  for (const json& golden : goldens("answers")) {
    AnswerMetric metric;
    for (std::size_t i = 0; i < golden["examples"].size(); ++i) {
      const std::string predicted = golden["examples"][i][0];
      metric.add(predicted, golden["examples"][i][1].get<Texts>());
      EXPECT_EQ(normalized_answer(predicted), golden["normalized"][i].get<std::string>());
    }
    expect_figures(metric, golden["figures"], golden);
  }
  expect_nan(AnswerMetric());
}

TEST(TagMetric, EqualsSeqeval) {
  for (const json& golden : goldens("tags")) {
    const Texts tags = golden["tags"];
    TagMetric metric(tags);
    const auto labels = [&](const json& sequence) {
      Labels result;
      for (const std::string tag : sequence)
        result.push_back(std::find(tags.begin(), tags.end(), tag) - tags.begin());
      return result;
    };
    for (std::size_t i = 0; i < golden["expected"].size(); ++i) {
      metric.add(labels(golden["predicted"][i]), labels(golden["expected"][i]));
      const std::vector<TaggedEntity> entities = tagged_entities(golden["expected"][i].get<Texts>());
      ASSERT_EQ(entities.size(), golden["entities"][i].size()) << golden;
      for (std::size_t j = 0; j < entities.size(); ++j) {
        const json& entity = golden["entities"][i][j];
        EXPECT_EQ(entities[j], (TaggedEntity{entity[0], entity[1], entity[2].get<std::int64_t>() + 1}))
            << golden;
      }
    }
    expect_figures(metric, golden["figures"], golden);
  }
}

TEST(TagMetric, RefusesWhatDoesNotFit) {
  TagMetric metric({"O", "B-X", "I-X"});
  EXPECT_ERROR("a predicted label for each of 1 tokens, found 2", metric.add(Labels{0, 1}, Labels{0}));
  EXPECT_ERROR("expected a label from 0 to 2, found predicted 3", metric.add(Labels{0, 3}, Labels{0, 1}));
  EXPECT_ERROR("such as O or B-PER, found an empty one", TagMetric({"O", ""}));
  EXPECT_ERROR("one label to classify by at least, found 0", TagMetric({}));
  EXPECT_EQ(tagged_entities(Texts{"\xf0", "\xc3-X"}).size(), 2u);  // half a character is no problem
}

TEST(RougeMetric, EqualsRougeScore) {
  for (const json& golden : goldens("rouge")) {
    RougeMetric metric;
    expect_nan(metric);
    for (std::size_t i = 0; i < golden["pairs"].size(); ++i) {
      const json& pair = golden["pairs"][i];
      const std::string hypothesis = pair[0], reference = pair[1];
      RougeMetric one;
      one.add(hypothesis, reference);
      expect_figures(one, golden["texts"][i], pair);
      metric.add(hypothesis, reference);
    }
    expect_figures(metric, golden["figures"], golden);
  }
}

TEST(PerplexityMetric, WeighsTokensEqually) {
  PerplexityMetric metric;
  expect_nan(metric);
  metric.add(3 * std::log(2.0), 3);
  metric.add(std::log(32.0), 1);
  expect_figures(metric, {{"loss", 2 * std::log(2.0)}, {"perplexity", 4}}, {});
}

TEST(RetrievalMetric, CountsRanks) {
  RetrievalMetric metric;
  expect_nan(metric);
  for (const std::int64_t rank : {1, 2, 10, 11}) metric.add(rank);
  expect_figures(metric,
                 {{"recall@1", 0.25}, {"recall@10", 0.75}, {"mrr", (1 + 1 / 2.0 + 1 / 10.0 + 1 / 11.0) / 4}},
                 {});
  EXPECT_ERROR("expected a rank from 1 on, found 0", metric.add(0));
}

TEST(RetrievalMetric, PutsEquallySimilarCandidatesFirst) {
  const float not_a_number = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(rank_of(std::vector<float>{0.1f, 0.9f, 0.5f}, 1), 1);
  EXPECT_EQ(rank_of(std::vector<float>{0.1f, 0.9f, 0.5f}, 0), 3);
  EXPECT_EQ(rank_of(std::vector<float>{0.5f, 0.5f, 0.5f}, 0), 3);
  EXPECT_EQ(rank_of(std::vector<float>{0.5f, not_a_number}, 0), 2);
  EXPECT_EQ(rank_of(std::vector<float>{not_a_number, 0.5f, 0.1f}, 0), 3);
  EXPECT_ERROR("one of 1 candidates to be the right one, found number 1",
               rank_of(std::vector<float>{0.5f}, 1));
  EXPECT_ERROR("one of 1 candidates to be the right one, found number -1",
               rank_of(std::vector<float>{0.5f}, -1));
}

TEST(BleuMetric, ScoresNothingAsZero) {
  expect_figures(BleuMetric(), {{"bleu", 0}}, {});
}

}  // namespace
}  // namespace attend
