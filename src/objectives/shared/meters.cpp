#include "objectives/shared/meters.h"

#include "metrics/classification.h"
#include "metrics/multi_label.h"
#include "metrics/perplexity.h"
#include "metrics/regression.h"
#include "metrics/tags.h"

#include <algorithm>

namespace attend {
namespace {

class SingleLabelMeter : public Meter {
 public:
  explicit SingleLabelMeter(std::int64_t labels) : metric_(labels) {}

  void add(const Batch& batch, const Tensor& scores) override {
    const Tensor chosen = scores.argmax(1), expected = batch.labels.reshape(-1);
    const auto a = chosen.accessor<std::int64_t, 1>(), b = expected.accessor<std::int64_t, 1>();
    for (std::int64_t i = 0; i < chosen.numel(); ++i)
      if (b[i] != kIgnoredLabel) metric_.add(a[i], b[i]);
  }
  std::vector<Score> scores() const override { return to_scores(metric_.figures()); }

 private:
  ClassificationMetric metric_;
};

class MultiLabelMeter : public Meter {
 public:
  explicit MultiLabelMeter(std::int64_t labels) : metric_(labels) {}

  void add(const Batch& batch, const Tensor& scores) override {
    const Tensor predicted = scores.gt(0), expected = batch.labels.gt(0.5);
    for (std::int64_t i = 0; i < predicted.size(0); ++i)
      metric_.add(numbers(predicted[i]), numbers(expected[i]));
  }
  std::vector<Score> scores() const override {  // f1 first: the primary metric
    return beginning_with("f1", to_scores(metric_.figures()));
  }

 private:
  static std::vector<std::int64_t> numbers(const Tensor& flags) {
    const Tensor places = flags.nonzero().reshape(-1);
    return {places.const_data<std::int64_t>(), places.const_data<std::int64_t>() + places.numel()};
  }

  MultiLabelMetric metric_;
};

class RegressionMeter : public Meter {
 public:
  void add(const Batch& batch, const Tensor& scores) override {
    const Tensor made = scores.reshape(-1).to(kDouble), expected = batch.labels.reshape(-1).to(kDouble);
    const auto a = made.accessor<double, 1>(), b = expected.accessor<double, 1>();
    for (std::int64_t i = 0; i < made.numel(); ++i) metric_.add(a[i], b[i]);
  }
  std::vector<Score> scores() const override { return to_scores(metric_.figures()); }

 private:
  RegressionMetric metric_;
};

class TagMeter : public Meter {
 public:
  explicit TagMeter(const std::vector<std::string>& tags)
      : metric_(tags),
        telling_(
            std::ranges::any_of(
                tags, [](const std::string& tag) { return tag.starts_with("B-") || tag.starts_with("I-"); })
                ? "f1"
                : "accuracy") {}

  void add(const Batch& batch, const Tensor& scores) override {
    const Tensor chosen = scores.argmax(1);
    const auto a = chosen.accessor<std::int64_t, 1>(), b = batch.labels.accessor<std::int64_t, 1>();
    const Offsets& texts = batch.tokens.offsets;
    for (std::int64_t t = 0; t < texts.count(); ++t) {
      std::vector<std::int64_t> predicted, expected;
      for (std::int64_t i = texts.begin(t); i < texts.begin(t) + texts.length(t); ++i) {
        if (b[i] == kIgnoredLabel) continue;
        predicted.push_back(a[i]);
        expected.push_back(b[i]);
      }
      metric_.add(predicted, expected);
    }
  }
  std::vector<Score> scores() const override {
    return beginning_with(telling_, to_scores(metric_.figures()));
  }

 private:
  TagMetric metric_;
  std::string_view telling_;
};

class PerplexityMeter : public Meter {
 public:
  void add(const Batch& batch, const Tensor& scores) override {
    metric_.add(scores.item<double>(), batch.counts.front());
  }
  std::vector<Score> scores() const override {
    std::vector<Score> all = to_scores(metric_.figures());
    std::erase_if(all, [](const Score& score) { return score.name == "loss"; });  // every evaluation has it
    return all;
  }

 private:
  PerplexityMetric metric_;
};

}  // namespace

std::vector<Score> beginning_with(std::string_view name, std::vector<Score> scores) {
  std::ranges::stable_partition(scores, [&](const Score& score) { return score.name == name; });
  return scores;
}

std::vector<Score> to_scores(const std::vector<std::pair<std::string, double>>& figures) {
  std::vector<Score> scores;
  for (const auto& [name, value] : figures)
    scores.push_back({name, value, !name.ends_with("error") && name != "loss" && name != "perplexity"});
  return scores;
}

std::unique_ptr<Meter> single_label_meter(std::int64_t labels) {
  return std::make_unique<SingleLabelMeter>(labels);
}

std::unique_ptr<Meter> multi_label_meter(std::int64_t labels) {
  return std::make_unique<MultiLabelMeter>(labels);
}

std::unique_ptr<Meter> regression_meter() {
  return std::make_unique<RegressionMeter>();
}

std::unique_ptr<Meter> perplexity_meter() {
  return std::make_unique<PerplexityMeter>();
}

std::unique_ptr<Meter> tag_meter(const std::vector<std::string>& tags) {
  return std::make_unique<TagMeter>(tags);
}

}  // namespace attend
