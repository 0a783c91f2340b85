// Conversations and preferences, for training and evaluation: --template, --reference, --beta, --loss-type.
#pragma once

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

namespace attend::cli {

// The destinations of the options, as in Recipe; all must outlive the parser.
struct TalkArguments {
  std::string& chat_template;
  std::filesystem::path& reference;
  double& beta;
  std::string& loss_type;
};

void add_talk_options(CLI::App& app, const TalkArguments& arguments);

}  // namespace attend::cli
