#include "explain/still.h"

#include "base/file.h"
#include "base/utf8.h"

#include <cmath>

#include <fmt/ranges.h>

namespace attend {
namespace {

// The page's colours (page/source/colors.ts) for heads and for signs; colour-blind readers can tell them
// apart.
constexpr const char* kColors[] = {"#265dbf", "#52393b", "#28a95f", "#c22aff", "#216109", "#9c0d94",
                                   "#cf7c03", "#7a73cd", "#bc0802", "#143e66", "#068697", "#b9610e",
                                   "#1922d2", "#eb1c96", "#975a56", "#8f90c3"};
constexpr const char *kPositive = "#0072b2", *kNegative = "#d55e00";

const char* color_of(std::int64_t head) {
  return kColors[static_cast<std::size_t>(head) % std::size(kColors)];
}

// Text that is safe in SVG: no markup, no control characters, no marks that change the direction of the
// following text.
std::string escape(const std::string& text) {
  std::string safe;
  for (const char32_t c : decode_utf8(repair_utf8(text))) {
    const bool unseen = c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
                        (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
                        (c & 0xfffe) == 0xfffe;
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else if (c == '"')
      safe += "&quot;";
    else if (unseen)
      safe += fmt::format("‹U+{:04X}›", static_cast<std::uint32_t>(c));
    else
      append_utf8(safe, c);
  }
  return safe;
}

std::string shown(const ExplainedToken& token) {
  std::string text = token.text;
  text.erase(0, text.find_first_not_of(' '));
  if (text.empty()) text = "␣";
  if (token.parts > 1) text += fmt::format(" {}/{}", token.part, token.parts);
  return escape(text);
}

std::string label(const ExplainedSide& side, std::int64_t place, const ExplainedAttention& attention,
                  bool key) {
  if (key && attention.memory > 0 && place-- == 0) return "memory";
  return shown(side.tokens[static_cast<std::size_t>(place)]);
}

std::string word(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     text);
}

std::string line(double x1, double y1, double x2, double y2, std::int64_t head, double weight) {
  // If there are more heads than colours, the next ones use the same colours with broken lines.
  const std::int64_t turn = head / std::ssize(kColors);
  const std::string broken =
      turn > 0 ? fmt::format(" stroke-dasharray=\"{}\"", std::max<std::int64_t>(2, 12 / turn)) : "";
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-opacity=\"{:.3f}\"{}/>\n",
      x1, y1, x2, y2, color_of(head), weight, broken);
}

std::string picture(double width, double height, const std::string& title, const std::string& body) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"13\" stroke-width=\"1.5\" "
      "role=\"img\">\n<title>{2}</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{3}</svg>\n",
      width, height, title, body);
}

// Thinner lines are invisible.
constexpr float kMin = 0.01F;

class Drawing {
 public:
  Drawing(const Explanation& all, const StillOptions& options)
      : all_(all), options_(options), attention_(find_attention()), layer_(find_layer()) {
    heads_ = options.heads;
    const std::int64_t count = layer_.weights.size(0);
    for (const std::int64_t head : heads_)
      if (head >= count) fail("head {}: expected one from 0 to {}", head, count - 1);
    if (heads_.empty())
      for (std::int64_t head = 0; head < count; ++head) heads_.push_back(head);
    if (options.token && *options.token >= layer_.weights.size(1))
      fail("token {}: expected one from 0 to {}", *options.token, layer_.weights.size(1) - 1);
  }

  std::string heads() const {
    const std::int64_t queries = layer_.weights.size(1), keys = layer_.weights.size(2);
    constexpr double row = 22, left = 150, right = 430, wide = 580;
    const auto y = [](std::int64_t place) { return 28 + row * (static_cast<double>(place) + 0.5); };
    std::string body = word(wide / 2, 18, "middle", title(), " fill=\"#5b6470\"");
    for (const std::int64_t head : heads_) {
      const auto weights = layer_.weights.accessor<float, 3>()[head];
      for (std::int64_t i = 0; i < queries; ++i)
        for (std::int64_t j = 0; j < keys; ++j)
          if (weights[i][j] >= kMin && (!options_.token || *options_.token == i))
            body += line(left + 6, y(i), right - 6, y(j), head,
                         weights[i][j] / std::sqrt(static_cast<double>(heads_.size())));
    }
    for (std::int64_t i = 0; i < queries; ++i)
      body += word(left, y(i) + 4, "end", label(query_side(), i, attention_, false));
    for (std::int64_t j = 0; j < keys; ++j)
      body += word(right, y(j) + 4, "start", label(key_side(), j, attention_, true));
    return picture(wide, 40 + row * static_cast<double>(std::max(queries, keys)), title(), body);
  }

  std::string model() const {
    constexpr double cell = 56, left = 64, top = 24;
    std::string body;
    const std::int64_t heads = layer_.weights.size(0);
    for (std::int64_t head = 0; head < heads; ++head)
      body +=
          word(left + cell * (static_cast<double>(head) + 0.5), 16, "middle", fmt::format("{}", head + 1));
    for (std::size_t i = 0; i < attention_.layers.size(); ++i) {
      const ExplainedAttention::Layer& layer = attention_.layers[i];
      const double y = top + cell * static_cast<double>(i);
      body += word(0, y + cell / 2 + 4, "start", fmt::format("layer {}", layer.number + 1));
      for (std::int64_t head = 0; head < heads; ++head)
        body += thumbnail(layer.weights[head], left + cell * static_cast<double>(head) + 2, y + 2, cell - 4,
                          head);
    }
    return picture(left + cell * static_cast<double>(heads),
                   top + cell * static_cast<double>(attention_.layers.size()), all_.model, body);
  }

  std::string neuron() const {
    const ScoreTerms& formed = layer_.scores;
    const std::int64_t head = heads_.front(), query = options_.token.value_or(0),
                       keys = layer_.weights.size(2);
    constexpr double row = 22, left = 120, strip = 150;
    const Tensor q = formed.query[head][query];  // [D]
    std::vector<std::pair<std::string, Tensor>> numbers = {{"q · k", ops::mv(formed.key[head], q)}};
    if (formed.scale != 1)
      numbers.emplace_back(fmt::format("× {:.3g}", formed.scale), numbers.front().second * formed.scale);
    for (const auto& term : formed.added)
      numbers.emplace_back(fmt::format("+ {}", term.name), term.scores[head][query]);
    const double columns = left + 2 * (strip + 10), number = 136;
    const double bars = columns + number * static_cast<double>(numbers.size());
    std::string body =
        word(left - 8, 34, "end",
             "<tspan font-weight=\"bold\">" + label(query_side(), query, attention_, false) + "</tspan>");
    body += word(left, 18, "start", "query") + word(left, 60, "start", "key") +
            word(left + strip + 10, 60, "start", "query × key");
    for (std::size_t c = 0; c < numbers.size(); ++c)
      body += word(columns + number * static_cast<double>(c + 1) - 8, 60, "end", escape(numbers[c].first));
    body += word(bars + 12, 60, "start", "softmax") + boxes(q, left, 24, strip);
    for (std::int64_t key = 0; key < keys; ++key) {
      const double y = 68 + row * static_cast<double>(key);
      const Tensor k = formed.key[head][key];
      const float weight = layer_.weights[head][query][key].item<float>();
      body += word(left - 8, y + 13, "end", label(key_side(), key, attention_, true));
      body += boxes(k, left, y, strip) + boxes(q * k, left + strip + 10, y, strip);
      for (std::size_t c = 0; c < numbers.size(); ++c)
        body += word(columns + number * static_cast<double>(c + 1) - 8, y + 13, "end",
                     fmt::format("{:.3f}", numbers[c].second[key].item<float>()));
      body += word(bars + 58, y + 13, "end", fmt::format("{:.1f} %", 100 * weight));
      body += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"14\" fill=\"{}\"/>\n",
                          bars + 64, y + 1, 100 * weight, kPositive);
    }
    return picture(bars + 180, 76 + row * static_cast<double>(keys), title(), body);
  }

 private:
  const ExplainedAttention& find_attention() const {
    std::vector<std::string> names;
    for (const ExplainedAttention& attention : all_.attentions) {
      if (options_.attention.empty() || attention.name == options_.attention) return attention;
      names.push_back(attention.name);
    }
    fail("`attention` {}: expected one of {}", options_.attention, fmt::join(names, ", "));
  }
  const ExplainedAttention::Layer& find_layer() const {
    for (const auto& layer : attention_.layers)
      if (layer.number == options_.layer) return layer;
    fail("layer {}: expected one of those kept, from 0 to {}", options_.layer, attention_.all_layers - 1);
  }
  const ExplainedSide& query_side() const { return all_.sides[attention_.queries]; }
  const ExplainedSide& key_side() const { return all_.sides[attention_.keys]; }
  std::string title() const {
    std::vector<std::int64_t> numbers;
    for (const std::int64_t head : heads_) numbers.push_back(head + 1);
    const bool all = static_cast<std::int64_t>(heads_.size()) == layer_.weights.size(0);
    return escape(fmt::format(
        "{}, layer {}, {}", all_.model, layer_.number + 1,
        all && heads_.size() > 1 ? "all heads" : fmt::format("head {}", fmt::join(numbers, ", "))));
  }

  static std::string thumbnail(const Tensor& weights, double x, double y, double size, std::int64_t head) {
    std::string body = fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
        "fill-opacity=\"0.07\"/>\n",
        x, y, size, size, color_of(head));
    const auto w = weights.accessor<float, 2>();
    const auto step = size / static_cast<double>(std::max(w.size(0), w.size(1)));
    for (std::int64_t i = 0; i < w.size(0); ++i)
      for (std::int64_t j = 0; j < w.size(1); ++j)
        if (w[i][j] >= 5 * kMin)
          body += line(x + 2, y + step * (static_cast<double>(i) + 0.5), x + size - 2,
                       y + step * (static_cast<double>(j) + 0.5), head, w[i][j]);
    return body;
  }

  // Draws numbers [D] as a row of boxes.
  static std::string boxes(const Tensor& numbers, double x, double y, double width) {
    std::string body;
    const Tensor row = numbers.contiguous();
    const auto value = row.accessor<float, 1>();
    const double typical = row.square().mean().sqrt().item<double>() + 1e-12,
                 step = width / static_cast<double>(row.size(0));
    for (std::int64_t d = 0; d < row.size(0); ++d)
      body += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"16\" fill=\"{}\" "
          "fill-opacity=\"{:.2f}\"/>\n",
          x + step * static_cast<double>(d), y, step, value[d] < 0 ? kNegative : kPositive,
          std::tanh(0.8 * std::abs(value[d]) / typical));
    return body;
  }

  const Explanation& all_;
  const StillOptions& options_;
  const ExplainedAttention& attention_;
  const ExplainedAttention::Layer& layer_;
  std::vector<std::int64_t> heads_;
};

}  // namespace

std::string draw_still(const Explanation& explanation, const StillOptions& options) {
  const Drawing drawing(explanation, options);
  switch (options.view) {
    case StillView::heads:
      return drawing.heads();
    case StillView::model:
      return drawing.model();
    case StillView::neuron:
      return drawing.neuron();
  }
  fail("unknown view");
}

void write_still(const Explanation& explanation, const StillOptions& options,
                 const std::filesystem::path& path) {
  write_file_atomically(path, draw_still(explanation, options));
}

}  // namespace attend
