#include "cli/options/table_options.h"

#include <fmt/ranges.h>

namespace attend::cli {

void add_table_options(CLI::App& app, const TableArguments& arguments, const std::string& about) {
  app.add_option("--format", arguments.format,
                 about + "Format of tables: tsv, csv or jsonl; default: by file extension")
      ->check(CLI::IsMember({"tsv", "csv", "jsonl", "json"}));
  app.add_option_function<std::vector<std::string>>(
         "--column,--columns",
         [&columns = arguments.columns](const std::vector<std::string>& all) {
           columns = fmt::format("{}", fmt::join(all, ","));
         },
         about +
             "Assigns columns to roles: text=tweet by header name, label=2 by number; may be repeated or "
             "comma-separated")
      ->allow_extra_args(false);
  app.add_flag_callback(
      "--header", [&header = arguments.header] { header = true; },
      about + "The first line of TSV or CSV is a header; default: detected from its content");
  app.add_flag_callback(
      "--no-header", [&header = arguments.header] { header = false; },
      about + "The first line of TSV or CSV is a row, not a header");
}

void add_score_range(CLI::App& app, std::optional<std::pair<double, double>>& range) {
  app.add_option_function<std::vector<double>>(
         "--score-range",
         [&range](const std::vector<double>& ends) {
           range = {ends.at(0), ends.at(1)};
         },
         "MIN,MAX: the pair scores that mean cosines of 0 and 1. By default, scores from -1 to 1 are "
         "cosines, and others are divided by the first of 5, 10 and 100 that none exceeds")
      ->delimiter(',')
      ->expected(2);
}

}  // namespace attend::cli
