#include "training/recipe.h"

#include "base/log.h"
#include "nn/linear.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

template <class T>
void settle(std::optional<T>& value, T otherwise) {
  if (!value) value = otherwise;
}

// Pretrained models learn their task in few steps of small size (Devlin et al. 2018, appendix A.3).
void settle_fine_tuning(Recipe& r) {
  // Minutes alone do not tell how many steps there will be, of which the warm-up is a share unless it is
  // said.
  if (r.steps == 0 && r.epochs == 0 && r.patience == 0 && (r.minutes == 0 || !r.warmup)) r.epochs = 3;
  settle(r.batch_size, std::int64_t{32});
  settle(r.rate, 5e-5);
  settle(r.beta2, 0.999);
  settle(r.epsilon, 1e-8);
  settle(r.weight_decay, 0.01);
  settle(r.clip, 1.0);
  if (r.schedule.empty()) r.schedule = "linear";
  settle(r.warmup, 0.06);
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
  if (r.rate.value_or(0) == 0)                                   // the paper's
    r.rate = 1 / std::sqrt(static_cast<double>(width) * std::max(1.0, *r.warmup));
}

void check(const Recipe& r) {
  if (r.steps <= 0 && r.epochs <= 0 && r.minutes <= 0 && r.patience <= 0)
    fail("say when to stop: --steps, --epochs, --max-minutes or --patience");
  if (r.bpe_dropout > 0 && r.objective != "sequence-to-sequence")
    fail("--bpe-dropout: only with --objective sequence-to-sequence");
  if (r.bleu && (r.objective != "sequence-to-sequence" || r.validation.empty()))
    fail("--bleu: only with --objective sequence-to-sequence and --validation");
  constexpr std::string_view two_readings[] = {"sequence-to-sequence", "causal-lm", "classification",
                                               "token-classification", "image-classification"};
  if (r.r_drop > 0 &&
      std::find(std::begin(two_readings), std::end(two_readings), r.objective) == std::end(two_readings))
    fail("--r-drop: only with --objective {}", fmt::join(two_readings, ", "));
  if (r.generator.empty() != (r.objective != "replaced-tokens"))
    fail("--generator: {}", r.generator.empty() ? "--objective replaced-tokens needs one"
                                                : "only with --objective replaced-tokens");
  if (r.validation.empty() && r.schedule == "reduce-on-plateau")
    fail("--schedule reduce-on-plateau: needs --validation");
  if (r.validation.empty() && !r.best.empty()) fail("--best {}: needs --validation", r.best);
  if (r.precision != "float32" && r.precision != "bfloat16")
    fail("--precision {}: expected float32 or bfloat16", r.precision);
}

}  // namespace

Recipe complete(Recipe r, const ObjectiveKind& kind, std::int64_t width) {
  settle(r.batch_tokens, r.batch_size.value_or(0) > 0 ? unlimited_tokens : BatchSize().tokens);
  const bool adapts = adapter_options(r) || !r.model.adapters.empty();
  if (adapts)
    // As the papers have it: few numbers learn, and in big steps (LoRA's: arXiv:2106.09685, table 9).
    settle(r.rate, r.prompt > 0 ? 3e-2 : r.ia3 || r.prefix > 0 ? 3e-3 : 5e-4);
  if (kind.fine_tunes || adapts)
    settle_fine_tuning(r);
  else
    settle_training(r, width);
  settle(r.beta1, 0.9);
  check(r);
  return r;
}

std::optional<AdapterOptions> adapter_options(const Recipe& r) {
  const int kinds = (r.lora > 0) + r.ia3 + (r.prefix > 0) + (r.prompt > 0);
  if (kinds == 0) return {};
  if (kinds > 1) fail("--lora, --ia3, --prefix and --prompt: expected one of them");
  if (!r.model.adapters.empty())
    fail("--adapter: this one goes on learning; expected no --lora, --ia3, --prefix or --prompt for another");
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
  if (objective == "causal-lm") return "CAUSAL_LM";
  if (objective == "sequence-to-sequence" || objective == "span-corruption" || objective == "denoising")
    return "SEQ_2_SEQ_LM";
  return objective == "pairs" || objective == "scored-pairs" ? "FEATURE_EXTRACTION" : "";
}

TrainingOptions training_options(const Recipe& r) {
  TrainingOptions o;
  o.output = r.output;
  o.steps = r.steps;
  o.epochs = r.epochs;
  o.minutes = r.minutes;
  o.batch = {*r.batch_tokens, *r.batch_size};
  o.accumulate = r.accumulate;
  o.schedule.kind = parse_schedule(r.schedule);
  o.schedule.peak = *r.rate;
  o.schedule.floor = r.min_rate;
  o.warmup = *r.warmup;
  o.schedule.cooldown = r.cooldown;
  o.plateau.by = r.plateau_factor;
  o.plateau.patience = r.plateau_patience;
  o.optimizer.kind = parse_optimizer(r.optimizer);
  o.optimizer.beta1 = *r.beta1;
  o.optimizer.beta2 = *r.beta2;
  o.optimizer.epsilon = *r.epsilon;
  o.optimizer.weight_decay = *r.weight_decay;
  o.optimizer.momentum = r.momentum;
  o.optimizer.rate_by_size = r.rate_by_size;
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
