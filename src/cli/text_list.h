// An option that is a list of texts, such as labels: any text may be one of them.
#pragma once

#include "cli/verb.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace attend::cli {

class TextList {
 public:
  explicit TextList(std::vector<std::string> usual = {}) : given_(std::move(usual)) {}
  CLI::Option* add(CLI::App& app, const std::string& names, const std::string& help);
  // If given once: comma-separated items, or a JSON list. If given several times: each value is one item.
  std::vector<std::string> texts() const;

 private:
  std::vector<std::string> given_;
};

// The comma-separated parts, without spaces around them; the whole text if there are none.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace attend::cli
