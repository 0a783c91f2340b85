// Metrics for Prometheus, in its text format (version 0.0.4).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend::serve {

using Labels = std::vector<std::pair<std::string, std::string>>;

// {model_name="gpt2",le="0.5"}; values are escaped.
std::string in_braces(const Labels& labels);

// Counts numbers by upper bound. Not thread-safe.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);  // ascending
  void add(double value);
  // The lines of its buckets, sum and count.
  std::string lines(std::string_view name, const Labels& labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;  // one more: for larger numbers
  double sum_ = 0;
  std::uint64_t count_ = 0;
};

// Metrics of several models by name, each with one heading.
class MetricPage {
 public:
  void add(const std::string& name, const char* kind, const char* help, const std::string& lines);
  std::string text() const;

 private:
  struct Figure {
    std::string name, heading, lines;
  };
  std::vector<Figure> figures_;  // in the order of their first lines
};

}  // namespace attend::serve
