// attend train --objective O --model DIR --train F... --output DIR: options to objects, then
// training/trainer.h.
#include <attend/tokenizer.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/verb.h"
#include "tasks/translate.h"
#include "training/bleu.h"
#include "training/trainer.h"

namespace attend::cli {
namespace {

struct Arguments {
  std::string objective = "sequence-to-sequence", model;
  std::vector<std::string> train, validation;
  std::string schedule = "inverse-sqrt", precision = "float32";
  std::int64_t max_length = 0, length = 0;
  std::optional<double> dropout;
  double bpe_dropout = 0;
  bool bleu = false, lowercase = false;
  TrainingOptions options;
};

void add_options(CLI::App& app, Arguments& a) {
  TrainingOptions& o = a.options;
  app.add_option("--objective", a.objective, "sequence-to-sequence or causal-lm")
      ->check(CLI::IsMember({"sequence-to-sequence", "causal-lm"}));
  app.add_option("--model", a.model, "The model to start from, with its tokenizer (see attend init)")
      ->required();
  app.add_option("--train", a.train,
                 "Text files. For sequence-to-sequence two: source and target, line by line")
      ->required();
  app.add_option("--validation", a.validation, "The same, held out");
  app.add_option("--output", o.output, "Where the trained model and the checkpoints go")->required();
  app.add_option("--steps", o.steps, "Steps to take; 0: until --epochs or --max-minutes");
  app.add_option("--epochs", o.epochs, "Times through the data; 0: no limit");
  app.add_option("--max-minutes", o.minutes, "Time limit; 0: none");
  app.add_option("--batch-tokens", o.batch_tokens, "Tokens to a batch, by the longer side of a pair")
      ->check(CLI::PositiveNumber);
  app.add_option("--accumulate", o.accumulate, "Batches to a step")->check(CLI::PositiveNumber);
  app.add_option("--length", a.length, "Block length of causal-lm; 0: all positions of the model");
  app.add_option("--max-length", a.max_length,
                 "Leave out pairs with more tokens; 0: what the model can read");
  app.add_option("--rate", o.schedule.peak,
                 "Highest learning rate; 0: (width x warmup)^-1/2, as in the paper");
  app.add_option("--schedule", a.schedule, "inverse-sqrt, cosine, linear or constant");
  app.add_option("--warmup", o.schedule.warmup, "Steps of linear warm-up");
  app.add_option("--cooldown", o.schedule.cooldown, "Last steps, in which the rate falls to nothing")
      ->check(not_negative());
  app.add_option("--min-rate", o.schedule.floor, "Where cosine and linear end");
  app.add_option("--beta1", o.adam.beta1, "Of Adam");
  app.add_option("--beta2", o.adam.beta2, "Of Adam");
  app.add_option("--epsilon", o.adam.epsilon, "Of Adam");
  app.add_option("--weight-decay", o.adam.weight_decay, "Of matrices, decoupled");
  app.add_option("--clip", o.adam.clip, "Largest gradient norm; 0: no clipping");
  app.add_option("--label-smoothing", o.loss.label_smoothing, "Of the loss")->check(CLI::Range(0.0, 0.999));
  app.add_option("--r-drop", o.loss.r_drop,
                 "Read each batch twice, with different dropout, and weigh by this how much the two "
                 "predictions differ; 5 for translation; a step takes twice as long")
      ->check(not_negative());
  app.add_option("--precision", a.precision,
                 "float32, or bfloat16: matrix products round their factors to it, which is faster where the "
                 "machine has AVX512_BF16; weights, sums and validation stay float32")
      ->check(CLI::IsMember({"float32", "bfloat16"}));
  app.add_option("--dropout", a.dropout, "Instead of the model's")->check(CLI::Range(0.0, 0.999));
  app.add_option("--bpe-dropout", a.bpe_dropout,
                 "Cut the words of both sides anew in each epoch, passing over merges with this probability")
      ->check(CLI::Range(0.0, 0.999));
  app.add_option("--validate-every", o.validate_every, "Steps between validations, each with a checkpoint")
      ->check(CLI::PositiveNumber);
  app.add_flag("--bleu", a.bleu, "Validate by BLEU of greedy translations as well as by loss");
  app.add_flag("--lowercase-bleu", a.lowercase, "Without regard to case");
  app.add_option("--patience", o.patience, "Stop after so many validations that are not better; 0: never");
  app.add_option("--average", o.average,
                 "The result is the mean of so many last checkpoints; 1: the best one")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", o.seed, "Of the order of the data and of dropout");
  app.add_flag("--resume", o.resume, "Go on with the run in --output");
}

// The model with --dropout in its config.
Model load_model(const Arguments& a, const ModelDirectory& directory) {
  if (!a.dropout) return Model::load(directory, Purpose::training);
  return Model::load(directory.with({{"dropout", *a.dropout},
                                     {"resid_pdrop", *a.dropout},
                                     {"embd_pdrop", *a.dropout},
                                     {"attn_pdrop", *a.dropout},
                                     {"hidden_dropout_prob", *a.dropout}}),
                     Purpose::training);
}

std::unique_ptr<Objective> make_objective(const Arguments& a, const Model& model,
                                          const TokenizerPair& tokenizers,
                                          const std::vector<std::string>& files, double bpe_dropout) {
  Transformer network = model.network();
  if (!network->decoder || !network->language_model_head)
    fail("--objective {}: {} does not generate text", a.objective, model.architecture());
  const std::int64_t most = network->decoder->embeddings->max_positions();
  if (a.objective == "causal-lm")
    return std::make_unique<CausalLanguageModel>(*tokenizers.source, files,
                                                 a.length > 0 ? std::min(a.length, most) : most);
  if (!network->encoder)
    fail("--objective {}: expected an encoder-decoder, found {}", a.objective, model.architecture());
  if (files.size() != 2)
    fail("--objective {}: expected two files, source and target, found {}", a.objective, files.size());
  const std::vector<std::string> sources = read_lines(files[0]), targets = read_lines(files[1]);
  if (sources.size() != targets.size())
    fail("{} has {} lines and {} has {}: line n of one must belong to line n of the other", files[0],
         sources.size(), files[1], targets.size());
  if (sources.empty()) fail("{}: the file is empty", files[0]);
  return std::make_unique<SequenceToSequence>(
      tokenizers, sources, targets,
      model.config().integer({"decoder_start_token_id"}, model.config().integer({"pad_token_id"}, {}, 0), 0),
      a.max_length > 0 ? std::min(a.max_length, most) : most, bpe_dropout);
}

// Validation: loss, and BLEU where it is asked for (which then decides).
Validate make_validation(const Arguments& a, const Objective& objective, const TokenizerPair& tokenizers) {
  std::vector<std::string> sources, references;
  if (a.bleu) {
    sources = read_lines(a.validation.at(0));
    references = read_lines(a.validation.at(1));
  }
  return [&, sources, references](Model& model) {
    std::vector<Score> scores;
    if (!sources.empty()) {
      TranslateOptions greedy;
      greedy.beams = 1;
      scores.push_back(
          {"bleu",
           corpus_bleu(translate(model, tokenizers, sources, greedy), references, {.lowercase = a.lowercase})
               .score,
           true});
    }
    scores.push_back({"loss", mean_loss(model, objective, a.options.batch_tokens), false});
    return scores;
  };
}

}  // namespace

int train(int argc, char** argv) {
  Arguments a;
  Parser parser("train",
                "Trains a model, from nothing or from what it knows. Ctrl-C saves; --resume goes on.",
                "attend train --objective sequence-to-sequence --model en-de --train train.en train.de "
                "--validation val.en val.de --output en-de-trained --max-minutes 30");
  add_options(parser.app(), a);
  if (const auto status = parser.parse(argc, argv)) return *status;
  TrainingOptions& o = a.options;
  if (o.steps <= 0 && o.epochs <= 0 && o.minutes <= 0 && o.patience <= 0)
    fail("say when to stop: --steps, --epochs, --max-minutes or --patience");
  if (a.bpe_dropout > 0 && a.objective != "sequence-to-sequence")
    fail("--bpe-dropout: only with --objective sequence-to-sequence");
  if (a.bleu && (a.objective != "sequence-to-sequence" || a.validation.empty()))
    fail("--bleu: only with --objective sequence-to-sequence and --validation");

  const ModelDirectory directory(a.model);
  const TokenizerPair tokenizers = TokenizerPair::from_file(a.model);
  Model model = load_model(a, directory);
  o.bfloat16 = a.precision == "bfloat16";
  if (o.bfloat16 && !Bfloat16Products::available())
    inform("this machine has no instructions for bfloat16 (AVX512_BF16): training in float32");
  o.schedule.kind = parse_schedule(a.schedule);
  o.schedule.total = o.steps;
  if (o.schedule.kind != ScheduleKind::inverse_sqrt && o.schedule.kind != ScheduleKind::constant &&
      o.steps <= 0)
    fail("--schedule {}: needs --steps, to know where it ends", a.schedule);
  if (o.schedule.cooldown > o.steps)
    fail("--cooldown {}: needs as many --steps or more", o.schedule.cooldown);
  if (o.schedule.peak == 0)
    o.schedule.peak = 1 / std::sqrt(static_cast<double>(model.network()->decoder->spec().embeddings.width) *
                                    static_cast<double>(std::max<std::int64_t>(1, o.schedule.warmup)));
  const auto objective = make_objective(a, model, tokenizers, a.train, a.bpe_dropout);
  std::unique_ptr<Objective> held_out;
  Validate validate;
  if (!a.validation.empty()) {
    held_out = make_objective(a, model, tokenizers, a.validation, 0);
    validate = make_validation(a, *held_out, tokenizers);
  }
  o.tokenizer = a.model;
  return attend::train(model, *objective, validate, o) == TrainingEnd::finished ? 0 : 130;
}

}  // namespace attend::cli
