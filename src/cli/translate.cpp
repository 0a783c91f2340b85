// attend translate MODEL [TEXT...]
#include <attend/attend.h>

#include "base/progress.h"
#include "cli/verb.h"
#include "formats/json.h"

#include <iostream>

namespace attend::cli {

int translate(int argc, char** argv) {
  std::string model;
  std::vector<std::string> arguments;
  TranslateOptions options;
  bool json = false;
  Parser parser("translate", "Translates texts (arguments, or lines of standard input), one line each.",
                "attend translate en-de-trained \"A dog runs on the beach.\"");
  parser.app().add_option("model", model, "The model directory")->required();
  parser.app().add_option("text", arguments, "The texts");
  parser.app()
      .add_option("--beams", options.beams, "Beams of the search; 1: greedy")
      ->check(CLI::PositiveNumber);
  parser.app().add_option("--length-penalty", options.length_penalty, "Above 0 favours longer translations");
  parser.app()
      .add_option("--max-length", options.max_length, "Tokens of a translation")
      ->check(CLI::PositiveNumber);
  parser.app()
      .add_option("--batch-tokens", options.batch_tokens, "Tokens to a batch")
      ->check(CLI::PositiveNumber);
  parser.app().add_flag("--json", json, "One JSON object per text");
  if (const auto status = parser.parse(argc, argv)) return *status;

  Translator translator(model);
  const std::vector<std::string> texts = texts_or_stdin(arguments);
  Progress progress("translating", texts.size(), "texts");
  options.on_progress = [&](std::size_t done, std::size_t) { progress.update(done); };
  const std::vector<std::string> translations = translator.translate(texts, options);
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (json)
      std::cout << Json{{"text", texts[i]}, {"translation", translations[i]}}.dump() << "\n";
    else
      std::cout << translations[i] << "\n";
  return 0;
}

}  // namespace attend::cli
