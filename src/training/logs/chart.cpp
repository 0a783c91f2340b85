#include "training/logs/chart.h"

#include "base/utf8.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace attend {
namespace {

constexpr std::size_t buckets_drawn = 400, dotted = 60, smoothed_from = 200;
constexpr double left_margin = 56, right_margin = 28, top_margin = 10, bottom_margin = 24;

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double width() const { return high - low; }
};

// Maps one axis of the data to the picture, with its labelled values.
struct Axis {
  Range range;
  Scale scale = Scale::linear;
  double begin = 0, end = 0;  // in the picture

  double place(double value) const {
    const double at = scale == Scale::linear ? value : std::log10(value);
    return begin + (at - range.low) / range.width() * (end - begin);
  }
  std::vector<double> ticks(int about) const;
};

// 1, 2 or 5 times a power of ten.
double nice_step(double width, int about) {
  const double min = width / about, power = std::pow(10, std::floor(std::log10(min)));
  for (const double factor : {1, 2, 5})
    if (factor * power >= min) return factor * power;
  return 10 * power;
}

std::vector<double> Axis::ticks(int about) const {
  std::vector<double> result;
  if (scale == Scale::logarithmic && range.width() > 0.8) {
    // Powers of ten, or every n-th of them; if there are few, also their multiples of two and five.
    const int every = std::max(1, static_cast<int>(std::ceil(range.width() / about)));
    for (int power = static_cast<int>(std::floor(range.low)); power <= range.high; ++power) {
      if (power % every != 0) continue;
      for (const double factor : {1.0, 2.0, 5.0})
        if ((factor == 1 || range.width() < 2.5) && power + std::log10(factor) >= range.low &&
            power + std::log10(factor) <= range.high)
          result.push_back(factor * std::pow(10, power));
    }
    return result;
  }
  const bool linear = scale == Scale::linear;
  const double low = linear ? range.low : std::pow(10, range.low),
               high = linear ? range.high : std::pow(10, range.high);
  const double step = nice_step(high - low, about), first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= 2 * about && (first + i) * step <= high + step * 1e-9; ++i)
    result.push_back((first + i) * step);
  return result;
}

// A non-empty range with some space around the data.
Range padded(Range range) {
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (!(range.width() > 1e-9 * size)) {
    const double room = size > 0 ? size / 10 : 1;
    return {range.low - room, range.high + room};
  }
  return {range.low - range.width() * 0.04, range.high + range.width() * 0.04};
}

std::string line(const std::vector<Point>& points, const Axis& x, const Axis& y) {
  std::string result;
  for (const Point& point : points)
    fmt::format_to(std::back_inserter(result), "{}{:.1f},{:.1f}", result.empty() ? "" : " ", x.place(point.x),
                   y.place(point.y));
  return result;
}

std::string values(const std::vector<Point>& points) {
  std::string result;
  for (const Point& point : points)
    fmt::format_to(std::back_inserter(result), "{}{:.15g},{}", result.empty() ? "" : " ", point.x,
                   shown_number(point.y));
  return result;
}

std::string draw_axes(const Axis& x, const Axis& y, ChartSize size) {
  std::string svg;
  const auto out = std::back_inserter(svg);
  for (const double tick : y.ticks(std::max(2, size.height / 40))) {
    const double at = y.place(tick);
    fmt::format_to(out, "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", x.begin,
                   x.end, at, at);
    fmt::format_to(out, "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left_margin - 6, at + 4,
                   shown_number(tick));
  }
  for (const double tick : x.ticks(std::max(2, size.width / 110))) {
    if (tick != std::floor(tick)) continue;  // there are no half steps
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.15g}</text>", x.place(tick),
                   size.height - 6, tick);
  }
  fmt::format_to(out, "<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>", x.begin, x.end,
                 y.begin);
  return svg;
}

}  // namespace

std::vector<Point> drawable(const std::vector<Point>& points) {
  std::vector<Point> result;
  for (const Point& point : points)
    if (std::abs(point.y) <= 1e100)  // not for NaN
      result.push_back({point.x, std::abs(point.y) < 1e-100 ? 0 : point.y});
  std::stable_sort(result.begin(), result.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  return result;
}

std::vector<Point> thinned(const std::vector<Point>& points, std::size_t buckets) {
  if (points.size() <= 2 * buckets + 2) return points;
  const double first = points.front().x, width = points.back().x - first;
  const auto bucket_of = [&](const Point& point) {
    return width > 0
               ? std::min(static_cast<std::size_t>((point.x - first) / width * static_cast<double>(buckets)),
                          buckets - 1)
               : 0;
  };
  std::vector<Point> result = {points.front()};
  for (std::size_t begin = 1, end = 1, last = points.size() - 1; begin < last; begin = end) {
    std::size_t lowest = begin, highest = begin;
    for (; end < last && bucket_of(points[end]) == bucket_of(points[begin]); ++end) {
      if (points[end].y < points[lowest].y) lowest = end;
      if (points[end].y > points[highest].y) highest = end;
    }
    result.push_back(points[std::min(lowest, highest)]);
    if (lowest != highest) result.push_back(points[std::max(lowest, highest)]);
  }
  result.push_back(points.back());
  return result;
}

std::vector<Point> smoothed(const std::vector<Point>& points, std::size_t window) {
  std::vector<double> sums = {0};
  for (const Point& point : points) sums.push_back(sums.back() + point.y);
  std::vector<Point> result;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t reach = std::min({window / 2, i, points.size() - 1 - i});
    const double sum = sums[i + reach + 1] - sums[i - reach];
    result.push_back({points[i].x, reach == 0 ? points[i].y : sum / static_cast<double>(2 * reach + 1)});
  }
  return result;
}

bool can_be_logarithmic(const std::vector<Curve>& curves) {
  return std::all_of(curves.begin(), curves.end(), [](const Curve& curve) {
    return std::all_of(curve.points.begin(), curve.points.end(),
                       [](const Point& point) { return point.y > 0; });
  });
}

std::string draw_chart(const std::string& title, const std::vector<Curve>& curves, Scale scale,
                       ChartSize size) {
  Axis x{{}, Scale::linear, left_margin, size.width - right_margin};
  Axis y{{}, scale, size.height - bottom_margin, top_margin};
  for (const Curve& curve : curves)
    for (const Point& point : curve.points) {
      x.range.add(point.x);
      y.range.add(scale == Scale::linear ? point.y : std::log10(point.y));
    }
  if (!(x.range.width() >= 0)) return "";  // not a single point
  if (x.range.width() == 0) x.range = {x.range.low - 1, x.range.high + 1};
  y.range = padded(y.range);

  std::string svg;
  const auto out = std::back_inserter(svg);
  fmt::format_to(out, "<svg class=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
                 scale == Scale::linear ? "linear" : "log", size.width, size.height, escape_html(title));
  svg += draw_axes(x, y, size);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Curve& curve = curves[i];
    const std::vector<Point> points = thinned(curve.points, buckets_drawn);
    const bool noisy = curve.points.size() > smoothed_from;
    fmt::format_to(out,
                   "<g class=\"curve c{}\"><polyline{} data-curve=\"{}\" data-values=\"{}\" points=\"{}\"/>",
                   curve.color, noisy ? " class=\"every\"" : "", i, values(points), line(points, x, y));
    if (noisy)
      fmt::format_to(
          out, "<polyline points=\"{}\"/>",
          line(thinned(smoothed(curve.points, curve.points.size() / 50), buckets_drawn / 2), x, y));
    if (points.size() <= dotted)
      for (const Point& point : points)
        fmt::format_to(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", x.place(point.x),
                       y.place(point.y));
    svg += "</g>";
  }
  fmt::format_to(out, "<line class=\"cross\" y1=\"{}\" y2=\"{}\" visibility=\"hidden\"/></svg>\n", y.end,
                 y.begin);
  return svg;
}

std::string escape_html(std::string_view text) {
  std::string result;
  for (const char c : repair_utf8(text)) switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        if ((c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
          result += "\xef\xbf\xbd";
        else
          result += c;
    }
  return result;
}

std::string shown_number(double number) {
  return fmt::format("{:.5g}", number);
}

}  // namespace attend
