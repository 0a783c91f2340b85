#include "objectives/scored_pairs.h"

#include "base/log.h"
#include "metrics/regression.h"
#include "nn/losses/label_loss.h"
#include "objectives/base/kinds.h"
#include "objectives/shared/meters.h"

#include <algorithm>

namespace attend {
namespace {

using ScoreRange = std::pair<double, double>;

constexpr ScoreRange kCosines = {0, 1};

// The range that the scores suggest: cosines, or a common rating scale.
ScoreRange usual_range(double lowest, double highest, const std::string& files) {
  constexpr double scales[] = {5, 10, 100};
  if (lowest >= -1 && highest <= 1) return kCosines;
  for (const double end : scales)
    if (lowest >= 0 && highest <= end) return {0, end};
  fail(
      "{}: expected scores from -1 to 1, or from 0 to at most 5, 10 or 100, found {} to {}; say which of "
      "them "
      "stand for cosines of 0 and 1: `score_range` MIN,MAX",
      files, lowest, highest);
}

ScoreRange range_of(const Setting& setting, const std::vector<TextPair>& rows) {
  const std::string files = fmt::format("{}", fmt::join(setting.files, ", "));
  const auto [low, high] = std::ranges::minmax(rows, {}, &TextPair::score);
  const auto& given = setting.recipe.score_range;
  if (given && !(given->first < given->second))
    fail("`score_range` {},{}: expected a number and a larger one", given->first, given->second);
  const ScoreRange range = given                 ? *given
                           : setting.score_range ? *setting.score_range
                                                 : usual_range(low.score, high.score, files);
  const double lowest = range == kCosines ? -1 : range.first;
  if (low.score < lowest || high.score > range.second)
    fail("{}: expected scores from {} to {}{}, found {}", files, lowest, range.second,
         given                 ? " (`score_range`)"
         : setting.score_range ? ", as in training; `score_range` says others"
                               : "",
         low.score < lowest ? low.score : high.score);
  if (range == kCosines)
    inform("{}: scores from {} to {} are taken as cosines", files, low.score, high.score);
  else
    inform("{}: scores from {} to {} become cosines from 0 to 1{}", files, range.first, range.second,
           given ? "" : "; `score_range` says other ends");
  return range;
}

std::vector<float> cosines_of(const std::vector<TextPair>& rows, const ScoreRange& range) {
  std::vector<float> targets;
  for (const TextPair& row : rows)
    targets.push_back(static_cast<float>((row.score - range.first) / (range.second - range.first)));
  return targets;
}

class SimilarityMeter : public Meter {
 public:
  explicit SimilarityMeter(std::vector<std::int64_t> widths)
      : widths_(std::move(widths)), metrics_(widths_.size()) {}

  void add(const Batch& batch, const Tensor& scores) override {
    const Tensor made = scores.detach().to(kDouble), expected = batch.labels.to(kDouble);
    const auto a = made.accessor<double, 2>();
    const auto b = expected.accessor<double, 1>();
    for (std::int64_t i = 0; i < made.size(0); ++i)
      for (std::size_t k = 0; k < metrics_.size(); ++k)
        metrics_[k].add(a[i][static_cast<std::int64_t>(k)], b[i]);
  }
  std::vector<Score> scores() const override {
    std::vector<std::vector<Score>> all;
    for (const RegressionMetric& metric : metrics_) {
      all.push_back(to_scores(metric.figures()));
      std::stable_partition(all.back().begin(), all.back().end(),
                            [](const Score& score) { return score.name == "spearman"; });
    }
    return by_width(widths_, all);
  }

 private:
  std::vector<std::int64_t> widths_;
  std::vector<RegressionMetric> metrics_;
};

}  // namespace

ScoredPairs::ScoredPairs(const Setting& setting)
    : ScoredPairs(setting, read_scored_pairs(setting.files, table_options(setting))) {}

ScoredPairs::ScoredPairs(const Setting& setting, const std::vector<TextPair>& rows)
    : vectors_(setting, rows), range_(range_of(setting, rows)), targets_(cosines_of(rows, range_)) {}

Batch ScoredPairs::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  std::vector<float> targets;
  for (const std::int64_t example : examples) targets.push_back(targets_[static_cast<std::size_t>(example)]);
  Batch batch;
  batch.tokens = vectors_.batch(examples);
  batch.labels = ops::tensor(targets);
  batch.counts.assign(vectors_.widths().size(), batch.labels.numel());
  return batch;
}

Losses ScoredPairs::losses(Trainee& trainee, const Batch& batch, Pass& pass,
                           const LossOptions& options) const {
  const auto [firsts, seconds] = vectors_(trainee, batch.tokens, pass);
  const Tensor labels = batch.labels;
  Losses losses;
  std::vector<Tensor> cosines;
  for (const std::int64_t width : vectors_.widths()) {
    cosines.push_back(ops::cosine_similarity(firsts.narrow(1, 0, width), seconds.narrow(1, 0, width), 1));
    losses.sums.push_back(squared_error(cosines.back(), labels).sum);
  }
  losses.scores = ops::stack(cosines, 1);
  return losses;
}

std::unique_ptr<Meter> ScoredPairs::meter() const {
  return std::make_unique<SimilarityMeter>(vectors_.widths());
}

const ObjectiveKind kScoredPairs = {
    .name = "scored-pairs",
    .summary = "vectors whose cosine is the similarity of two texts: score, text, text",
    .head = Head::body,
    .fine_tunes = true,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<ScoredPairs>(setting);
    },
    .write_extra_files = write_pooling,
};

}  // namespace attend
