#include "objectives/shared/answer_meter.h"

#include "metrics/answers.h"
#include "objectives/shared/meters.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace attend {
namespace {

constexpr std::int64_t kBest = 20, kLongestAnswer = 30;

// Keeps the better span; of equal scores, the first.
std::vector<std::int64_t> best_rows(std::span<const float> scores) {
  std::vector<std::int64_t> rows(scores.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto kept = std::min<std::ptrdiff_t>(kBest, std::ssize(rows));
  std::ranges::partial_sort(rows, rows.begin() + kept, [&](std::int64_t a, std::int64_t b) {
    const float x = scores[static_cast<std::size_t>(a)], y = scores[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  rows.resize(static_cast<std::size_t>(kept));
  return rows;
}

class AnswerMeter : public Meter {
 public:
  explicit AnswerMeter(const QuestionWindows& windows)
      : windows_(windows), found_(windows.questions()), none_(windows.some_without_answer()) {}

  void add(const Batch& batch, const Tensor& scores) override {
    const Tensor host = scores.detach().to(kFloat);
    for (std::size_t b = 0; b < batch.examples.size(); ++b) {
      const auto& window = windows_.windows()[static_cast<std::size_t>(batch.examples[b])];
      const Tensor own = batch.tokens.offsets.part(host, static_cast<std::int64_t>(b));  // [L, 2]
      Found& found = found_[window.question];
      found.none = std::min(found.none, own[window.none].sum().item<float>());
      const auto length = static_cast<std::int64_t>(window.end - window.begin);
      const auto best = best_place(own, window.offset, window.offset + length);
      if (!best || best->score <= found.score) continue;
      found.score = best->score;
      found.answer = windows_.answer(window, best->place);
    }
  }

  std::vector<Score> scores() const override {
    AnswerMetric metric;
    for (std::size_t q = 0; q < found_.size(); ++q) {
      const Found& found = found_[q];
      metric.add(none_ && found.none > found.score ? std::string() : found.answer, windows_.answers(q));
    }
    return beginning_with("f1", to_scores(metric.figures()));
  }

 private:
  struct Found {
    float score = -std::numeric_limits<float>::infinity();
    float none = std::numeric_limits<float>::infinity();  // the lowest of all windows
    std::string answer;
  };
  const QuestionWindows& windows_;
  std::vector<Found> found_;  // of each question
  bool none_;
};

}  // namespace

std::optional<ScoredPlace> best_place(const Tensor& scores, std::int64_t begin, std::int64_t end) {
  if (!scores.isfinite().all().item<bool>()) fail("the model's scores are not finite: is it broken?");
  const Tensor columns = scores.t().contiguous();
  const auto length = static_cast<std::size_t>(scores.size(0));
  const std::span starts(columns.const_data<float>(), length), ends(starts.data() + length, length);
  std::optional<ScoredPlace> best;
  const std::vector<std::int64_t> last = best_rows(ends);
  for (const std::int64_t s : best_rows(starts))
    for (const std::int64_t e : last) {
      if (s < begin || e >= end || e < s || e - s >= kLongestAnswer) continue;
      const float score = starts[static_cast<std::size_t>(s)] + ends[static_cast<std::size_t>(e)];
      if (!best || score > best->score) best = {{s, e}, score};
    }
  return best;
}

std::unique_ptr<Meter> answer_meter(const QuestionWindows& windows) {
  return std::make_unique<AnswerMeter>(windows);
}

}  // namespace attend
