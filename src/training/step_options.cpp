// The options of steps: how many, with which optimizer, and what is saved.
#include "training/recipe_options.h"

namespace attend {
namespace {

using Names = std::vector<std::string>;
using namespace option;

const Json kNumber = schema::number();
const Json kAboveZero = schema::number_above(0);
const Json kZeroOrMore = schema::number(0);
const Json kShare = schema::number(0, 0.999);

}  // namespace

Options options_of(DurationRecipe& d) {
  return {
      integer("steps", d.steps, 0, "Number of steps; 0: until `epochs` or `max_minutes`").also("max_steps"),
      number(
          "epochs", d.epochs, kZeroOrMore,
          "Number of epochs; 0: no limit; fine-tuning: 3 unless `steps` is given, with `patience` at most 20 "
          "(or 5 x patience)")
          .also("num_train_epochs"),
      number("max_minutes", d.minutes, kZeroOrMore, "Time limit in minutes; 0: none")};
}

Options options_of(BatchRecipe& b) {
  return {
      integer(
          "batch_tokens", b.tokens, 1,
          "Max tokens per batch, by the longer side of a pair; default 4096, or no limit with `batch_size`"),
      integer("batch_size", b.size, 0,
              "Examples per batch; 0: as many as `batch_tokens` allows. Default for fine-tuning: 32"),
      integer("gradient_accumulation_steps", b.accumulate, 1, "Batches per step").also("accumulate")};
}

Options options_of(OptimizerRecipe& o) {
  const auto only = [](const Option& option, Names optimizers) {
    return option.only_with("optimizer", std::move(optimizers));
  };
  return {
      word("optimizer", o.name, {"adamw", "adafactor", "sgd", "lion", "muon"}, "muon is for hidden matrices")
          .also("optim"),
      number("learning_rate", o.learning_rate, kZeroOrMore,
             "Max learning rate; default: 5e-5 for fine-tuning, 5e-4 with `lora`, else (width x warmup)^-1/2")
          .also("lr"),
      number("weight_decay", o.weight_decay, kNumber,
             "Weight decay of matrices, decoupled from the gradient except for sgd"),
      number("max_grad_norm", o.max_grad_norm, kZeroOrMore,
             "Max norm of all gradients together (gradient clipping); 0: no clipping"),
      only(number("beta1", o.beta1, kNumber,
                  "adamw, lion, muon: decay of the mean of gradients, 0.9; adafactor: of the mean of steps, "
                  "none"),
           {"adamw", "lion", "adafactor", "muon"}),
      only(number("beta2", o.beta2, kNumber,
                  "adamw, muon: decay of the mean of squared gradients; lion: decay of the mean"),
           {"adamw", "lion", "muon"}),
      only(number("epsilon", o.epsilon, kNumber,
                  "adamw, muon: added to the root of the second moment; adafactor: added to squared "
                  "gradients, 1e-30"),
           {"adamw", "adafactor", "muon"}),
      only(number("momentum", o.momentum, kShare, "Momentum of sgd (0.9) or muon (0.95)"), {"sgd", "muon"}),
      only(flag("nesterov", o.nesterov, "Nesterov momentum; default: off for sgd, on for muon"),
           {"sgd", "muon"}),
      only(number("clip_threshold", o.clip_threshold, kAboveZero,
                  "adafactor: max root mean square of a step, before the learning rate; 1"),
           {"adafactor"}),
      only(number("decay_rate", o.decay_rate, kNumber,
                  "adafactor: the second moments of step t are mixed with 1 - t^this; -0.8"),
           {"adafactor"}),
      only(flag("relative_step", o.relative_step,
                "adafactor: steps of min(0.01, 1/sqrt(step)) instead of `learning_rate`, `schedule` and "
                "`warmup`"),
           {"adafactor"}),
      flag("warmup_init", o.warmup_init, "adafactor: relative steps start at 1e-6 x step")
          .only_with_any({"relative_step"}),
      only(integer("ns_steps", o.ns_steps, 1, 99, "muon: number of Newton-Schulz iterations, 5"), {"muon"}),
      only(word("adjust_lr_fn", o.adjust_lr_fn, {"match_rms_adamw", "original"},
                "muon: match_rms_adamw, for learning rates as for adamw (the default), or original, for "
                "rates about 50 "
                "times as high"),
           {"muon"}),
      flag("rate_by_size", o.rate_by_size,
           "Multiply the learning rate of each weight by the root mean square of its numbers, as T5 needs "
           "(adafactor's scale_parameter); `learning_rate` is then 0.01 to 0.05"),
      number("layer_decay", o.layer_decay, kNumber,
             "Layer-wise decay: a layer's learning rate is this times that of the layer above"),
      number("head_rate", o.head_rate, kNumber, "A factor on the learning rate of a new head"),
      list("freeze", o.freeze,
           "Parameters to freeze: embeddings, layers.0-5, all-but-head, or an expression"),
      number("ema", o.ema, schema::number(0, 0.99999999),
             "Decay of a running average of the weights, which is validated and saved; 0: none")};
}

Options options_of(ScheduleRecipe& s) {
  const auto only = [](const Option& option, Names schedules) {
    return option.only_with("schedule", std::move(schedules));
  };
  const Names plateau = {"reduce-on-plateau"};
  return {
      text("schedule", s.name,
           "inverse-sqrt, cosine, cosine-with-restarts, linear, polynomial, constant, trapezoid (also called "
           "warmup-stable-decay) or reduce-on-plateau; default: by the objective"),
      number("warmup", s.warmup, kZeroOrMore, "Steps of linear warm-up; below 1: a fraction of all steps"),
      only(number("min_rate", s.min_rate, kZeroOrMore, "Final learning rate").also("lr_end"),
           {"linear", "cosine", "cosine-with-restarts", "polynomial", "trapezoid", "warmup-stable-decay",
            "reduce-on-plateau"}),
      integer("cooldown", s.cooldown, 0,
              "Number of last steps in which the rate falls to zero; trapezoid: to `min_rate`, by default "
              "the last "
              "fifth of all steps"),
      only(number("power", s.power, kAboveZero,
                  "polynomial: power of the remaining fraction of steps; 1 is linear"),
           {"polynomial"}),
      only(number("num_cycles", s.num_cycles, kAboveZero,
                  "cosine: number of waves, 0.5 for one decay; cosine-with-restarts: number of decays, 1"),
           {"cosine", "cosine-with-restarts"}),
      only(number("plateau_factor", s.plateau_factor, kNumber,
                  "reduce-on-plateau: factor on the rate when validation stops improving; 0.1"),
           plateau),
      only(integer("plateau_patience", s.plateau_patience, 0,
                   "reduce-on-plateau: number of validations without improvement to accept; 10"),
           plateau),
      only(number("plateau_threshold", s.plateau_threshold, kShare,
                  "reduce-on-plateau: min relative improvement that counts; 1e-4"),
           plateau)};
}

Options options_of(ComputationRecipe& c) {
  return {word("precision", c.precision, {"float32", "bfloat16", "tf32"},
               "bfloat16: round the factors of matrix products, which is faster with AVX512_BF16; weights "
               "and sums "
               "stay float32, on the CPU validation too. tf32: on a GPU"),
          flag("gradient_checkpointing", c.gradient_checkpointing,
               "Compute layers again in the backward pass; less memory, more time"),
          number("dropout", c.dropout, kShare, "Dropout of all parts, instead of the model's"),
          number("attention_dropout", c.attention_dropout, kShare, "Dropout of attention weights"),
          number("activation_dropout", c.activation_dropout, kShare, "Dropout inside feed-forward layers"),
          number("seed", c.seed, schema::integer(0, std::numeric_limits<std::int64_t>::max()),
                 "Random seed of data order, masking, dropout and new heads")};
}

Options options_of(CheckpointRecipe& c) {
  return {
      integer("validate_every", c.validate_every, 0,
              "Steps between validations, each with a checkpoint; 0: after each epoch"),
      integer("save_every", c.save_every, 0, "Steps between additional checkpoints; 0: none"),
      text("best", c.best,
           "Metric that selects the best checkpoint (loss, accuracy, f1, bleu, rougeL ...); default: the "
           "objective's first"),
      integer("patience", c.patience, 0,
              "Stop after this many validations in a row without improvement; 0: never"),
      integer("keep", c.keep, 1, "Number of newest checkpoints to keep, in addition to the best"),
      integer("average", c.average, 1, "Save the mean of this many last checkpoints; 1: the best one"),
      text("save_batches", c.save_batches,
           "Folder for the inputs of each step, as safetensors with the names of transformers' arguments"),
      flag("resume", c.resume, "Continue the run in `output`; if there is none, start it, with a warning")};
}

Options options_of(ProcessRecipe& p) {
  const Names local = {"local_steps"};
  return {
      number(
          "timeout", p.timeout, schema::number(1, 86400),
          "With several processes (torchrun): seconds that one waits for the others before it ends and names "
          "those that are lost"),
      flag("shard_optimizer", p.shard_optimizer,
           "With several processes: each keeps the optimizer's state of a share of the weights, which takes "
           "less "
           "memory (ZeRO-1)"),
      flag(
          "shard_weights", p.shard_weights,
          "With several processes, for a model that does not fit into one: each keeps a share of the layers' "
          "weights and gradients and of the optimizer's state, and layers are sent when they compute "
          "(ZeRO-3)"),
      integer("local_steps", p.local_steps, 0,
              "With several processes on a slow network: steps that each makes on its own before all average "
              "their "
              "weights (DiLoCo; 50 to 500); 0: sum the gradients in every step"),
      number("outer_rate", p.outer_rate, kNumber, "The rate of the step that follows `local_steps`")
          .only_with_any(local),
      number("outer_momentum", p.outer_momentum, kShare,
             "The momentum of the step that follows `local_steps`")
          .only_with_any(local)};
}

}  // namespace attend
