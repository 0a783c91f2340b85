// attend translate MODEL [TEXT...]
#include <attend/attend.h>

#include "base/progress.h"
#include "cli/generation_options.h"
#include "cli/model_option.h"
#include "cli/verb.h"
#include "formats/json.h"

#include <iostream>
#include <random>

namespace attend::cli {
namespace {

Json as_json(const std::string& text, const std::vector<std::string>& translations) {
  Json line{{"text", text}, {"translation", translations.front()}};
  if (translations.size() > 1) line["translations"] = translations;
  return line;
}

}  // namespace

int translate(int argc, char** argv) {
  ModelPath model;
  std::vector<std::string> arguments;
  TranslateOptions options;
  Json fields = Json::object();  // of the generation config
  std::optional<std::uint64_t> seed;
  bool json = false;
  Parser parser("translate",
                "Translates texts (arguments, or lines of standard input), one line each; several lines, the "
                "best first, where several translations are asked for.",
                "attend translate en-de-trained \"A dog runs on the beach.\"");
  add_model(parser.app(), model);
  add_cache(parser.app(), model);
  add_texts(parser.app(), "text", arguments, "The texts");
  add_generation_options(parser.app(), fields);
  add_languages(parser.app(), options.source_language, options.target_language);
  parser.app().add_option("--prefix", options.prefix, "What every translation begins with");
  parser.app().add_option("--seed", seed, "Of what is drawn: the same seed, the same text");
  parser.app()
      .add_option("--batch-tokens", options.batch_tokens, "Tokens to a batch")
      ->check(CLI::PositiveNumber);
  parser.app().add_flag("--json", json,
                        "One object per text: {\"text\", \"translation\"}, and where there are several "
                        "{\"translations\"}");
  if (const auto status = parser.parse(argc, argv)) return *status;
  options.settings = fields.dump();
  options.seed = seed ? *seed : std::random_device()();

  Translator translator(model);
  const std::vector<std::string> texts = texts_or_stdin(arguments);
  Progress progress("translating", texts.size(), "texts");
  options.on_progress = [&](std::size_t done, std::size_t) { progress.update(done); };
  const std::vector<std::vector<std::string>> translations = translator.translate_several(texts, options);
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (json)
      std::cout << as_json(texts[i], translations[i]).dump() << "\n";
    else
      for (const std::string& translation : translations[i]) std::cout << translation << "\n";
  return 0;
}

}  // namespace attend::cli
