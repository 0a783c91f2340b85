// attend translate MODEL [TEXT...]
#include <attend/translator.h>

#include "base/progress.h"
#include "cli/options/bad_inputs.h"
#include "cli/options/generation_options.h"
#include "cli/options/given_texts.h"
#include "cli/options/model_option.h"
#include "cli/options/shard.h"
#include "cli/options/verb.h"
#include "formats/json/json.h"

#include <iostream>
#include <random>

namespace attend::cli {
namespace {

Json as_json(const std::string& text, const std::vector<std::string>& translations) {
  Json line{{"text", text}, {"translation", translations.front()}};
  if (translations.size() > 1) line["translations"] = translations;
  return line;
}

// Prints in order. A text without a translation gets as many empty lines as it would have translations.
void print(const GivenTexts& texts, const std::vector<std::vector<std::string>>& translations, bool json,
           BadInputs& bad) {
  std::size_t each = 1;
  for (const auto& all : translations) each = std::max(each, all.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (const std::string& error = texts.error(i); !error.empty()) {
      std::cout.flush();
      bad.report(error);
      std::cout << (json ? Json{{"text", texts[i]}, {"error", error}}.dump() + "\n"
                         : std::string(each, '\n'));
    } else if (json) {
      std::cout << as_json(texts[i], translations[i]).dump() << "\n";
    } else {
      for (const std::string& translation : translations[i]) std::cout << translation << "\n";
    }
  }
}

}  // namespace

int translate(int argc, char** argv) {
  ModelPath model;
  std::vector<std::string> arguments;
  TranslateOptions options;
  Json fields = Json::object();  // of the generation config
  std::optional<std::uint64_t> seed;
  bool json = false;
  BadInputs bad;
  Shard shard;
  Parser parser("translate",
                "Translates texts (arguments, or lines of standard input), one line each; with several "
                "translations per text, one line each, best first.",
                "attend translate en-de-trained \"A dog runs on the beach.\"");
  add_model(parser.app(), model);
  add_cache(parser.app(), model);
  add_texts(parser.app(), "text", arguments, "The texts");
  add_generation_options(parser.app(), fields);
  add_languages(parser.app(), options.source_language, options.target_language);
  parser.app().add_option("--prefix", options.prefix, "Start of every translation");
  parser.app().add_option("--seed", seed, "Random seed; the same seed gives the same text");
  parser.app().add_option("--batch-tokens", options.batch_tokens, "Tokens per batch")->check(positive());
  parser.app().add_flag("--truncate", options.truncate,
                        "Truncate texts longer than the model's maximum; by default they are errors");
  bad.add_option(parser.app());
  parser.app().add_flag(
      "--json", json,
      "Print one object per text: {\"text\", \"translation\"}, or with several {\"translations\"}");
  shard.add_options(parser.app());
  if (const auto status = parser.parse(argc, argv)) return *status;
  if (!shard.begin(!arguments.empty())) return 0;
  options.configure = with_fields(fields.dump());
  options.seed = seed ? *seed : std::random_device()();

  Translator translator(model);
  GivenTexts texts(arguments);
  Progress progress("translating", texts.size(), "texts");
  std::vector<std::vector<std::string>> translations(texts.size());
  texts.answer([&](GivenTexts::Numbers numbers) {
    options.on_progress = [&](std::size_t done, std::size_t) { progress.update(numbers.front() + done); };
    auto some = translator.translate_several(texts.some(numbers), options);
    for (std::size_t i = 0; i < numbers.size(); ++i) translations[numbers[i]] = std::move(some[i]);
  });
  print(texts, translations, json, bad);
  return shard.finish(bad.status());
}

}  // namespace attend::cli
