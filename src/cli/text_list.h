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
  // Given once: what stands between commas, or a list in JSON. Given several times: each as it is.
  std::vector<std::string> texts() const;

 private:
  std::vector<std::string> given_;
};

// What stands between commas, without spaces around it; all of it if that is nothing.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace attend::cli
