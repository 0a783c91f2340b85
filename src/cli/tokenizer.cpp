#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/log.h"
#include "cli/options/option_flags.h"
#include "cli/options/verb.h"
#include "tokenizers/trainers/trainer_presets.h"

namespace attend::cli {

using namespace tokenizers;

int tokenizer(int argc, char** argv) {
  using Model = TrainerOptions::Model;
  using Preset = TrainerOptions::Preset;
  TrainerOptions options;
  std::string action, output;
  std::vector<std::string> files;
  std::int64_t model_max_length = 0;
  Parser parser("tokenizer",
                "Trains a tokenizer from text files and writes tokenizer.json and tokenizer_config.json.",
                "attend tokenizer train --model bpe --vocab-size 10000 --preset translation --output DIR "
                "en.txt de.txt");
  CLI::App& app = parser.app();
  app.add_option("action", action, "The action")->required()->check(CLI::IsMember({"train"}));
  app.add_option("files", files, "Text files")->required();
  app.add_option("--output", output, "The directory to write")->required();
  Option model =
      option::choice("model", options.model,
                     {{"bpe", Model::bpe},
                      {"metaspace", Model::metaspace},
                      {"unigram", Model::unigram},
                      {"wordpiece", Model::wordpiece},
                      {"character", Model::character}},
                     "bpe (byte-level), metaspace (BPE over characters, as in SentencePiece), unigram (as in "
                     "SentencePiece), wordpiece or character; default: that of the preset's family");
  model.schema.erase("default");  // it depends on the preset
  add_option(app, model);
  add_option(app,
             option::choice(
                 "preset", options.preset,
                 {{"plain", Preset::plain},
                  {"gpt2", Preset::gpt2},
                  {"translation", Preset::translation},
                  {"bert", Preset::bert},
                  {"bart", Preset::bart},
                  {"t5", Preset::t5},
                  {"xlnet", Preset::xlnet}},
                 "Special tokens and template: plain, gpt2, translation, bert (always used by wordpiece), "
                 "bart (also for RoBERTa), t5 or xlnet"));
  app.add_option("--vocab-size", options.vocabulary_size,
                 "Vocabulary size including special tokens; not for character")
      ->check(positive());
  app.add_option("--min-frequency", options.min_frequency, "Min frequency of a merged pair; not for unigram");
  app.add_option("--limit-alphabet", options.limit_alphabet,
                 "Max number of characters in the alphabet; 0: all");
  app.add_option("--special-token", options.special_tokens,
                 "A special token to add after those of the preset")
      ->allow_extra_args(false);
  app.add_option("--single-template", options.single_template,
                 "Template of a single text, such as '[CLS] $A [SEP]'");
  app.add_option("--pair-template", options.pair_template,
                 "Template of a pair, such as '[CLS] $A [SEP] $B:1 [SEP]:1'");
  app.add_flag("--lowercase", options.lowercase, "Lower-case all text");
  app.add_option("--model-max-length", model_max_length,
                 "model_max_length in tokenizer_config.json; 0: that of the preset");
  if (const auto status = parser.parse(argc, argv)) return *status;

  if (app.count("--model") == 0) options.model = fields_of(options.preset).model;
  if (options.model == Model::wordpiece && options.preset == Preset::plain) options.preset = Preset::bert;
  if (model_max_length > 0) options.model_max_length = model_max_length;
  const TrainedTokenizer trained = train_tokenizer(options, {files.begin(), files.end()});
  trained.save(output);
  inform("{}: {} tokens", output, trained.vocabulary_size);
  return 0;
}

}  // namespace attend::cli
