#include "base/error.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/text_lines.h"
#include "base/utf8.h"
#include "cli/options/verb.h"
#include "parallel/launch.h"

#include <iostream>

namespace attend::cli {

Parser::Parser(std::string name, std::string description, std::string example)
    : app_(std::move(description), "attend " + name) {
  app_.footer("Example:\n  " + example);
  app_.option_defaults()->always_capture_default();
  app_.add_option("--threads", common_.threads,
                  "Number of threads; 0: one per core, or a share of them if several processes were started "
                  "(torchrun)")
      ->check(not_negative());
  app_.add_flag("--quiet", common_.quiet, "Print no progress and no messages");
  app_.set_config("--config", "", "A TOML file with any of these options, such as a recipe");
}

std::optional<int> Parser::parse(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_.exit(error, std::cout, std::cerr) == 0 ? 0 : 2;
  }
  set_thread_count(common_.threads > 0 ? common_.threads : default_threads());
  set_quiet(common_.quiet);
  return {};
}

CLI::Option* add_texts(CLI::App& app, const std::string& name, std::vector<std::string>& texts,
                       const std::string& help) {
  // Without this permission, a positional list takes as many arguments as it expects; TakeAll also accepts
  // fewer.
  constexpr int any = CLI::detail::expected_max_vector_size;
  return app.add_option(name, texts, help)
      ->expected(any, any)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

}  // namespace attend::cli
