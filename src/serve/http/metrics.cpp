#include "serve/http/metrics.h"

#include <algorithm>

#include <fmt/format.h>

namespace attend::serve {

std::string in_braces(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += fmt::format("{}{}=\"", text.empty() ? "{" : ",", name);
    for (const char c : value) {
      if (c == '\\' || c == '"') text += '\\';
      if (c == '\n')
        text += "\\n";
      else
        text += c;
    }
    text += '"';
  }
  return text.empty() ? text : text + "}";
}

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void Histogram::add(double value) {
  ++counts_[static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin())];
  sum_ += value;
  ++count_;
}

std::string Histogram::lines(std::string_view name, const Labels& labels) const {
  std::string text;
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    so_far += counts_[i];
    Labels with_bound = labels;
    with_bound.emplace_back("le", i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf");
    text += fmt::format("{}_bucket{} {}\n", name, in_braces(with_bound), so_far);
  }
  return text + fmt::format("{0}_sum{1} {2}\n{0}_count{1} {3}\n", name, in_braces(labels), sum_, count_);
}

void MetricPage::add(const std::string& name, const char* kind, const char* help, const std::string& lines) {
  const auto found = std::ranges::find(figures_, name, &Figure::name);
  if (found != figures_.end())
    found->lines += lines;
  else
    figures_.push_back({name, fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, kind), lines});
}

std::string MetricPage::text() const {
  std::string text;
  for (const Figure& figure : figures_) text += figure.heading + figure.lines;
  return text;
}

}  // namespace attend::serve
