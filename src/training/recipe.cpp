#include "training/recipe.h"

#include "base/log.h"
#include "nn/linear/linear.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

template <class T>
void settle(std::optional<T>& value, T otherwise) {
  if (!value) value = otherwise;
}

ScheduleKind schedule_kind(const Recipe& r) {
  return r.relative_step ? ScheduleKind::relative_step : parse_schedule(r.schedule);
}

// The default number of epochs of fine-tuning without steps or epochs. The total must be known if the warm-up
// is a fraction of all steps or the rate decays to an end; otherwise minutes or patience may be the only
// limit.
double usual_epochs(const Recipe& r) {
  const bool needs_end = needs_total(schedule_kind(r)) || (*r.warmup > 0 && *r.warmup < 1) || r.cooldown > 0;
  if (!needs_end && (r.minutes > 0 || r.patience > 0)) return 0;
  if (r.patience == 0) return 3;
  const double epochs = std::max(20.0, 5 * static_cast<double>(r.patience));
  inform("--patience {}: {:g} times through the data at most; --epochs says another end", r.patience, epochs);
  return epochs;
}

// Pretrained models learn their task in few, small steps (Devlin et al. 2018, appendix A.3).
void settle_fine_tuning(Recipe& r, double rate_factor) {
  settle(r.batch_size, std::int64_t{32});
  settle(r.rate, rate_factor * 5e-5);
  settle(r.beta2, 0.999);
  settle(r.epsilon, 1e-8);
  settle(r.weight_decay, 0.01);
  settle(r.clip, 1.0);
  if (r.schedule.empty()) r.schedule = "linear";
  settle(r.warmup, 0.06);
  if (r.steps == 0 && r.epochs == 0) r.epochs = usual_epochs(r);
}

// As Vaswani et al. 2017 trained, section 5.3.
void settle_training(Recipe& r, std::int64_t width) {
  settle(r.batch_size, std::int64_t{0});
  settle(r.beta2, 0.98);
  settle(r.epsilon, 1e-9);
  settle(r.weight_decay, 0.0);
  settle(r.clip, 0.0);
  if (r.schedule.empty()) r.schedule = "inverse-sqrt";
  settle(r.warmup, 1000.0);
  if (r.validate_every == 0) r.validate_every = 500;
  if (r.rate.value_or(0) == 0 && r.rate_by_size) r.rate = 0.01;  // that of Shazeer & Stern 2018
  if (r.rate.value_or(0) == 0)                                   // the paper's value
    r.rate = 1 / std::sqrt(static_cast<double>(width) * std::max(1.0, *r.warmup));
}

// Defaults of optimizers that differ from AdamW's; that of relative steps is in schedule.h.
void settle_optimizer(Recipe& r) {
  if (r.optimizer == "adafactor") {
    settle(r.beta1, 0.0);
    settle(r.epsilon, AdafactorOptions().epsilon_square);
  }
  if (r.relative_step) {
    settle(r.rate, 1e-2);
    settle(r.warmup, 0.0);
    r.schedule = "relative-step";
  }
  const bool muon = r.optimizer == "muon";
  settle(r.momentum, muon ? MuonOptions().momentum : 0.9);
  settle(r.nesterov, muon);
  settle(r.beta1, 0.9);
}

}  // namespace

Recipe complete(Recipe r, const ObjectiveKind& kind, std::int64_t width) {
  const Recipe given = r;
  settle_optimizer(r);
  settle(r.batch_tokens, r.batch_size.value_or(0) > 0 ? unlimited_tokens : BatchSize().tokens);
  const bool adapts = adapter_options(r) || !r.model.adapters.empty();
  if (adapts)
    // As in the papers: few parameters are trained, with a high rate (LoRA's: arXiv:2106.09685, table 9).
    settle(r.rate, kind.rate_factor * (r.prompt > 0 ? 3e-2 : r.ia3 || r.prefix > 0 ? 3e-3 : 5e-4));
  if (kind.fine_tunes || adapts)
    settle_fine_tuning(r, kind.rate_factor);
  else
    settle_training(r, width);
  check_recipe(given, r);
  return r;
}

std::optional<AdapterOptions> adapter_options(const Recipe& r) {
  const int kinds = (r.lora > 0) + r.ia3 + (r.prefix > 0) + (r.prompt > 0);
  if (kinds == 0) return {};
  if (kinds > 1) fail("--lora, --ia3, --prefix and --prompt: expected one of them");
  if (!r.model.adapters.empty())
    fail("--adapter continues training an existing adapter; expected no --lora, --ia3, --prefix or --prompt");
  if (!r.keep_layers.empty())
    fail("--keep-layers: a model that is made for the run is gone behind it, and an adapter needs its model");
  if (r.objective == "replaced-tokens")
    fail("--objective replaced-tokens: two models learn; an adapter is of one");
  if ((r.prefix > 0 || r.prompt > 0) && adapter_task(r.objective).empty())
    fail(
        "--prefix and --prompt: peft puts them before texts with labels, tags or answers, next tokens, pairs "
        "of "
        "source and target, and vectors of texts; expected such an objective, found {}",
        r.objective);
  AdapterOptions o;
  using Kind = AdapterOptions::Kind;
  o.kind = r.ia3 ? Kind::ia3 : r.prefix > 0 ? Kind::prefix : r.prompt > 0 ? Kind::prompt : Kind::lora;
  o.virtual_tokens = std::max(r.prefix, r.prompt);
  o.rank = r.lora;
  o.alpha = r.lora_alpha > 0 ? r.lora_alpha : 2 * static_cast<double>(r.lora);
  o.dropout = r.lora_dropout;
  o.by_root = r.lora_kind == "rslora";
  o.directions = r.lora_kind == "dora";
  o.targets = r.lora_targets;
  o.bias = r.lora_bias;
  o.initialization = r.lora_init;
  o.modules_to_save = r.modules_to_save;
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
  schedule.peak = *r.rate;
  schedule.floor = schedule.kind == ScheduleKind::plateau ? 0 : r.min_rate;
  schedule.cooldown = r.cooldown;
  schedule.power = r.power.value_or(schedule.power);
  schedule.cycles = r.num_cycles;
  schedule.warmup_init = r.warmup_init;
  return schedule;
}

ReduceOnPlateau plateau_of(const Recipe& r) {
  ReduceOnPlateau plateau;
  plateau.by = r.plateau_factor.value_or(plateau.by);
  plateau.patience = r.plateau_patience.value_or(plateau.patience);
  plateau.threshold = r.plateau_threshold.value_or(plateau.threshold);
  plateau.least = r.min_rate / *r.rate;
  return plateau;
}

OptimizerOptions optimizer_of(const Recipe& r) {
  OptimizerOptions o;
  o.kind = parse_optimizer(r.optimizer);
  o.beta1 = *r.beta1;
  o.beta2 = *r.beta2;
  o.epsilon = *r.epsilon;
  o.weight_decay = *r.weight_decay;
  o.rate_by_size = r.rate_by_size;
  o.momentum = *r.momentum;
  o.nesterov = *r.nesterov;
  o.adafactor.epsilon_square = *r.epsilon;
  o.adafactor.clip_threshold = r.clip_threshold.value_or(o.adafactor.clip_threshold);
  o.adafactor.decay_rate = r.decay_rate.value_or(o.adafactor.decay_rate);
  o.adafactor.beta1 = *r.beta1;
  o.muon.momentum = *r.momentum;
  o.muon.nesterov = *r.nesterov;
  o.muon.steps = r.ns_steps.value_or(o.muon.steps);
  if (!r.adjust_lr_fn.empty() && r.adjust_lr_fn != "match_rms_adamw" && r.adjust_lr_fn != "original")
    fail("--adjust-lr-fn {}: expected match_rms_adamw or original", r.adjust_lr_fn);
  o.muon.match_adamw = r.adjust_lr_fn != "original";
  return o;
}

}  // namespace

TrainingOptions training_options(const Recipe& r) {
  TrainingOptions o;
  o.output = r.output;
  o.steps = r.steps;
  o.epochs = r.epochs;
  o.minutes = r.minutes;
  o.batch = {*r.batch_tokens, *r.batch_size};
  o.accumulate = r.accumulate;
  o.schedule = schedule_of(r);
  o.warmup = *r.warmup;
  o.plateau = plateau_of(r);
  o.optimizer = optimizer_of(r);
  o.groups.layer_decay = r.layer_decay;
  o.groups.head_rate = r.head_rate;
  o.groups.frozen = r.freeze;
  o.clip = *r.clip;
  o.ema = r.ema;
  o.loss = {r.label_smoothing, r.r_drop};
  o.bfloat16 = r.precision == "bfloat16";
  if (o.bfloat16 && !Bfloat16Products::available())
    inform("this machine has no instructions for bfloat16 (AVX512_BF16): training in float32");
  o.recompute = r.recompute;
  o.seed = r.seed;
  o.shard_optimizer = r.shard_optimizer;
  o.local = {r.local_steps, r.outer_rate, r.outer_momentum};
  o.validate_every = r.validate_every;
  o.save_every = r.save_every;
  o.best = r.best;
  o.patience = r.patience;
  o.keep = r.keep;
  o.average = r.average;
  o.save_batches = r.save_batches;
  o.resume = r.resume;
  return o;
}

}  // namespace attend
