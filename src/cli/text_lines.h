// Texts in and out of verbs: arguments, or lines of standard input, with a result line for each; and text
// that is shown as it comes.
#pragma once

#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace attend::cli {

// Calls visit(text, place) for each argument, or for each line of standard input where there are none;
// `place` names it in errors.
inline void for_each_text(const std::vector<std::string>& arguments,
                          const std::function<void(const std::string&, const std::string&)>& visit) {
  for (const std::string& text : arguments) visit(text, "argument '" + text + "'");
  if (!arguments.empty()) return;
  std::ios::sync_with_stdio(false);
  std::size_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    visit(line, "standard input, line " + std::to_string(++number));
  }
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
