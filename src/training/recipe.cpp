#include "training/recipe.h"

#include "base/log.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

template <class T>
void settle(std::optional<T>& value, T otherwise) {
  if (!value) value = otherwise;
}

ScheduleKind schedule_kind(const Recipe& r) {
  return r.optimizer.relative_step ? ScheduleKind::relative_step : parse_schedule(r.schedule.name);
}

// The default number of epochs of fine-tuning without steps or epochs. The total must be known if the warm-up
// is a fraction of all steps or the rate decays to an end; otherwise minutes or patience may be the only
// limit.
double usual_epochs(const Recipe& r) {
  const bool needs_end = needs_total(schedule_kind(r)) ||
                         (*r.schedule.warmup > 0 && *r.schedule.warmup < 1) || r.schedule.cooldown > 0;
  if (!needs_end && (r.duration.minutes > 0 || r.checkpoints.patience > 0)) return 0;
  if (r.checkpoints.patience == 0) return 3;
  const double epochs = std::max(20.0, 5 * static_cast<double>(r.checkpoints.patience));
  inform("`patience` {}: {:g} times through the data at most; `epochs` says another end",
         r.checkpoints.patience, epochs);
  return epochs;
}

// Pretrained models learn their task in few, small steps (Devlin et al. 2018, appendix A.3).
void settle_fine_tuning(Recipe& r, double rate_factor) {
  settle(r.batch.size, std::int64_t{32});
  settle(r.optimizer.learning_rate, rate_factor * 5e-5);
  settle(r.optimizer.beta2, 0.999);
  settle(r.optimizer.epsilon, 1e-8);
  settle(r.optimizer.weight_decay, 0.01);
  settle(r.optimizer.max_grad_norm, 1.0);
  if (r.schedule.name.empty()) r.schedule.name = "linear";
  settle(r.schedule.warmup, 0.06);
  if (r.duration.steps == 0 && r.duration.epochs == 0) r.duration.epochs = usual_epochs(r);
}

// As Vaswani et al. 2017 trained, section 5.3.
void settle_training(Recipe& r, std::int64_t width) {
  settle(r.batch.size, std::int64_t{0});
  settle(r.optimizer.beta2, 0.98);
  settle(r.optimizer.epsilon, 1e-9);
  settle(r.optimizer.weight_decay, 0.0);
  settle(r.optimizer.max_grad_norm, 0.0);
  if (r.schedule.name.empty()) r.schedule.name = "inverse-sqrt";
  settle(r.schedule.warmup, 1000.0);
  if (r.checkpoints.validate_every == 0) r.checkpoints.validate_every = 500;
  if (r.optimizer.learning_rate.value_or(0) == 0 && r.optimizer.rate_by_size)
    r.optimizer.learning_rate = 0.01;              // that of Shazeer & Stern 2018
  if (r.optimizer.learning_rate.value_or(0) == 0)  // the paper's value
    r.optimizer.learning_rate = 1 / std::sqrt(static_cast<double>(width) * std::max(1.0, *r.schedule.warmup));
}

// Defaults of optimizers that differ from AdamW's; that of relative steps is in schedule.h.
void settle_optimizer(Recipe& r) {
  if (r.optimizer.name == "adafactor") {
    settle(r.optimizer.beta1, 0.0);
    settle(r.optimizer.epsilon, AdafactorOptions().epsilon_square);
  }
  if (r.optimizer.relative_step) {
    settle(r.optimizer.learning_rate, 1e-2);
    settle(r.schedule.warmup, 0.0);
    r.schedule.name = "relative-step";
  }
  const bool muon = r.optimizer.name == "muon";
  settle(r.optimizer.momentum, muon ? MuonOptions().momentum : 0.9);
  settle(r.optimizer.nesterov, muon);
  settle(r.optimizer.beta1, 0.9);
}

}  // namespace

Recipe complete(Recipe r, const ObjectiveKind& kind, std::int64_t width) {
  const Recipe given = r;
  settle_optimizer(r);
  settle(r.batch.tokens, r.batch.size.value_or(0) > 0 ? unlimited_tokens : BatchSize().tokens);
  const bool adapts = adapter_options(r) || !r.model.adapters.empty();
  if (adapts)
    // As in the papers: few parameters are trained, with a high rate (LoRA's: arXiv:2106.09685, table 9).
    settle(r.optimizer.learning_rate, kind.rate_factor * (r.adapter.prompt > 0                    ? 3e-2
                                                          : r.adapter.ia3 || r.adapter.prefix > 0 ? 3e-3
                                                                                                  : 5e-4));
  if (kind.fine_tunes || adapts)
    settle_fine_tuning(r, kind.rate_factor);
  else
    settle_training(r, width);
  check_recipe(given, r);
  return r;
}

std::optional<AdapterOptions> adapter_options(const Recipe& r) {
  const int kinds = (r.adapter.lora > 0) + r.adapter.ia3 + (r.adapter.prefix > 0) + (r.adapter.prompt > 0);
  if (kinds == 0) return {};
  if (kinds > 1) fail("`lora`, `ia3`, `prefix` and `prompt`: expected one of them");
  if (!r.model.adapters.empty())
    fail("`adapter` continues training an existing adapter; expected no `lora`, `ia3`, `prefix` or `prompt`");
  if (!r.distillation.keep_layers.empty())
    fail("`keep_layers`: a model made for the run is not saved, and an adapter needs its model");
  if (r.objective == "replaced-tokens")
    fail("`objective` replaced-tokens: two models learn; an adapter is of one");
  if ((r.adapter.prefix > 0 || r.adapter.prompt > 0) && adapter_task(r.objective).empty())
    fail(
        "`prefix` and `prompt`: peft puts them before texts with labels, tags or answers, next tokens, pairs "
        "of "
        "source and target, and vectors of texts; expected such an objective, found {}",
        r.objective);
  AdapterOptions o;
  using Kind = AdapterOptions::Kind;
  o.kind = r.adapter.ia3          ? Kind::ia3
           : r.adapter.prefix > 0 ? Kind::prefix
           : r.adapter.prompt > 0 ? Kind::prompt
                                  : Kind::lora;
  o.virtual_tokens = std::max(r.adapter.prefix, r.adapter.prompt);
  o.rank = r.adapter.lora;
  o.alpha = r.adapter.lora_alpha > 0 ? r.adapter.lora_alpha : 2 * static_cast<double>(r.adapter.lora);
  o.dropout = r.adapter.lora_dropout;
  o.by_root = r.adapter.lora_kind == "rslora";
  o.directions = r.adapter.lora_kind == "dora";
  o.targets = r.adapter.lora_targets;
  o.bias = r.adapter.lora_bias;
  o.initialization = r.adapter.lora_init;
  o.modules_to_save = r.adapter.modules_to_save;
  return o;
}

std::string adapter_task(const std::string& objective) {
  if (objective == "classification" || objective == "regression" || objective == "multi-label")
    return "SEQ_CLS";
  if (objective == "token-classification") return "TOKEN_CLS";
  if (objective == "question-answering") return "QUESTION_ANS";
  if (objective == "causal-lm" || objective == "chat" || objective == "preferences") return "CAUSAL_LM";
  if (objective == "sequence-to-sequence" || objective == "span-corruption" || objective == "denoising")
    return "SEQ_2_SEQ_LM";
  return objective == "pairs" || objective == "scored-pairs" ? "FEATURE_EXTRACTION" : "";
}

namespace {

Schedule schedule_of(const Recipe& r) {
  Schedule schedule;
  schedule.kind = schedule_kind(r);
  schedule.peak = *r.optimizer.learning_rate;
  schedule.floor = schedule.kind == ScheduleKind::plateau ? 0 : r.schedule.min_rate;
  schedule.cooldown = r.schedule.cooldown;
  schedule.power = r.schedule.power.value_or(schedule.power);
  schedule.cycles = r.schedule.num_cycles;
  schedule.warmup_init = r.optimizer.warmup_init;
  return schedule;
}

ReduceOnPlateau plateau_of(const Recipe& r) {
  ReduceOnPlateau plateau;
  plateau.by = r.schedule.plateau_factor.value_or(plateau.by);
  plateau.patience = r.schedule.plateau_patience.value_or(plateau.patience);
  plateau.threshold = r.schedule.plateau_threshold.value_or(plateau.threshold);
  plateau.min_factor = r.schedule.min_rate / *r.optimizer.learning_rate;
  return plateau;
}

OptimizerOptions optimizer_of(const Recipe& r) {
  OptimizerOptions o;
  o.kind = parse_optimizer(r.optimizer.name);
  o.beta1 = *r.optimizer.beta1;
  o.beta2 = *r.optimizer.beta2;
  o.epsilon = *r.optimizer.epsilon;
  o.weight_decay = *r.optimizer.weight_decay;
  o.rate_by_size = r.optimizer.rate_by_size;
  o.momentum = *r.optimizer.momentum;
  o.nesterov = *r.optimizer.nesterov;
  o.adafactor.epsilon_square = *r.optimizer.epsilon;
  o.adafactor.clip_threshold = r.optimizer.clip_threshold.value_or(o.adafactor.clip_threshold);
  o.adafactor.decay_rate = r.optimizer.decay_rate.value_or(o.adafactor.decay_rate);
  o.adafactor.beta1 = *r.optimizer.beta1;
  o.muon.momentum = *r.optimizer.momentum;
  o.muon.nesterov = *r.optimizer.nesterov;
  o.muon.steps = r.optimizer.ns_steps.value_or(o.muon.steps);
  o.muon.match_adamw = r.optimizer.adjust_lr_fn != "original";
  return o;
}

}  // namespace

TrainingOptions training_options(const Recipe& r) {
  TrainingOptions o;
  o.output = r.output;
  o.duration = r.duration;
  o.checkpoints = r.checkpoints;
  o.batch = {*r.batch.tokens, *r.batch.size};
  o.accumulate = r.batch.accumulate;
  o.schedule = schedule_of(r);
  o.warmup = *r.schedule.warmup;
  o.plateau = plateau_of(r);
  o.optimizer = optimizer_of(r);
  o.groups.layer_decay = r.optimizer.layer_decay;
  o.groups.head_rate = r.optimizer.head_rate;
  o.groups.frozen = r.optimizer.freeze;
  o.max_grad_norm = *r.optimizer.max_grad_norm;
  o.ema = r.optimizer.ema;
  o.loss = {r.loss.label_smoothing, r.loss.r_drop};
  o.bfloat16 = r.computation.precision == "bfloat16";
  o.gradient_checkpointing = r.computation.gradient_checkpointing;
  o.seed = r.computation.seed;
  o.shard_optimizer = r.processes.shard_optimizer || r.processes.shard_weights;
  o.local = {r.processes.local_steps, r.processes.outer_rate, r.processes.outer_momentum};
  return o;
}

}  // namespace attend
