// Texts in and out of verbs: arguments, or lines of standard input, with a result line for each; and text
// that is shown while it is generated.
#pragma once

#include "base/error.h"
#include "base/text_lines.h"

#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace attend::cli {

// Calls visit(text, place) for each argument, or, without arguments, for each line of standard input; `place`
// names it in errors.
inline void for_each_text(const std::vector<std::string>& arguments,
                          const std::function<void(const std::string&, const std::string&)>& visit) {
  for (const std::string& text : arguments) visit(text, "argument '" + text + "'");
  if (!arguments.empty()) return;
  std::ios::sync_with_stdio(false);
  StreamLines reader(std::cin, "standard input");
  while (const std::optional<std::string> line = reader.next()) visit(*line, reader.place());
}

// For verbs that answer a bad line with an object {"error"}: sets the exit status at the end.
inline void fail_for(std::size_t bad, std::size_t all) {
  if (bad > 0) fail("{} of {} texts are bad: their lines of the output say why", bad, all);
}

inline void write_now(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

inline void print_line(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
}

}  // namespace attend::cli
