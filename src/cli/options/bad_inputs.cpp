#include "cli/options/bad_inputs.h"

#include "base/progress.h"
#include "base/utf8.h"
#include "cli/options/flag_names.h"

#include <cstdio>

namespace attend::cli {

void BadInputs::add_option(CLI::App& app) {
  app.add_flag("--strict", strict_,
               "Stop at the first bad input. By default, bad inputs are reported on standard error, the "
               "others are answered, and the exit status is 1");
}

void BadInputs::report(const std::string& error) {
  any_ = true;
  if (strict_) throw Error(error, ErrorKind::input);
  std::fflush(stdout);
  hide_progress();
  std::fprintf(stderr, "attend: %s\n", with_flags(error).c_str());
}

Json error_json(const std::string& error) {
  return {{"error", repair_utf8(with_flags(error))}};
}

std::string name_input(const std::string& place, const std::string& error) {
  return error.starts_with(place) ? error : place + ": " + error;
}

}  // namespace attend::cli
