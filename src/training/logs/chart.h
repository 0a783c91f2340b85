// Curves as SVG, drawn here so that a page shows them without scripts, and on paper.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

struct Point {
  double x, y;
};

struct Curve {
  std::string name;
  std::size_t color = 0;  // CSS class c0, c1, ... of the curve
  std::vector<Point> points;
};

enum class Scale { linear, logarithmic };

struct ChartSize {
  int width, height;
};

// The points that a chart can show: finite and at most 1e100, sorted by x. Values within 1e-100 of zero
// become zero.
std::vector<Point> drawable(const std::vector<Point>& points);

// At most 2 * buckets + 2 points that look like all of them: the first and the last, and the lowest and the
// highest of each of `buckets` equal parts of x.
std::vector<Point> thinned(const std::vector<Point>& points, std::size_t buckets);

// Each point's mean with its neighbours, `window` points in all; at the ends, as many on both sides as exist
// on the shorter one.
std::vector<Point> smoothed(const std::vector<Point>& points, std::size_t window);

// A logarithmic scale shows only values above zero.
bool can_be_logarithmic(const std::vector<Curve>& curves);

// An <svg> of drawable points. A curve of few points is drawn as dots on a line; a curve of many, as a thin
// line and a thick line, which is the mean over a 50th of the points. data-values on a curve's line are "x,y
// x,y ..." for the page's script.
std::string draw_chart(const std::string& title, const std::vector<Curve>& curves, Scale scale,
                       ChartSize size);

// Text for HTML, also inside an attribute: markup is escaped, invalid UTF-8 and control characters are
// replaced.
std::string escape_html(std::string_view text);

// A readable number:
std::string shown_number(double number);

}  // namespace attend
