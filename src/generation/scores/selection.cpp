#include "generation/scores/selection.h"

#include "base/best.h"
#include "base/error.h"
#include "base/random.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

namespace attend {
namespace {

constexpr std::size_t kLanes = 32;

// Settings that would cause such numbers have been rejected earlier (GenerationConfig::check, processors).
[[noreturn]] void fail_not_finite(const char* what) {
  throw Error(fmt::format("the model's scores are {}: its weights are damaged or have overflowed (attend "
                          "inspect --check-values looks for such weights)",
                          what),
              ErrorKind::model);
}
[[noreturn]] void fail_not_a_number() {
  fail_not_finite("not numbers (NaN)");
}

// The largest of n numbers, n a multiple of kLanes; sets `nan` if one of them is NaN. In lanes, so that the
// compiler uses vector instructions.
float largest_of(const float* x, std::size_t n, bool& nan) {
  float max[kLanes];
  std::int32_t bad[kLanes] = {};
  std::fill(max, max + kLanes, kNever);
  for (std::size_t i = 0; i < n; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) {
      max[j] = x[i + j] > max[j] ? x[i + j] : max[j];
      bad[j] |= x[i + j] != x[i + j];
    }
  for (const std::int32_t one : bad) nan = nan || one != 0;
  return *std::max_element(max, max + kLanes);
}

bool better(const Scored& a, const Scored& b) {
  return a.first > b.first;
}

}  // namespace

std::int64_t arg_max(std::span<const float> scores) {
  const std::size_t whole = scores.size() / kLanes * kLanes;
  bool nan = false;
  float largest = largest_of(scores.data(), whole, nan);
  for (std::size_t i = whole; i < scores.size(); ++i) {
    nan = nan || std::isnan(scores[i]);
    largest = std::max(largest, scores[i]);
  }
  if (nan) fail_not_a_number();
  return std::ranges::find(scores, largest) - scores.begin();
}

double random_fraction(std::uint64_t seed, std::uint64_t sequence, std::uint64_t step) {
  const std::uint64_t bits =
      mix64(mix64(mix64(seed + kRandomStep) + kRandomStep * (sequence + 1)) + kRandomStep * (step + 1));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

std::int64_t draw(std::span<const float> scores, double fraction) {
  float largest = kNever;
  for (const float score : scores) {
    if (std::isnan(score)) fail_not_a_number();
    largest = std::max(largest, score);
  }
  if (largest == kNever) fail("no token is possible any more: the settings rule out the whole vocabulary");
  if (!std::isfinite(largest)) fail_not_finite("infinite");
  std::vector<std::pair<std::int64_t, double>> sums;  // up to and including each possible token
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == kNever) continue;
    sum += std::exp(static_cast<double>(scores[i]) - largest);
    sums.emplace_back(i, sum);
  }
  const auto chosen =
      std::ranges::upper_bound(sums, fraction * sum, {}, [](const auto& s) { return s.second; });
  return chosen == sums.end() ? sums.back().first : chosen->first;
}

LogProbabilities::LogProbabilities(std::span<const float> scores)
    : scores_(scores), largest_(std::ranges::max(scores)) {
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - largest_);
  log_sum_ = std::log(sum);
}

float LogProbabilities::operator()(std::int64_t token) const {
  return static_cast<float>(static_cast<double>(scores_[token]) - largest_ - log_sum_);
}

float log_probability(std::span<const float> scores, std::int64_t token) {
  return LogProbabilities(scores)(token);
}

// Drawing tokens one after another is the same as taking the k best after adding Gumbel noise to each score
// (Vieira 2014; Kool et al. 2019, arXiv:1903.06059).
std::vector<Scored> draw_different(std::span<const float* const> rows, std::span<const float> offsets,
                                   std::int64_t vocabulary, std::int64_t k, const RandomKey& random) {
  struct Place {
    double key;
    float score;
    std::int64_t number;
  };
  const auto seed = std::bit_cast<std::uint64_t>(random_fraction(random.seed, random.sequence, random.step));
  std::vector<Place> places;
  places.reserve(rows.size() * static_cast<std::size_t>(vocabulary));
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::int64_t token = 0; token < vocabulary; ++token) {
      const float score = rows[row][token] + offsets[row];
      if (std::isnan(score)) fail_not_a_number();
      double key = score;
      if (score != kNever) {
        const double fraction = random_fraction(seed, row, static_cast<std::uint64_t>(token)) + 0x1p-54;
        key -= std::log(-std::log(fraction));
      }
      places.push_back({key, score, static_cast<std::int64_t>(row) * vocabulary + token});
    }
  const auto earlier = [](const Place& a, const Place& b) {
    return a.key != b.key ? a.key > b.key : a.number < b.number;
  };
  const auto end = places.begin() + std::min<std::ptrdiff_t>(k, std::ssize(places));
  std::partial_sort(places.begin(), end, places.end(), earlier);
  std::vector<Scored> drawn;
  for (auto place = places.begin(); place != end; ++place) drawn.emplace_back(place->score, place->number);
  return drawn;
}

std::vector<Scored> top_k(std::span<const float> scores, std::int64_t k) {
  std::vector<Scored> queue;
  for (std::size_t i = 0; i < scores.size(); ++i) queue.emplace_back(scores[i], i);
  keep_best(queue, static_cast<std::size_t>(k), scores.size(), better);
  return queue;
}

std::vector<Scored> top_k(std::span<const float* const> rows, std::span<const float> offsets,
                          std::int64_t vocabulary, std::int64_t k) {
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) * vocabulary;
  std::vector<Scored> queue;
  // A score can be among the best only if it is better than the k-th best so far. For partial_sort other
  // scores do not matter, so they are not passed on; nth_element needs all of them.
  const bool all = k * 64 > count;
  std::vector<float> best;  // the k best so far, as a heap with the smallest in front
  const auto take = [&](std::int64_t row, std::int64_t token) {
    const float score = rows[row][token] + offsets[row];
    if (std::isnan(score)) fail_not_a_number();
    if (!all && static_cast<std::int64_t>(best.size()) == k) {
      if (!(score > best.front())) return;
      std::ranges::pop_heap(best, std::greater{});
      best.pop_back();
    }
    queue.emplace_back(score, row * vocabulary + token);
    if (all) return;
    best.push_back(score);
    std::ranges::push_heap(best, std::greater{});
  };
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(rows.size()); ++row)
    for (std::int64_t token = 0; token < vocabulary; ++token) {
      if (!all && static_cast<std::int64_t>(best.size()) == k)
        token = kernels::kernels().find_above(rows[row], token, vocabulary, offsets[row], best.front());
      if (token < vocabulary) take(row, token);
    }
  keep_best(queue, static_cast<std::size_t>(k), static_cast<std::size_t>(count), better);
  return queue;
}

}  // namespace attend
