#include "training/logs/report.h"

#include "base/base64.h"
#include "base/file.h"
#include "base/sha256.h"
#include "temporary_directory.h"
#include "training/logs/chart.h"
#include "training/logs/sample_log.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace attend {
namespace {

std::string report_in(const TemporaryDirectory& directory, const Report& report = {}) {
  write_report(directory.path(), report);
  return read_file(directory.path() / "run.html");
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t result = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++result;
  return result;
}

// Whether a number in the drawing is NaN or infinite.
bool draws_nonsense(const std::string& html) {
  const std::string drawn = html.substr(0, html.find("<script>"));
  const std::size_t begin = drawn.find("<svg");
  return begin != drawn.npos &&
         (drawn.find("nan", begin) != drawn.npos || drawn.find("inf", begin) != drawn.npos);
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

TEST(Report, SaysWhatItWasGiven) {
  const TemporaryDirectory directory;
  const std::string html =
      report_in(directory, {"BERT", {{"rate", "0.001"}}, {{"bad rows", "3"}}, "stopped: step 7 has a NaN"});
  for (const char* text :
       {"BERT", "rate", "0.001", "bad rows", "stopped: step 7 has a NaN", "no figures yet"})
    EXPECT_TRUE(contains(html, text));
  EXPECT_EQ(count(html, "<svg"), 0u);
  EXPECT_EQ(directory.count(), 1u);  // only the page
}

TEST(Report, DrawsLossesTogetherAndOtherFiguresApart) {
  const TemporaryDirectory directory;
  directory.file("metrics.jsonl",
                 "{\"step\":10,\"train/rate\":0,\"train/loss\":4,\"train/epoch\":1,\"train/seconds\":61}\n"
                 "{\"step\":20,\"train/rate\":0.5,\"train/loss\":2}\n"
                 "{\"step\":20,\"validation/loss\":3,\"validation/accuracy\":0.5}\n");
  const std::string html = report_in(directory, {"", {}, {}, "training"});
  EXPECT_TRUE(contains(html, "training · step 20 · epoch 1 · 1 min 1 s"));
  EXPECT_EQ(count(html, "<figure"), 3u);
  EXPECT_EQ(count(html, "<figure class=\"large both\""), 1u);
  EXPECT_EQ(count(html, "<svg class=\"log\""), 2u);  // not for the learning rate, which begins at 0
  const std::string loss = between(html, "<h3>loss</h3>", "</figure>");
  EXPECT_TRUE(contains(loss, "train <span data-curve=\"0\">2 at step 20"));
  EXPECT_TRUE(contains(loss, "validation <span data-curve=\"1\">3 at step 20"));
  EXPECT_TRUE(contains(loss, "data-values=\"10,4 20,2\""));
  EXPECT_LT(html.find("<h3>loss</h3>"), html.find("<h3>rate</h3>"));
}

TEST(Report, LeavesOutWhatIsNoNumber) {
  const TemporaryDirectory directory;
  directory.file(
      "metrics.jsonl",
      "{\"step\":1,\"train/loss\":null,\"train/norm\":null}\n{\"step\":2,\"train/loss\":5}\n"
      "{\"step\":3,\"train/loss\":1e300}\n{\"step\":4,\"train/loss\":\"6\"}\n{\"step\":\"5\"}\n[1]\n"
      "{\"step\":5,\"train/loss\":7}\n{\"step\":6,\"train/lo");
  const std::string html = report_in(directory);
  EXPECT_TRUE(contains(html, "data-values=\"2,5 5,7\""));
  EXPECT_EQ(count(html, "<figure"), 1u);  // no figure for the norm, which is never a number
  EXPECT_FALSE(draws_nonsense(html));
}

TEST(Report, DrawsOnePointAndEqualPoints) {
  const TemporaryDirectory directory;
  directory.file(
      "metrics.jsonl",
      "{\"step\":1,\"a\":0,\"b\":1e-320}\n{\"step\":2,\"b\":1e-320,\"c\":-1e99}\n{\"step\":3,\"c\":1e99}\n");
  const std::string html = report_in(directory);
  EXPECT_EQ(count(html, "<figure"), 3u);
  EXPECT_FALSE(draws_nonsense(html));
}

TEST(Report, EscapesEverything) {
  const TemporaryDirectory directory;
  const std::string evil = "</script><script>alert('1')</script>\"><img src=x onerror=\"alert(2)\"> \xff\x01";
  directory.file("metrics.jsonl", "{\"step\":1,\"<script>alert(1)</script>/<b onclick='x'>\":1}\n");
  SampleLog(directory.path(), 0).write(1, std::vector<Sample>{{evil, evil, evil}});
  const std::string html = report_in(directory, {evil, {{evil, evil}}, {{evil, evil}}, evil});
  EXPECT_EQ(count(html, "<script"), 1u);
  EXPECT_EQ(count(html, "</script"), 1u);
  EXPECT_EQ(count(html, "<img"), 0u);
  EXPECT_EQ(count(html, "<b"), count(html, "<body"));
  EXPECT_EQ(html.find('\x01'), html.npos);
  EXPECT_GE(count(html, "&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)"), 8u);
}

TEST(Report, PermitsItsOwnStyleAndScriptOnly) {
  const TemporaryDirectory directory;
  const std::string html = report_in(directory);
  const std::string policy = between(html, "Content-Security-Policy\" content=\"", "\">");
  EXPECT_TRUE(policy.starts_with("default-src 'none';"));
  for (const char* tag : {"script", "style"}) {
    const std::string content = between(html, std::string("<") + tag + ">", std::string("</") + tag + ">");
    EXPECT_TRUE(contains(policy, std::string(tag) + "-src 'sha256-" + encode_base64(sha256(content)) + "'"));
  }
  EXPECT_EQ(count(html, "http://") + count(html, "https://") + count(html, " style=") + count(html, "url("),
            0u);
}

TEST(Report, ShowsWhatIsSaidOfAnInputLastFirst) {
  const TemporaryDirectory directory;
  SampleLog log(directory.path(), 0);
  for (std::int64_t step = 1; step <= 5; ++step)
    log.write(step, std::vector<Sample>{{"Ein Hund.", "A dog.", "said " + std::to_string(step)}});
  const std::string html = report_in(directory);
  EXPECT_EQ(count(html, "Ein Hund."), 1u);
  EXPECT_LT(html.find("said 5"), html.find("said 4"));
  EXPECT_TRUE(contains(html, "<summary>2 earlier</summary>"));
}

TEST(Report, CutsLongTexts) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "ä";
  SampleLog(directory.path(), 0).write(1, std::vector<Sample>{{text, "", "x"}});
  EXPECT_EQ(count(report_in(directory), "ä"), 2000u);
}

TEST(SampleLog, ResumesWhereTheRunIsResumed) {
  const TemporaryDirectory directory;
  {
    SampleLog log(directory.path(), 0);
    log.write(10, std::vector<Sample>{{"a", "b", "c"}});
    log.write(20, std::vector<Sample>{{"a", "b", "d"}});
  }
  std::ofstream(directory.path() / "samples.jsonl", std::ios::app) << "{\"step\": 5, \"sam";  // killed
  SampleLog log(directory.path(), 15);
  log.write(18, std::vector<Sample>{{"a", "b", "\xff"}});
  const std::vector<SampledStep> steps = read_samples(directory.path());
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].step, 10);
  EXPECT_EQ(steps[0].samples[0].said, "c");
  EXPECT_EQ(steps[1].step, 18);
  EXPECT_EQ(steps[1].samples[0].said, "\xef\xbf\xbd");
}

TEST(Chart, DropsPointsButKeepsTheExtremes) {
  std::vector<Point> points;
  for (int i = 0; i < 10000; ++i) points.push_back({static_cast<double>(i), std::sin(i * 0.01)});
  points[5003].y = 9;
  points[7777].y = -9;
  const std::vector<Point> few = thinned(points, 100);
  EXPECT_LE(few.size(), 202u);
  EXPECT_EQ(few.front().x, 0);
  EXPECT_EQ(few.back().x, 9999);
  const auto has = [&](double x) {
    return std::any_of(few.begin(), few.end(), [x](const Point& point) { return point.x == x; });
  };
  EXPECT_TRUE(has(5003) && has(7777));
  EXPECT_TRUE(
      std::is_sorted(few.begin(), few.end(), [](const Point& a, const Point& b) { return a.x < b.x; }));
  EXPECT_EQ(thinned(std::vector<Point>(1000, {3, 4}), 10).size(), 3u);  // all at one step
}

TEST(Chart, SmoothsWithoutShiftingTheEnds) {
  const std::vector<Point> points = {{0, 1}, {1, 4}, {2, 1}, {3, 4}, {4, 7}};
  const std::vector<Point> smooth = smoothed(points, 3);
  const double expected[] = {1, 2, 3, 4, 7};
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_DOUBLE_EQ(smooth[i].y, expected[i]);
}

}  // namespace
}  // namespace attend
