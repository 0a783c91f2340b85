#include "data/json_lines.h"

#include "data/lines.h"

namespace attend {

void read_json_lines(const std::string& file, BadRows& bad,
                     const std::function<void(Json value, const std::string& place)>& take) {
  const TextFile whole(file);
  if (trimmed(whole.text().substr(0, 256)).starts_with('[')) {
    Json items = parse_json(whole.text(), file);
    for (std::size_t i = 0; i < items.size(); ++i)
      bad.read([&] { take(std::move(items[i]), fmt::format("{}, item {}", file, i + 1)); });
    return;
  }
  LineReader lines(whole.text(), file);
  while (const auto line = lines.next()) {
    if (trimmed(*line).empty()) continue;
    bad.read([&] {
      check_utf8(*line, lines.place());
      take(parse_json(*line, lines.place()), lines.place());
    });
  }
}

}  // namespace attend
