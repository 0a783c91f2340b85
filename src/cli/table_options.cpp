#include "cli/table_options.h"

#include <fmt/ranges.h>

namespace attend::cli {

void add_table_options(CLI::App& app, const TableArguments& arguments, const std::string& about) {
  app.add_option("--format", arguments.format,
                 about + "The tables are tsv, csv or jsonl; else the file's ending says so")
      ->check(CLI::IsMember({"tsv", "csv", "jsonl", "json"}));
  app.add_option_function<std::vector<std::string>>(
         "--column,--columns",
         [&columns = arguments.columns](const std::vector<std::string>& all) {
           columns = fmt::format("{}", fmt::join(all, ","));
         },
         about +
             "Which column is what: text=tweet by its name in the header, label=2 by its number; may be "
             "given "
             "several times, or with commas between")
      ->allow_extra_args(false);
  app.add_flag_callback(
      "--header", [&header = arguments.header] { header = true; },
      about + "The first line of TSV or CSV names the columns; else what is in it decides");
  app.add_flag_callback(
      "--no-header", [&header = arguments.header] { header = false; },
      about + "The first line of TSV or CSV is a row");
}

void add_score_range(CLI::App& app, std::optional<std::pair<double, double>>& range) {
  app.add_option_function<std::vector<double>>(
         "--score-range",
         [&range](const std::vector<double>& ends) {
           range = {ends.at(0), ends.at(1)};
         },
         "Of scores of pairs, MIN,MAX: those that stand for cosines of 0 and 1. Otherwise scores from -1 to "
         "1 "
         "are cosines, and others are divided by the first of 5, 10 and 100 that none is above")
      ->delimiter(',')
      ->expected(2);
}

}  // namespace attend::cli
