#include "training/logs/report.h"

#include "base/base64.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "training/logs/chart.h"
#include "training/logs/report_assets.h"
#include "training/logs/sample_log.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace attend {
namespace {

constexpr std::size_t charts_shown = 48, samples_shown = 50, answers_open = 3, answers_shown = 40;
constexpr std::size_t characters_shown = 2000;
constexpr std::size_t colors = 6;
constexpr ChartSize large{960, 320}, small{360, 190};

struct Chart {
  std::string title;
  std::vector<Curve> curves;
};

struct Metrics {
  std::vector<Chart> charts;
  std::optional<std::int64_t> step;
  std::optional<double> epoch, seconds;
};

template <class List, class Name>
auto& named(List& list, const Name& name, std::string List::value_type::*member) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.*member == name; });
  if (found != list.end()) return *found;
  list.emplace_back().*member = name;
  return list.back();
}

// "train/loss" is the curve train of the chart loss. A run's progress is not a curve.
Metrics read_metrics(const std::filesystem::path& path) {
  Metrics metrics;
  std::vector<std::string> kinds = {"train", "validation"};  // each kind has one colour in all charts
  for (const Json& line : read_step_log(path)) {
    metrics.step = line["step"].get<std::int64_t>();
    for (const auto& [name, value] : line.items()) {
      if (name == "step" || !value.is_number()) continue;
      const std::size_t slash = name.find('/');
      const std::string kind = slash == name.npos ? "" : name.substr(0, slash);
      const std::string title = slash == name.npos ? name : name.substr(slash + 1);
      if (title == "epoch") metrics.epoch = value.get<double>();
      if (title == "seconds") metrics.seconds = value.get<double>();
      if (title == "epoch" || title == "seconds") continue;
      Curve& curve = named(named(metrics.charts, title, &Chart::title).curves, kind, &Curve::name);
      const auto color = std::find(kinds.begin(), kinds.end(), kind);
      curve.color = static_cast<std::size_t>(color - kinds.begin()) % colors;
      if (color == kinds.end()) kinds.push_back(kind);
      curve.points.push_back({static_cast<double>(*metrics.step), value.get<double>()});
    }
  }
  for (Chart& chart : metrics.charts) {
    for (Curve& curve : chart.curves) curve.points = drawable(curve.points);
    std::erase_if(chart.curves, [](const Curve& curve) { return curve.points.empty(); });
  }
  std::erase_if(metrics.charts, [](const Chart& chart) { return chart.curves.empty(); });
  std::stable_partition(metrics.charts.begin(), metrics.charts.end(),
                        [](const Chart& chart) { return chart.title == "loss"; });
  return metrics;
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e12));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string draw(const Chart& chart) {
  const bool is_large = chart.title == "loss", both = can_be_logarithmic(chart.curves);
  std::string html =
      fmt::format("<figure class=\"{}{}\"><figcaption><h3>{}</h3>\n", is_large ? "large" : "small",
                  both ? " both" : "", escape_html(spaced(chart.title)));
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    const Curve& curve = chart.curves[i];
    const Point last = curve.points.back();
    html +=
        fmt::format("<span class=\"key c{}\">{} <span data-curve=\"{}\">{} at step {:.15g}</span></span>\n",
                    curve.color, escape_html(spaced(curve.name)), i, shown_number(last.y), last.x);
  }
  html += "</figcaption>\n";
  const ChartSize size = is_large ? large : small;
  html += draw_chart(chart.title, chart.curves, Scale::linear, size);
  if (both) html += draw_chart(chart.title + ", logarithmic", chart.curves, Scale::logarithmic, size);
  return html + "</figure>\n";
}

std::string draw_curves(const std::vector<Chart>& charts) {
  if (charts.empty()) return "<p class=\"note\">There are no figures yet.</p>\n";
  std::string html =
      "<input type=\"checkbox\" id=\"log\"> <label for=\"log\">Logarithmic scale</label>\n"
      "<p class=\"note\">Values are the last, or those under the pointer. Of many values the thin line shows "
      "all, the "
      "thick one their mean over a 50th of the run.</p>\n<div class=\"charts\">\n";
  for (std::size_t i = 0; i < std::min(charts.size(), charts_shown); ++i) html += draw(charts[i]);
  html += "</div>\n";
  if (charts.size() > charts_shown)
    html +=
        fmt::format("<p class=\"note\">{} more are in metrics.jsonl.</p>\n", charts.size() - charts_shown);
  return html;
}

std::string table(const char* heading, const std::vector<std::pair<std::string, std::string>>& rows) {
  if (rows.empty()) return "";
  std::string html = fmt::format("<section><h2>{}</h2><table>\n", heading);
  for (const auto& [name, value] : rows)
    html += fmt::format("<tr><th scope=\"row\">{}</th><td dir=\"auto\">{}</td></tr>\n", escape_html(name),
                        escape_html(value));
  return html + "</table></section>\n";
}

// Shortens a text for a page.
std::string beginning(const std::string& text) {
  const std::string repaired = repair_utf8(text);
  std::size_t at = 0, characters = 0;
  while (at < repaired.size() && characters < characters_shown) {
    at += decode_utf8(repaired, at).size;
    ++characters;
  }
  return at < repaired.size() ? repaired.substr(0, at) + " …" : repaired;
}

std::string row(const std::string& name, const std::string& text) {
  return fmt::format("<tr><th scope=\"row\">{}</th><td dir=\"auto\">{}</td></tr>\n", escape_html(name),
                     escape_html(beginning(text)));
}

// One input, and the model's outputs for it at each validation, latest first.
struct Asked {
  std::string input, expected;
  std::vector<std::pair<std::int64_t, std::string>> said;
};

std::vector<Asked> by_input(const std::vector<SampledStep>& steps) {
  std::vector<Asked> result;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    for (const Sample& sample : step->samples) {
      auto asked = std::find_if(result.begin(), result.end(), [&](const Asked& other) {
        return other.input == sample.input && other.expected == sample.expected;
      });
      if (asked == result.end()) {
        if (result.size() == samples_shown) continue;
        asked = result.insert(result.end(), {sample.input, sample.expected, {}});
      }
      if (asked->said.size() < answers_shown) asked->said.emplace_back(step->step, sample.said);
    }
  return result;
}

std::string draw_samples(const std::vector<SampledStep>& steps) {
  const std::vector<Asked> samples = by_input(steps);
  if (samples.empty()) return "";
  std::string html = "<section><h2>What the model says</h2>\n";
  for (const Asked& asked : samples) {
    html += "<div class=\"sample\"><table>\n";
    if (!asked.input.empty()) html += row("input", asked.input);
    if (!asked.expected.empty()) html += row("expected", asked.expected);
    for (std::size_t i = 0; i < asked.said.size(); ++i) {
      if (i == answers_open)
        html += fmt::format("</table><details><summary>{} earlier</summary><table>\n", asked.said.size() - i);
      html += row(fmt::format("step {}", asked.said[i].first), asked.said[i].second);
    }
    html += asked.said.size() > answers_open ? "</table></details></div>\n" : "</table></div>\n";
  }
  return html + "</section>\n";
}

std::string hash_source(std::string_view content) {
  return fmt::format("'sha256-{}'", encode_base64(sha256(content)));
}

}  // namespace

void write_report(const std::filesystem::path& output, const Report& report) {
  const Metrics metrics = read_metrics(output / "metrics.jsonl");
  std::string state = report.state;
  if (metrics.step) state += fmt::format(" · step {}", *metrics.step);
  if (metrics.epoch) state += fmt::format(" · epoch {}", shown_number(*metrics.epoch));
  if (metrics.seconds) state += fmt::format(" · {}", duration(*metrics.seconds));

  std::string html = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n";
  html += fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src "
      "{}; "
      "base-uri 'none'; form-action 'none'\">\n",
      hash_source(report_style), hash_source(report_script));
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += fmt::format("<title>{}</title>\n<style>{}</style></head>\n<body>\n", escape_html(report.title),
                      report_style);
  html += fmt::format("<header><h1 dir=\"auto\">{}</h1><p class=\"state\">{}</p></header>\n",
                      escape_html(report.title), escape_html(state));
  html += "<section><h2>Curves</h2>\n" + draw_curves(metrics.charts) + "</section>\n";
  html += draw_samples(read_samples(output));
  html +=
      "<div class=\"tables\">\n" + table("Recipe", report.recipe) + table("Data", report.data) + "</div>\n";
  html += fmt::format("<script>{}</script>\n</body></html>\n", report_script);
  write_file_atomically(output / "run.html", html);
}

}  // namespace attend
