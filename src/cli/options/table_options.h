// How tables are read, for several verbs: --format, --column, --header.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

namespace attend::cli {

// The destinations of the options; all must outlive the parser.
struct TableArguments {
  std::string& format;
  std::string& columns;  // as Recipe::columns
  std::optional<bool>& header;
};

// `about` begins each line of help ("Of --ablate: ").
void add_table_options(CLI::App& app, const TableArguments& arguments, const std::string& about = "");

// --score-range, of scored-pairs and similarity.
void add_score_range(CLI::App& app, std::optional<std::pair<double, double>>& range);

}  // namespace attend::cli
