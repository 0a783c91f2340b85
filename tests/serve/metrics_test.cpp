// Metrics in Prometheus's format.
#include "serve/http/metrics.h"

#include <gtest/gtest.h>

namespace attend::serve {
namespace {

TEST(Metrics, LabelsMayHoldAnything) {
  EXPECT_EQ(in_braces({{"a", "we\"ird\\\n"}, {"b", "2"}}), "{a=\"we\\\"ird\\\\\\n\",b=\"2\"}");
  EXPECT_EQ(in_braces({}), "");
}

TEST(Metrics, HistogramsCountUpwards) {
  Histogram histogram({0.5, 1});
  for (const double value : {0.25, 0.5, 0.75, 8.0}) histogram.add(value);
  EXPECT_EQ(histogram.lines("h", {{"m", "x"}}),
            "h_bucket{m=\"x\",le=\"0.5\"} 2\nh_bucket{m=\"x\",le=\"1\"} 3\nh_bucket{m=\"x\",le=\"+Inf\"} 4\n"
            "h_sum{m=\"x\"} 9.5\nh_count{m=\"x\"} 4\n");
}

TEST(Metrics, EachFigureHasOneHeading) {
  MetricPage page;
  page.add("a", "gauge", "First.", "a{m=\"1\"} 1\n");
  page.add("b", "gauge", "Second.", "b 2\n");
  page.add("a", "gauge", "First.", "a{m=\"2\"} 3\n");
  EXPECT_EQ(
      page.text(),
      "# HELP a First.\n# TYPE a gauge\na{m=\"1\"} 1\na{m=\"2\"} 3\n# HELP b Second.\n# TYPE b gauge\nb 2\n");
}

}  // namespace
}  // namespace attend::serve
