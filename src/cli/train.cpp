// attend train --objective O --model DIR --train F... --output DIR: options to a recipe (attend/training.h).
#include <attend/training.h>

#include "base/interrupt.h"
#include "cli/model_option.h"
#include "cli/table_options.h"
#include "cli/verb.h"
#include "parallel/ranks.h"

#include <cstdio>
#include <cstdlib>

namespace attend::cli {
namespace {

CLI::Validator share() {
  return CLI::Range(0.0, 0.999);
}

void add_data_options(CLI::App& app, Recipe& r) {
  std::vector<std::string> names;
  std::string list = "What the model is to learn:";
  for (const auto& [name, summary] : objectives()) {
    names.push_back(name);
    list += "\n  " + name + ": " + summary;
  }
  app.add_option("--objective", r.objective, list)->check(CLI::IsMember(names));
  app.add_option("--model", r.model.directory,
                 "The model to start from, with its tokenizer (see attend init)")
      ->required();
  app.add_option_function<std::string>(
      "--adapter", [&r](const std::string& path) { r.model.adapters = {{path}}; },
      "An adapter of the model that goes on learning");
  add_weights(app, r.model,
              "With --lora, --ia3, --prefix, --prompt or --adapter: how the matrices are kept that stay as "
              "they are; int8 takes a quarter of the memory, int4 a seventh (QLoRA)");
  app.add_option("--train", r.train, "The data")->required();
  app.add_option("--validation", r.validation, "The same, held out");
  app.add_option("--output", r.output, "Where the trained model and the checkpoints go")->required();
  app.add_option("--generator", r.generator, "replaced-tokens: the model whose guesses replace tokens");
  app.add_option("--teacher", r.teacher,
                 "Learn a trained model's answers as well as the labels (distillation); a file: what attend "
                 "evaluate --save-scores wrote");
  add_table_options(app, {r.format, r.columns, r.header});
  add_score_range(app, r.score_range);
  app.add_option(
         "--max-length", r.max_length,
         "Longest text in tokens; 0: what the model can read. Longer pairs of sequence-to-sequence are left "
         "out, other texts cut")
      ->check(not_negative());
  app.add_option("--length", r.length,
                 "Tokens of a block of running text; 0: --max-length, or what the model can read")
      ->check(not_negative());
  app.add_option("--cache", r.cache, "A folder that keeps the tokens of large texts for the next run");
  app.add_option(
      "--languages", r.languages,
      "XLM: the language of each file, or one of all, as config.json's lang2id names them; else by the "
      "file's ending (train.en)");
  app.add_option("--bpe-dropout", r.bpe_dropout,
                 "sequence-to-sequence: cut the words of both sides anew in each epoch, passing over merges "
                 "with this "
                 "probability")
      ->check(share());
}

void add_corruption_options(CLI::App& app, Recipe& r) {
  app.add_option("--mask-rate", r.mask_rate,
                 "Share of the tokens (or patches) that are hidden and predicted; by default as in the paper")
      ->check(share());
  app.add_flag("--whole-words", r.whole_words, "Hide all pieces of a word together");
  app.add_option("--ngram", r.ngram, "Hide up to so many words in a row; 3 for sentence-order, else 1")
      ->check(positive());
  app.add_option("--mean-span", r.mean_span, "Tokens of a hidden span, on average")->check(positive());
  app.add_option("--permute-sentences", r.permute_sentences,
                 "denoising: share of texts with sentences in disorder")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--rotate", r.rotate, "denoising: share of texts that begin elsewhere")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--delete-rate", r.delete_rate, "denoising: share of tokens left out without a trace")
      ->check(share());
  app.add_option("--augment-shift", r.augment_shift, "Pictures are moved by up to so many pixels either way")
      ->check(not_negative());
  app.add_flag("--augment-flip", r.augment_flip, "Half of the pictures are mirrored");
  app.add_option("--infilling", r.infilling, "denoising: a mask for each span, or for each token")
      ->check(CLI::IsMember({"spans", "tokens"}));
}

void add_loss_options(CLI::App& app, Recipe& r) {
  app.add_option("--label-smoothing", r.label_smoothing, "Of the loss")->check(share());
  app.add_option("--r-drop", r.r_drop,
                 "Read each batch twice, with different dropout, and weigh by this how much the two "
                 "predictions differ; 5 for translation; a step takes twice as long")
      ->check(not_negative());
  app.add_option("--discriminator-weight", r.discriminator_weight,
                 "replaced-tokens: of the discriminator's loss");
  app.add_option("--scale", r.scale, "pairs: of the cosines")->check(positive());
  app.add_option("--matryoshka", r.matryoshka,
                 "pairs, scored-pairs: widths at which the vectors must do alone too");
  app.add_option("--temperature", r.temperature, "Of a teacher's and the model's scores")->check(positive());
  app.add_option("--soft-weight", r.soft_weight, "Of the teacher's scores in the loss")
      ->check(not_negative());
  app.add_option("--hard-weight", r.hard_weight, "Of the labels in the loss with a teacher")
      ->check(not_negative());
  app.add_option("--hidden-weight", r.hidden_weight, "Of the teacher's hidden states in the loss")
      ->check(not_negative());
  app.add_option(
      "--keep-layers", r.keep_layers,
      "Start with these layers of the model alone (0 2 4): a student of --teacher, which is the whole one");
}

void add_adapter_options(CLI::App& app, Recipe& r) {
  app.add_option(
         "--lora", r.lora,
         "Train factors of this rank beside the model's matrices, which stay as they are (LoRA); the result "
         "is an adapter as peft stores it")
      ->check(positive());
  app.add_option("--lora-alpha", r.lora_alpha,
                 "What the factors add is times alpha / rank; by default 2 x rank")
      ->check(positive());
  app.add_option("--lora-dropout", r.lora_dropout, "Of what the factors read")->check(share());
  app.add_option(
         "--lora-kind", r.lora_kind,
         "rslora: the scale is alpha / sqrt(rank); dora: lengths of rows learn apart from their directions")
      ->check(CLI::IsMember({"lora", "rslora", "dora"}));
  app.add_option("--lora-targets", r.lora_targets,
                 "Modules by the ends of their names (query,value), all-linear, or a regular expression")
      ->delimiter(',');
  app.add_option("--lora-bias", r.lora_bias, "Biases of the model that learn too: none, all, lora_only")
      ->check(CLI::IsMember({"none", "all", "lora_only"}));
  app.add_option("--lora-init", r.lora_init,
                 "pissa: the factors begin as the largest part of the matrix; gaussian as in peft")
      ->check(CLI::IsMember({"default", "gaussian", "pissa"}));
  app.add_flag("--ia3", r.ia3, "Train factors of keys, values and inner activations alone (IA3)");
  app.add_option("--prefix", r.prefix,
                 "Train so many keys and values before each text alone, in every layer (prefix tuning)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--prompt", r.prompt,
                 "Train so many vectors before those of each text's tokens alone (prompt tuning)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--modules-to-save", r.modules_to_save, "Modules that learn whole beside the adapter")
      ->delimiter(',');
}

void add_step_options(CLI::App& app, Recipe& r) {
  app.add_option("--steps", r.steps, "Steps to take; 0: until --epochs or --max-minutes")
      ->check(not_negative());
  app.add_option(
         "--epochs", r.epochs,
         "Times through the data; 0: no limit; fine-tuning: 3 unless --steps is given, with --patience "
         "20 (or 5 x patience) at most")
      ->check(not_negative());
  app.add_option("--max-minutes", r.minutes, "Time limit; 0: none")->check(not_negative());
  app.add_option(
         "--batch-tokens", r.batch_tokens,
         "Tokens to a batch at most, by the longer side of a pair; 4096, or any number with --batch-size")
      ->check(positive());
  app.add_option("--batch-size", r.batch_size,
                 "Examples to a batch; 0: as many as --batch-tokens allows. 32 for fine-tuning")
      ->check(not_negative());
  app.add_option("--accumulate", r.accumulate, "Batches to a step")->check(positive());
  app.add_option("--clip", r.clip, "Largest gradient norm; 0: no clipping")->check(not_negative());
  app.add_option("--layer-decay", r.layer_decay, "A layer's rate in relation to that of the layer above it");
  app.add_option("--head-rate", r.head_rate, "Factor of the head's rate");
  app.add_option("--freeze", r.freeze,
                 "What stays as it is: embeddings, layers.0-5, all-but-head, or an expression");
  app.add_flag(
      "--fresh-head", r.fresh_head,
      "Make a new head. By default the model's own goes on learning, with its labels and their ids, if "
      "it has one for the objective and knows all labels of the data");
  app.add_option("--ema", r.ema,
                 "Decay of a running average of the weights, which validates and stays; 0: none")
      ->check(CLI::Range(0.0, 0.99999999));
  app.add_option("--precision", r.precision,
                 "float32, or bfloat16: matrix products round their factors to it, which is faster where the "
                 "machine has AVX512_BF16; weights, sums and validation stay float32")
      ->check(CLI::IsMember({"float32", "bfloat16"}));
  app.add_flag("--recompute", r.recompute,
               "Layers are computed again in the backward pass: less memory, more time");
  app.add_option("--dropout", r.dropout, "Everywhere, instead of the model's")->check(share());
  app.add_option("--attention-dropout", r.attention_dropout, "Of attention weights")->check(share());
  app.add_option("--activation-dropout", r.activation_dropout, "Inside feed-forward layers")->check(share());
  app.add_option("--seed", r.seed,
                 "Of the order of the data, of what is hidden, of dropout and of fresh heads");
}

void add_process_options(CLI::App& app, Recipe& r) {
  app.add_option(
         "--timeout", r.timeout,
         "With several processes (torchrun): seconds that one waits for the others before it ends and names "
         "those that are lost")
      ->check(CLI::Range(1.0, 86400.0));
  app.add_flag(
      "--shard-optimizer", r.shard_optimizer,
      "With several processes: each keeps the optimizer's state of a share of the weights, which takes less "
      "memory (ZeRO-1)");
}

void add_local_step_options(CLI::App& app, Recipe& r) {
  CLI::Option* const local =
      app.add_option(
             "--local-steps", r.local_steps,
             "With several processes on a slow network: each goes so many steps by itself before all meet "
             "(DiLoCo; 50 to 500); 0: they add up their gradients in every step")
          ->check(not_negative());
  app.add_option("--outer-rate", r.outer_rate, "--local-steps: the rate of the step from meeting to meeting")
      ->needs(local);
  app.add_option("--outer-momentum", r.outer_momentum, "--local-steps: its momentum")
      ->check(share())
      ->needs(local);
}

void add_optimizer_options(CLI::App& app, Recipe& r) {
  app.add_option("--optimizer", r.optimizer, "adamw, adafactor, sgd, lion, or muon for hidden matrices");
  app.add_option("--weight-decay", r.weight_decay, "Of matrices, decoupled from the gradient but for sgd");
  app.add_option(
      "--beta1", r.beta1,
      "adamw, lion, muon: decay of the mean of gradients, 0.9; adafactor: of a mean of steps, none");
  app.add_option("--beta2", r.beta2,
                 "adamw, muon: decay of the mean of squared gradients; lion: of the mean");
  app.add_option("--epsilon", r.epsilon,
                 "adamw, muon: added to the root of that; adafactor: to squared gradients, 1e-30");
  app.add_option("--momentum", r.momentum, "sgd: 0.9; muon: 0.95")->check(share());
  app.add_flag_function(
      "--nesterov,!--no-nesterov", [&r](std::int64_t times) { r.nesterov = times > 0; },
      "Look ahead by the momentum; sgd does not unless asked, muon does");
  app.add_option("--clip-threshold", r.clip_threshold,
                 "adafactor: largest root mean square of a step, before the rate; 1")
      ->check(CLI::PositiveNumber);
  app.add_option("--decay-rate", r.decay_rate,
                 "adafactor: the second moments of step t are mixed with 1 - t^this; -0.8");
  app.add_flag("--relative-step", r.relative_step,
               "adafactor: steps of min(0.01, 1/sqrt(step)) in place of --rate, --schedule and --warmup");
  app.add_flag("--warmup-init", r.warmup_init, "adafactor: relative steps begin with 1e-6 x step");
  app.add_option("--ns-steps", r.ns_steps, "muon: iterations of Newton-Schulz, 5")->check(CLI::Range(1, 99));
  app.add_option("--adjust-lr-fn", r.adjust_lr_fn,
                 "muon: match_rms_adamw, for the rates that adamw has (the default), or original, for rates "
                 "some 50 times as high")
      ->check(CLI::IsMember({"match_rms_adamw", "original"}));
}

void add_schedule_options(CLI::App& app, Recipe& r) {
  app.add_option(
      "--rate", r.rate,
      "Highest learning rate; by default 5e-5 for fine-tuning, 5e-4 with --lora, else (width x warmup)^-1/2");
  app.add_flag("--rate-by-size", r.rate_by_size,
               "The rate of each weight is times the root mean square of its numbers, as T5 wants it "
               "(adafactor's scale_parameter); --rate is then 0.01 to 0.05");
  app.add_option("--schedule", r.schedule,
                 "inverse-sqrt, cosine, cosine-with-restarts, linear, polynomial, constant, trapezoid (also "
                 "called warmup-stable-decay) or reduce-on-plateau");
  app.add_option("--warmup", r.warmup, "Steps of linear warm-up; below 1: a share of all steps")
      ->check(not_negative());
  app.add_option("--min-rate,--lr-end", r.min_rate, "Where the rate ends, but with constant and inverse-sqrt")
      ->check(not_negative());
  app.add_option("--cooldown", r.cooldown,
                 "Last steps, in which the rate falls to nothing; trapezoid: to --min-rate, by default the "
                 "last fifth of all steps")
      ->check(not_negative());
  app.add_option("--power", r.power, "polynomial: power of the share of steps that are left; 1 is linear")
      ->check(CLI::PositiveNumber);
  app.add_option("--num-cycles", r.num_cycles,
                 "cosine: waves, 0.5 for once down; cosine-with-restarts: times down from --rate, 1")
      ->check(CLI::PositiveNumber);
  app.add_option(
      "--plateau-factor", r.plateau_factor,
      "reduce-on-plateau: what the rate is multiplied by when validation is no longer better; 0.1");
  app.add_option("--plateau-patience", r.plateau_patience,
                 "reduce-on-plateau: validations that may be no better; 10")
      ->check(not_negative());
  app.add_option("--plateau-threshold", r.plateau_threshold,
                 "reduce-on-plateau: share by which better must be better; 1e-4")
      ->check(share());
}

void add_validation_options(CLI::App& app, Recipe& r) {
  app.add_option("--validate-every", r.validate_every,
                 "Steps between validations, each with a checkpoint; 0: behind each epoch")
      ->check(not_negative());
  app.add_option("--save-every", r.save_every, "Steps between checkpoints beside those")
      ->check(not_negative());
  app.add_option("--best", r.best,
                 "The score that chooses the best checkpoint (loss, accuracy, f1, bleu, rougeL ...)");
  app.add_flag("--bleu", r.bleu,
               "Validate by BLEU, chrF and ROUGE of greedy translations as well as by loss; --best chosen "
               "from them does too");
  app.add_flag("--lowercase-bleu", r.lowercase, "Without regard to case");
  app.add_option("--patience", r.patience,
                 "Stop after this many validations in a row that are not better; 0: never")
      ->check(not_negative());
  app.add_option("--keep", r.keep, "Newest checkpoints that stay, beside the best")->check(positive());
  app.add_option("--average", r.average,
                 "The result is the mean of so many last checkpoints; 1: the best one")
      ->check(positive());
  app.add_option(
      "--save-batches", r.save_batches,
      "A folder for what each step reads, as safetensors with the names of transformers' arguments");
  app.add_flag("--resume", r.resume,
               "Go on with the run in --output; begin it, with a warning, if there is none");
}

}  // namespace

int train(int argc, char** argv) {
  Recipe recipe;
  recipe.objective = "sequence-to-sequence";
  Parser parser(
      "train", "Trains a model, from nothing or from what it knows. Ctrl-C saves; --resume goes on.",
      "attend train --objective classification --model MiniLM --train train.tsv --validation dev.tsv "
      "--output MiniLM-reviews\n"
      "  attend train --objective sequence-to-sequence --model en-de --train train.en train.de "
      "--validation val.en val.de --output en-de-trained --max-minutes 30");
  add_data_options(parser.app(), recipe);
  add_corruption_options(parser.app(), recipe);
  add_loss_options(parser.app(), recipe);
  add_adapter_options(parser.app(), recipe);
  add_step_options(parser.app(), recipe);
  add_process_options(parser.app(), recipe);
  add_local_step_options(parser.app(), recipe);
  add_optimizer_options(parser.app(), recipe);
  add_schedule_options(parser.app(), recipe);
  add_validation_options(parser.app(), recipe);
  if (const auto status = parser.parse(argc, argv)) return *status;
  catch_interrupts();
  try {
    return attend::train(recipe, [] { return interrupted(); }) == TrainingEnd::finished ? 0 : 130;
  } catch (const LostRank& lost) {
    // What waits for it on other threads would wait on.
    std::fprintf(stderr, "attend: %s\n", lost.what());
    std::_Exit(1);
  }
}

}  // namespace attend::cli
