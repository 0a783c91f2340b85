// attend train --objective O --model DIR --train F... --output DIR: options to a recipe (attend/training.h).
#include <attend/training.h>

#include "base/interrupt.h"
#include "cli/options/model_option.h"
#include "cli/options/table_options.h"
#include "cli/options/talk_options.h"
#include "cli/options/verb.h"
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
  std::string list = "What the model learns:";
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
      "An adapter of the model to continue training");
  add_weights(app, r.model,
              "With --lora, --ia3, --prefix, --prompt or --adapter: format of the frozen matrices; int8 "
              "takes a quarter of the memory, int4 a seventh (QLoRA)");
  app.add_option("--train", r.train, "The data")->required();
  app.add_option("--validation", r.validation, "Validation data, in the same format");
  app.add_option("--output", r.output, "Directory for the trained model and the checkpoints")->required();
  app.add_option("--generator", r.generator, "replaced-tokens: the generator model");
  app.add_option("--teacher", r.teacher,
                 "Distillation: a trained model to learn from, in addition to the labels, or a file from "
                 "attend evaluate --save-scores");
  add_talk_options(app, {r.chat_template, r.reference, r.beta, r.loss_type});
  add_table_options(app, {r.format, r.columns, r.header});
  add_score_range(app, r.score_range);
  app.add_option("--max-length", r.max_length,
                 "Max tokens of a text; 0: the model's maximum. Longer pairs of sequence-to-sequence are "
                 "skipped, other texts truncated")
      ->check(not_negative());
  app.add_option("--length", r.length,
                 "Tokens per block of running text; 0: --max-length, or the model's maximum")
      ->check(not_negative());
  app.add_option("--cache", r.cache, "Folder for the tokens of large texts, for later runs");
  app.add_option("--languages", r.languages,
                 "XLM: the language of each file, or one for all, by the names of config.json's lang2id; "
                 "default: by file extension (train.en)");
  app.add_option("--bpe-dropout", r.bpe_dropout,
                 "sequence-to-sequence: BPE-dropout on both sides: the probability to skip a merge, new in "
                 "each epoch")
      ->check(share());
}

void add_corruption_options(CLI::App& app, Recipe& r) {
  app.add_option(
         "--mask-rate", r.mask_rate,
         "Fraction of the tokens (or patches) to mask and predict; default: as in the objective's paper")
      ->check(share());
  app.add_flag("--whole-words", r.whole_words, "Mask all pieces of a word together");
  app.add_option("--ngram", r.ngram, "Mask up to this many words in a row; 0: 3 for sentence-order, else 1")
      ->check(positive());
  app.add_option("--mean-span", r.mean_span, "Mean length of a masked span in tokens")->check(positive());
  app.add_option("--permute-sentences", r.permute_sentences,
                 "denoising: fraction of texts with shuffled sentences")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--rotate", r.rotate, "denoising: fraction of texts that start elsewhere")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--delete-rate", r.delete_rate, "denoising: fraction of tokens that are deleted")
      ->check(share());
  app.add_option("--augment-shift", r.augment_shift,
                 "Shift pictures by up to this many pixels in each direction")
      ->check(not_negative());
  app.add_flag("--augment-flip", r.augment_flip, "Mirror half of the pictures");
  app.add_option("--infilling", r.infilling, "denoising: a mask for each span, or for each token")
      ->check(CLI::IsMember({"spans", "tokens"}));
}

void add_loss_options(CLI::App& app, Recipe& r) {
  app.add_option("--label-smoothing", r.label_smoothing,
                 "Label smoothing of the loss; preferences: the share of pairs that are taken to be swapped")
      ->check(share());
  app.add_option("--r-drop", r.r_drop,
                 "R-Drop: compute each batch twice, with different dropout, and weight the difference of the "
                 "predictions by this; 5 for translation; a step takes twice as long")
      ->check(not_negative());
  app.add_option("--discriminator-weight", r.discriminator_weight,
                 "replaced-tokens: weight of the discriminator's loss");
  app.add_option("--scale", r.scale, "pairs: a factor on the cosines")->check(positive());
  app.add_option("--matryoshka", r.matryoshka,
                 "pairs, scored-pairs: vector sizes that must also work alone (Matryoshka)");
  app.add_option("--temperature", r.temperature,
                 "Distillation: temperature of the teacher's and the model's scores")
      ->check(positive());
  app.add_option("--soft-weight", r.soft_weight, "Distillation: weight of the teacher's scores in the loss")
      ->check(not_negative());
  app.add_option("--hard-weight", r.hard_weight, "Distillation: weight of the labels in the loss")
      ->check(not_negative());
  app.add_option("--hidden-weight", r.hidden_weight,
                 "Distillation: weight of the teacher's hidden states in the loss")
      ->check(not_negative());
  app.add_option(
      "--keep-layers", r.keep_layers,
      "Start with only these layers of the model (0 2 4); for a student of --teacher with all layers");
}

void add_adapter_options(CLI::App& app, Recipe& r) {
  app.add_option("--lora", r.lora,
                 "Train low-rank factors of this rank and freeze the model (LoRA); the result is an adapter "
                 "in peft's format")
      ->check(positive());
  app.add_option("--lora-alpha", r.lora_alpha,
                 "LoRA scale: what the factors add is multiplied by alpha / rank; default: 2 x rank")
      ->check(positive());
  app.add_option("--lora-dropout", r.lora_dropout, "Dropout on the inputs of the LoRA factors")
      ->check(share());
  app.add_option("--lora-kind", r.lora_kind,
                 "rslora: scale by alpha / sqrt(rank); dora: also train the magnitude of each row")
      ->check(CLI::IsMember({"lora", "rslora", "dora"}));
  app.add_option("--lora-targets", r.lora_targets,
                 "Modules to adapt: suffixes of names (query,value), all-linear, or a regular expression")
      ->delimiter(',');
  app.add_option("--lora-bias", r.lora_bias, "Biases to train as well: none, all, lora_only")
      ->check(CLI::IsMember({"none", "all", "lora_only"}));
  app.add_option("--lora-init", r.lora_init,
                 "Initialization of the factors: pissa: from the largest singular values of the matrix; "
                 "gaussian: as in peft")
      ->check(CLI::IsMember({"default", "gaussian", "pissa"}));
  app.add_flag("--ia3", r.ia3, "Train only factors of keys, values and inner activations (IA3)");
  app.add_option("--prefix", r.prefix,
                 "Train only this many virtual keys and values in every layer (prefix tuning)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--prompt", r.prompt, "Train only this many virtual tokens (prompt tuning)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--modules-to-save", r.modules_to_save, "Modules to train whole, in addition to the adapter")
      ->delimiter(',');
}

void add_step_options(CLI::App& app, Recipe& r) {
  app.add_option("--steps", r.steps, "Number of steps; 0: until --epochs or --max-minutes")
      ->check(not_negative());
  app.add_option("--epochs", r.epochs,
                 "Number of epochs; 0: no limit; fine-tuning: 3 unless --steps is given, with --patience at "
                 "most 20 (or 5 x patience)")
      ->check(not_negative());
  app.add_option("--max-minutes", r.minutes, "Time limit in minutes; 0: none")->check(not_negative());
  app.add_option(
         "--batch-tokens", r.batch_tokens,
         "Max tokens per batch, by the longer side of a pair; default 4096, or no limit with --batch-size")
      ->check(positive());
  app.add_option("--batch-size", r.batch_size,
                 "Examples per batch; 0: as many as --batch-tokens allows. Default for fine-tuning: 32")
      ->check(not_negative());
  app.add_option("--accumulate", r.accumulate, "Batches per step (gradient accumulation)")->check(positive());
  app.add_option("--clip", r.clip, "Max gradient norm (gradient clipping); 0: no clipping")
      ->check(not_negative());
  app.add_option("--layer-decay", r.layer_decay,
                 "Layer-wise decay: a layer's learning rate is this times that of the layer above");
  app.add_option("--head-rate", r.head_rate, "A factor on the learning rate of a new head");
  app.add_option("--freeze", r.freeze,
                 "Parameters to freeze: embeddings, layers.0-5, all-but-head, or an expression");
  app.add_flag("--fresh-head", r.fresh_head,
               "Always make a new head. By default the model's own head continues training, with its labels "
               "and ids, if it fits the objective and knows all labels of the data");
  app.add_option("--ema", r.ema,
                 "Decay of a running average of the weights, which is validated and saved; 0: none")
      ->check(CLI::Range(0.0, 0.99999999));
  app.add_option("--precision", r.precision,
                 "float32, or bfloat16: round the factors of matrix products, which is faster with "
                 "AVX512_BF16; weights, sums and validation stay float32")
      ->check(CLI::IsMember({"float32", "bfloat16"}));
  app.add_flag("--recompute", r.recompute,
               "Gradient checkpointing: compute layers again in the backward pass; less memory, more time");
  app.add_option("--dropout", r.dropout, "Dropout of all parts, instead of the model's")->check(share());
  app.add_option("--attention-dropout", r.attention_dropout, "Dropout of attention weights")->check(share());
  app.add_option("--activation-dropout", r.activation_dropout, "Dropout inside feed-forward layers")
      ->check(share());
  app.add_option("--seed", r.seed, "Random seed of data order, masking, dropout and new heads");
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
             "With several processes on a slow network: steps that each makes on its own before all average "
             "their weights (DiLoCo; 50 to 500); 0: sum the gradients in every step")
          ->check(not_negative());
  app.add_option("--outer-rate", r.outer_rate, "--local-steps: the rate of the step from meeting to meeting")
      ->needs(local);
  app.add_option("--outer-momentum", r.outer_momentum, "--local-steps: its momentum")
      ->check(share())
      ->needs(local);
}

void add_optimizer_options(CLI::App& app, Recipe& r) {
  app.add_option("--optimizer", r.optimizer, "adamw, adafactor, sgd, lion, or muon for hidden matrices");
  app.add_option("--weight-decay", r.weight_decay,
                 "Weight decay of matrices, decoupled from the gradient except for sgd");
  app.add_option(
      "--beta1", r.beta1,
      "adamw, lion, muon: decay of the mean of gradients, 0.9; adafactor: of the mean of steps, none");
  app.add_option("--beta2", r.beta2,
                 "adamw, muon: decay of the mean of squared gradients; lion: decay of the mean");
  app.add_option(
      "--epsilon", r.epsilon,
      "adamw, muon: added to the root of the second moment; adafactor: added to squared gradients, 1e-30");
  app.add_option("--momentum", r.momentum, "Momentum of sgd (0.9) or muon (0.95)")->check(share());
  app.add_flag_function(
      "--nesterov,!--no-nesterov", [&r](std::int64_t times) { r.nesterov = times > 0; },
      "Nesterov momentum; default: off for sgd, on for muon");
  app.add_option("--clip-threshold", r.clip_threshold,
                 "adafactor: max root mean square of a step, before the learning rate; 1")
      ->check(CLI::PositiveNumber);
  app.add_option("--decay-rate", r.decay_rate,
                 "adafactor: the second moments of step t are mixed with 1 - t^this; -0.8");
  app.add_flag("--relative-step", r.relative_step,
               "adafactor: steps of min(0.01, 1/sqrt(step)) instead of --rate, --schedule and --warmup");
  app.add_flag("--warmup-init", r.warmup_init, "adafactor: relative steps start at 1e-6 x step");
  app.add_option("--ns-steps", r.ns_steps, "muon: number of Newton-Schulz iterations, 5")
      ->check(CLI::Range(1, 99));
  app.add_option("--adjust-lr-fn", r.adjust_lr_fn,
                 "muon: match_rms_adamw, for learning rates as for adamw (the default), or original, for "
                 "rates about 50 times as high")
      ->check(CLI::IsMember({"match_rms_adamw", "original"}));
}

void add_schedule_options(CLI::App& app, Recipe& r) {
  app.add_option(
      "--rate", r.rate,
      "Max learning rate; default: 5e-5 for fine-tuning, 5e-4 with --lora, else (width x warmup)^-1/2");
  app.add_flag("--rate-by-size", r.rate_by_size,
               "Multiply the learning rate of each weight by the root mean square of its numbers, as T5 "
               "needs (adafactor's scale_parameter); --rate is then 0.01 to 0.05");
  app.add_option("--schedule", r.schedule,
                 "inverse-sqrt, cosine, cosine-with-restarts, linear, polynomial, constant, trapezoid (also "
                 "called warmup-stable-decay) or reduce-on-plateau");
  app.add_option("--warmup", r.warmup, "Steps of linear warm-up; below 1: a fraction of all steps")
      ->check(not_negative());
  app.add_option("--min-rate,--lr-end", r.min_rate, "Final learning rate; not for constant and inverse-sqrt")
      ->check(not_negative());
  app.add_option("--cooldown", r.cooldown,
                 "Number of last steps in which the rate falls to zero; trapezoid: to --min-rate, by default "
                 "the last fifth of all steps")
      ->check(not_negative());
  app.add_option("--power", r.power, "polynomial: power of the remaining fraction of steps; 1 is linear")
      ->check(CLI::PositiveNumber);
  app.add_option(
         "--num-cycles", r.num_cycles,
         "cosine: number of waves, 0.5 for one decay; cosine-with-restarts: number of decays from --rate, 1")
      ->check(CLI::PositiveNumber);
  app.add_option("--plateau-factor", r.plateau_factor,
                 "reduce-on-plateau: factor on the rate when validation stops improving; 0.1");
  app.add_option("--plateau-patience", r.plateau_patience,
                 "reduce-on-plateau: number of validations without improvement to accept; 10")
      ->check(not_negative());
  app.add_option("--plateau-threshold", r.plateau_threshold,
                 "reduce-on-plateau: min relative improvement that counts; 1e-4")
      ->check(share());
}

void add_validation_options(CLI::App& app, Recipe& r) {
  app.add_option("--validate-every", r.validate_every,
                 "Steps between validations, each with a checkpoint; 0: after each epoch")
      ->check(not_negative());
  app.add_option("--save-every", r.save_every, "Steps between additional checkpoints")->check(not_negative());
  app.add_option("--best", r.best,
                 "Metric that selects the best checkpoint (loss, accuracy, f1, bleu, rougeL ...)");
  app.add_flag("--bleu", r.bleu,
               "Validate by BLEU, chrF and ROUGE of greedy translations as well as by loss; implied if "
               "--best is one of them");
  app.add_flag("--lowercase-bleu", r.lowercase, "Ignore case in BLEU and chrF");
  app.add_option("--patience", r.patience,
                 "Stop after this many validations in a row without improvement; 0: never")
      ->check(not_negative());
  app.add_option("--keep", r.keep, "Number of newest checkpoints to keep, in addition to the best")
      ->check(positive());
  app.add_option("--average", r.average, "Save the mean of this many last checkpoints; 1: the best one")
      ->check(positive());
  app.add_option(
      "--save-batches", r.save_batches,
      "Folder for the inputs of each step, as safetensors with the names of transformers' arguments");
  app.add_flag("--resume", r.resume,
               "Continue the run in --output; if there is none, start it, with a warning");
}

}  // namespace

int train(int argc, char** argv) {
  Recipe recipe;
  recipe.objective = "sequence-to-sequence";
  Parser parser(
      "train", "Trains a model from scratch or fine-tunes it. Ctrl-C saves; --resume continues.",
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
    // Other threads that wait for it would keep waiting.
    std::fprintf(stderr, "attend: %s\n", lost.what());
    std::_Exit(1);
  }
}

}  // namespace attend::cli
