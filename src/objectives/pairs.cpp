#include "objectives/pairs.h"

#include "metrics/retrieval.h"
#include "nn/layers/pooling.h"
#include "nn/losses/label_loss.h"
#include "objectives/base/kinds.h"
#include "objectives/shared/meters.h"

#include <limits>
#include <map>
#include <set>

namespace attend {
namespace {

// Vectors of different texts, with their indices.
class VectorTable {
 public:
  void add(std::int64_t number, const Tensor& vector) {
    const auto place = static_cast<std::int64_t>(places_.size());
    if (!places_.emplace(number, place).second) return;
    numbers_.push_back(number);
    rows_.push_back(vector.clone());
  }
  std::int64_t number(std::int64_t place) const { return numbers_[static_cast<std::size_t>(place)]; }
  // The row of a text; -1: it is absent.
  std::int64_t place(std::int64_t number) const {
    const auto found = places_.find(number);
    return found == places_.end() ? -1 : found->second;
  }
  // [texts, width], normalized to length 1.
  Tensor unit_vectors(std::int64_t width) const {
    return to_unit_length(ops::stack(rows_).narrow(1, 0, std::min(width, rows_.front().size(0))))
        .contiguous();
  }

 private:
  std::map<std::int64_t, std::int64_t> places_;
  std::vector<std::int64_t> numbers_;
  std::vector<Tensor> rows_;
};

// Keeps a vector of each different text, because the search covers all of them.
class RetrievalMeter : public Meter {
 public:
  explicit RetrievalMeter(std::vector<std::int64_t> widths) : widths_(std::move(widths)) {}

  void add(const Batch& batch, const Tensor& scores) override {
    const Tensor vectors = scores.detach().to(kFloat);
    const auto numbers = batch.labels.accessor<std::int64_t, 2>();
    const std::int64_t pairs = batch.labels.size(0);
    for (std::int64_t i = 0; i < pairs; ++i) {
      queries_.add(numbers[i][0], vectors[i]);
      candidates_.add(numbers[i][1], vectors[pairs + i]);
      right_[numbers[i][0]].insert(numbers[i][1]);
    }
  }

  std::vector<Score> scores() const override {
    std::vector<std::vector<Score>> all;
    for (const std::int64_t width : widths_) all.push_back(to_scores(measure(width)));
    return by_width(widths_, all);
  }

 private:
  Figures measure(std::int64_t width) const {
    RetrievalMetric metric;
    if (right_.empty()) return metric.figures();
    const Tensor queries = queries_.unit_vectors(width), candidates = candidates_.unit_vectors(width).t();
    constexpr std::int64_t kBlock = 64;  // queries at a time
    Tensor cosines;                      // [block, candidates]
    for (std::int64_t q = 0; q < queries.size(0); ++q) {
      if (q % kBlock == 0)
        cosines =
            ops::mm(queries.narrow(0, q, std::min(kBlock, queries.size(0) - q)), candidates).contiguous();
      const Tensor row = cosines[q % kBlock];
      rank({row.data<float>(), static_cast<std::size_t>(row.numel())}, queries_.number(q), metric);
    }
    return metric.figures();
  }

  // Each right text is ranked among the wrong ones; the query itself is excluded.
  void rank(std::span<float> similarities, std::int64_t query, RetrievalMetric& metric) const {
    std::vector<std::pair<std::int64_t, float>> right;
    const auto hide = [&](std::int64_t place) {
      return std::exchange(similarities[static_cast<std::size_t>(place)],
                           -std::numeric_limits<float>::infinity());
    };
    if (const std::int64_t itself = candidates_.place(query);
        itself >= 0 && !right_.at(query).contains(query))
      hide(itself);
    for (const std::int64_t number : right_.at(query)) {
      const std::int64_t place = candidates_.place(number);
      right.emplace_back(place, hide(place));
    }
    for (const auto& [place, similarity] : right) {
      similarities[static_cast<std::size_t>(place)] = similarity;
      metric.add(rank_of(similarities, place));
      hide(place);
    }
  }

  std::vector<std::int64_t> widths_;
  VectorTable queries_, candidates_;
  std::map<std::int64_t, std::set<std::int64_t>> right_;  // the second texts of each first one
};

}  // namespace

Tensor false_negatives(const Tensor& numbers) {
  const Tensor firsts = numbers.select(1, 0), seconds = numbers.select(1, 1);
  const auto equal = [](const Tensor& a, const Tensor& b) { return a.unsqueeze(1).eq(b.unsqueeze(0)); };
  Tensor left_out =
      equal(firsts, firsts).logical_or(equal(seconds, seconds)).logical_or(equal(firsts, seconds));
  left_out.fill_diagonal_(false);
  return left_out;
}

Pairs::Pairs(const Setting& setting)
    : vectors_(setting, read_pairs(setting.files, table_options(setting))), scale_(setting.recipe.scale) {
  if (setting.held_out) return;
  if (vectors_.count() < 2)
    fail("{}: expected two pairs at least, since other pairs' texts are what a text is told from; found one",
         fmt::join(setting.files, ", "));
  if (setting.recipe.batch_size.value_or(0) == 1)
    fail(
        "`batch_size` 1: expected two pairs to a batch at least, since other pairs' texts are what a text is "
        "told from");
}

Batch Pairs::collate(std::span<const std::int64_t> examples, const Draws& draws) const {
  Batch batch;
  batch.tokens = vectors_.batch(examples);
  std::vector<std::int64_t> numbers;
  for (const std::int64_t example : examples) {
    const auto [first, second] = vectors_.numbers(example);
    numbers.insert(numbers.end(), {first, second});
  }
  batch.labels = ops::tensor(numbers, kLong).view({-1, 2});
  batch.counts.assign(vectors_.widths().size(), static_cast<std::int64_t>(examples.size()));
  return batch;
}

Losses Pairs::losses(Trainee& trainee, const Batch& batch, Pass& pass, const LossOptions& options) const {
  const auto [firsts, seconds] = vectors_(trainee, batch.tokens, pass);
  const Tensor left_out = false_negatives(batch.labels);
  Losses losses;
  for (const std::int64_t width : vectors_.widths())
    losses.sums.push_back(contrastive_cross_entropy(firsts.narrow(1, 0, width), seconds.narrow(1, 0, width),
                                                    scale_,
                                                    /*symmetric=*/false, left_out)
                              .sum);
  losses.scores = ops::cat({firsts, seconds});
  return losses;
}

std::unique_ptr<Meter> Pairs::meter() const {
  return std::make_unique<RetrievalMeter>(vectors_.widths());
}

const ObjectiveKind kPairs = {
    .name = "pairs",
    .summary =
        "vectors that match texts which belong together: text, text; the second texts of other rows are "
        "negatives",
    .head = Head::body,
    .fine_tunes = true,
    .make = [](const Setting& setting) -> std::unique_ptr<Objective> {
      return std::make_unique<Pairs>(setting);
    },
    .write_extra_files = write_pooling,
};

}  // namespace attend
