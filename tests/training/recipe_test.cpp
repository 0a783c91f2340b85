#include "training/recipe.h"

#include "objectives/base/registry.h"
#include "temporary_directory.h"
#include "training/optimizers/schedule.h"

#include <map>

#include <gtest/gtest.h>

namespace attend {
namespace {

Recipe usual(const std::string& objective = "classification") {
  Recipe recipe;
  recipe.objective = objective;
  recipe.validation = {"held-out.tsv"};
  return recipe;
}

Recipe completed(const Recipe& recipe) {
  return complete(recipe, find_objective(recipe.objective), 64);
}

std::string refusal_of(const Recipe& recipe) {
  return error_of([&] { completed(recipe); });
}

// Every field of the loop's options as text. A new field breaks a structured binding here, so the test cannot
// miss it.
std::map<std::string, std::string> fields_of(const TrainingOptions& options) {
  std::map<std::string, std::string> all;
  const auto put = [&](const char* name, const auto& value) { all[name] = fmt::format("{}", value); };
  const auto& [output, steps, epochs, minutes, batch, accumulate, schedule, warmup, plateau, optimizer,
               groups, clip, ema, loss, bfloat16, recompute, seed, validate_every, save_every, best, patience,
               keep, average, save_batches, report, resume, ranks, local, shard_optimizer] = options;
  put("output", output.string());
  put("steps", steps), put("epochs", epochs), put("minutes", minutes);
  put("accumulate", accumulate), put("warmup", warmup), put("clip", clip), put("ema", ema);
  put("bfloat16", bfloat16), put("recompute", recompute), put("seed", seed);
  put("validate_every", validate_every), put("save_every", save_every), put("best", best);
  put("patience", patience), put("keep", keep), put("average", average), put("resume", resume);
  put("save_batches", save_batches.string()), put("shard_optimizer", shard_optimizer);
  const auto& [local_steps, outer_rate, outer_momentum] = local;
  put("local_steps", local_steps), put("outer_rate", outer_rate), put("outer_momentum", outer_momentum);
  const auto& [tokens, examples] = batch;
  put("batch.tokens", tokens), put("batch.examples", examples);
  const auto& [kind, peak, floor, schedule_warmup, total, cooldown, power, cycles, warmup_init] = schedule;
  put("schedule.kind", static_cast<int>(kind)), put("schedule.peak", peak), put("schedule.floor", floor);
  put("schedule.cooldown", cooldown), put("schedule.power", power),
      put("schedule.cycles", cycles.value_or(0));
  put("schedule.warmup_init", warmup_init);
  const auto& [by, plateau_patience, threshold, least, higher_is_better] = plateau;
  put("plateau.by", by), put("plateau.patience", plateau_patience), put("plateau.threshold", threshold);
  put("plateau.least", least);
  const auto& [optimizer_kind, beta1, beta2, epsilon, weight_decay, rate_by_size, momentum, nesterov,
               adafactor, muon] = optimizer;
  put("optimizer.kind", static_cast<int>(optimizer_kind)), put("beta1", beta1), put("beta2", beta2);
  put("epsilon", epsilon), put("weight_decay", weight_decay), put("rate_by_size", rate_by_size);
  put("momentum", momentum), put("nesterov", nesterov);
  const auto& [epsilon_square, clip_threshold, decay_rate, adafactor_beta1] = adafactor;
  put("adafactor.epsilon_square", epsilon_square), put("adafactor.clip_threshold", clip_threshold);
  put("adafactor.decay_rate", decay_rate), put("adafactor.beta1", adafactor_beta1);
  const auto& [muon_momentum, muon_nesterov, ns_steps, match_adamw] = muon;
  put("muon.momentum", muon_momentum), put("muon.nesterov", muon_nesterov), put("muon.steps", ns_steps);
  put("muon.match_adamw", match_adamw);
  const auto& [frozen, layer_decay, head_rate] = groups;
  put("frozen", frozen.size()), put("layer_decay", layer_decay), put("head_rate", head_rate);
  const auto& [label_smoothing, r_drop] = loss;
  put("label_smoothing", label_smoothing), put("r_drop", r_drop);
  return all;
}

// The recipe with one field set, next to a recipe without it.
struct Said {
  const char* what;
  std::function<void(Recipe&)> say;
  std::function<void(Recipe&)> beside = [](Recipe&) {};
};

std::vector<Said> everything() {
  const auto optimizer = [](const char* name) { return [=](Recipe& r) { r.optimizer = name; }; };
  const auto schedule = [](const char* name) { return [=](Recipe& r) { r.schedule = name; }; };
  return {
      {"output", [](Recipe& r) { r.output = "there"; }},
      {"steps", [](Recipe& r) { r.steps = 7; }},
      {"epochs", [](Recipe& r) { r.epochs = 7; }},
      {"minutes", [](Recipe& r) { r.minutes = 7; }},
      {"patience", [](Recipe& r) { r.patience = 7; }},
      {"batch_tokens", [](Recipe& r) { r.batch_tokens = 7; }},
      {"batch_size", [](Recipe& r) { r.batch_size = 7; }},
      {"accumulate", [](Recipe& r) { r.accumulate = 7; }},
      {"optimizer", optimizer("lion")},
      {"rate", [](Recipe& r) { r.rate = 0.5; }},
      {"beta1", [](Recipe& r) { r.beta1 = 0.5; }},
      {"beta2", [](Recipe& r) { r.beta2 = 0.5; }},
      {"epsilon", [](Recipe& r) { r.epsilon = 0.5; }},
      {"weight_decay", [](Recipe& r) { r.weight_decay = 0.5; }},
      {"clip", [](Recipe& r) { r.clip = 0.5; }},
      {"warmup", [](Recipe& r) { r.warmup = 5; }},
      {"momentum", [](Recipe& r) { r.momentum = 0.5; }, optimizer("sgd")},
      {"nesterov", [](Recipe& r) { r.nesterov = true; }, optimizer("sgd")},
      {"momentum of muon", [](Recipe& r) { r.momentum = 0.5; }, optimizer("muon")},
      {"no nesterov in muon", [](Recipe& r) { r.nesterov = false; }, optimizer("muon")},
      {"ns_steps", [](Recipe& r) { r.ns_steps = 7; }, optimizer("muon")},
      {"adjust_lr_fn", [](Recipe& r) { r.adjust_lr_fn = "original"; }, optimizer("muon")},
      {"beta1 of adafactor", [](Recipe& r) { r.beta1 = 0.5; }, optimizer("adafactor")},
      {"epsilon of adafactor", [](Recipe& r) { r.epsilon = 0.5; }, optimizer("adafactor")},
      {"clip_threshold", [](Recipe& r) { r.clip_threshold = 0.5; }, optimizer("adafactor")},
      {"decay_rate", [](Recipe& r) { r.decay_rate = -0.5; }, optimizer("adafactor")},
      {"relative_step", [](Recipe& r) { r.relative_step = true; }, optimizer("adafactor")},
      {"warmup_init", [](Recipe& r) { r.warmup_init = true; },
       [](Recipe& r) { r.optimizer = "adafactor", r.relative_step = true; }},
      {"rate_by_size", [](Recipe& r) { r.rate_by_size = true; }},
      {"schedule", schedule("cosine")},
      {"min_rate", [](Recipe& r) { r.min_rate = 1e-6; }},
      {"cooldown", [](Recipe& r) { r.cooldown = 7; }},
      {"power", [](Recipe& r) { r.power = 2; }, schedule("polynomial")},
      {"num_cycles", [](Recipe& r) { r.num_cycles = 3; }, schedule("cosine-with-restarts")},
      {"num_cycles of cosine", [](Recipe& r) { r.num_cycles = 1.5; }, schedule("cosine")},
      {"plateau_factor", [](Recipe& r) { r.plateau_factor = 0.5; }, schedule("reduce-on-plateau")},
      {"plateau_patience", [](Recipe& r) { r.plateau_patience = 3; }, schedule("reduce-on-plateau")},
      {"plateau_threshold", [](Recipe& r) { r.plateau_threshold = 0.5; }, schedule("reduce-on-plateau")},
      {"min_rate of a plateau", [](Recipe& r) { r.min_rate = 1e-6; }, schedule("reduce-on-plateau")},
      {"layer_decay", [](Recipe& r) { r.layer_decay = 0.5; }},
      {"head_rate", [](Recipe& r) { r.head_rate = 5; }},
      {"freeze", [](Recipe& r) { r.freeze = {"embeddings"}; }},
      {"ema", [](Recipe& r) { r.ema = 0.5; }},
      {"precision", [](Recipe& r) { r.precision = "bfloat16"; }},
      {"recompute", [](Recipe& r) { r.recompute = true; }},
      {"seed", [](Recipe& r) { r.seed = 7; }},
      {"label_smoothing", [](Recipe& r) { r.label_smoothing = 0.5; }},
      {"r_drop", [](Recipe& r) { r.r_drop = 0.5; }},
      {"validate_every", [](Recipe& r) { r.validate_every = 7; }},
      {"save_every", [](Recipe& r) { r.save_every = 7; }},
      {"best", [](Recipe& r) { r.best = "f1"; }},
      {"keep", [](Recipe& r) { r.keep = 7; }},
      {"average", [](Recipe& r) { r.average = 7; }},
      {"save_batches", [](Recipe& r) { r.save_batches = "there"; }},
      {"resume", [](Recipe& r) { r.resume = true; }},
      {"shard_optimizer", [](Recipe& r) { r.shard_optimizer = true; }},
      {"local_steps", [](Recipe& r) { r.local_steps = 7; }},
      {"outer_rate", [](Recipe& r) { r.outer_rate = 0.5; }, [](Recipe& r) { r.local_steps = 7; }},
      {"outer_momentum", [](Recipe& r) { r.outer_momentum = 0.5; }, [](Recipe& r) { r.local_steps = 7; }},
  };
}

// Every field of a recipe reaches the loop, and every option of the loop has a field.
TEST(Recipe, EveryFieldReachesTheLoop) {
  std::map<std::string, std::string> untouched = fields_of(training_options(completed(usual())));
  for (const Said& said : everything()) {
    Recipe without = usual();
    said.beside(without);
    Recipe with = without;
    said.say(with);
    const auto before = fields_of(training_options(completed(without))),
               after = fields_of(training_options(completed(with)));
    EXPECT_NE(before, after) << said.what << " has no effect";
    for (const auto& [name, value] : after)
      if (before.at(name) != value) untouched.erase(name);
  }
  for (const auto& [name, value] : untouched) ADD_FAILURE() << "no recipe says " << name;
}

TEST(Recipe, AnOptionWithoutEffectIsRefused) {
  const auto refuses = [](const char* why, const std::function<void(Recipe&)>& say,
                          const std::string& objective = "classification") {
    Recipe recipe = usual(objective);
    say(recipe);
    const std::string error = refusal_of(recipe);
    EXPECT_TRUE(contains(error, why)) << error;
  };
  refuses("--power: it has no effect with --schedule linear; it is for polynomial",
          [](Recipe& r) { r.power = 2; });
  refuses("--num-cycles: it has no effect with --schedule polynomial; it is for cosine, cosine-with-restarts",
          [](Recipe& r) { r.schedule = "polynomial", r.num_cycles = 2; });
  refuses("--min-rate: it has no effect with --schedule constant",
          [](Recipe& r) { r.schedule = "constant", r.min_rate = 1e-6; });
  refuses("--plateau-factor: it has no effect with --schedule linear",
          [](Recipe& r) { r.plateau_factor = 0.5; });
  refuses("--nesterov: it has no effect with --optimizer adamw; it is for sgd, muon",
          [](Recipe& r) { r.nesterov = true; });
  refuses("--beta2: it has no effect with --optimizer sgd",
          [](Recipe& r) { r.optimizer = "sgd", r.beta2 = 0.5; });
  refuses("--clip-threshold: it has no effect with --optimizer adamw; it is for adafactor",
          [](Recipe& r) { r.clip_threshold = 1; });
  refuses("--warmup-init: it is for --relative-step",
          [](Recipe& r) { r.optimizer = "adafactor", r.warmup_init = true; });
  refuses("--relative-step: it makes the rate itself",
          [](Recipe& r) { r.optimizer = "adafactor", r.relative_step = true, r.rate = 1e-3; });
  refuses("--length: it has no effect with --objective classification", [](Recipe& r) { r.length = 64; });
  refuses("--mask-rate: it has no effect with --objective classification",
          [](Recipe& r) { r.mask_rate = 0.3; });
  refuses(
      "--columns: it has no effect with --objective masked-lm",
      [](Recipe& r) { r.columns = "text=1", r.steps = 1; }, "masked-lm");
  refuses("--lora-alpha: it has no effect without --lora", [](Recipe& r) { r.lora_alpha = 8; });
  refuses("--temperature: it has no effect without --teacher", [](Recipe& r) { r.temperature = 3; });
  refuses("--optimizer adam: expected adamw", [](Recipe& r) { r.optimizer = "adam"; });
  refuses("--schedule cosin: expected one of", [](Recipe& r) { r.schedule = "cosin"; });
}

TEST(Recipe, WhatCountsValidationsNeedsThem) {
  const auto refuses = [](const char* why, const std::function<void(Recipe&)>& say) {
    Recipe recipe = usual();
    recipe.validation.clear();
    say(recipe);
    const std::string error = refusal_of(recipe);
    EXPECT_TRUE(contains(error, why)) << error;
  };
  refuses("--patience 2: it needs validation data: say --validation FILE; without it --epochs",
          [](Recipe& r) { r.patience = 2; });
  refuses("--best f1: it needs validation data", [](Recipe& r) { r.best = "f1"; });
  refuses("--schedule reduce-on-plateau: it needs validation data",
          [](Recipe& r) { r.schedule = "reduce-on-plateau"; });
}

// A limit in minutes does not determine the number of steps, but the warm-up is a fraction of them.
TEST(Recipe, FineTuningWithALimitInMinutesHasAPlanInEpochs) {
  Recipe limited = usual();
  limited.minutes = 1;
  const Recipe whole = completed(limited);
  EXPECT_EQ(whole.epochs, 3);
  EXPECT_EQ(whole.minutes, 1);
  EXPECT_EQ(warmup_steps(*whole.warmup, 1000), 60);

  Recipe said = limited;  // the warm-up in steps, and a schedule without an end: minutes are the only limit
  said.warmup = 100;
  EXPECT_EQ(completed(said).epochs, 3) << "a linear schedule needs an end";
  said.schedule = "constant";
  EXPECT_EQ(completed(said).epochs, 0);

  limited.steps = 10;
  EXPECT_EQ(completed(limited).epochs, 0);
}

TEST(Recipe, PatienceAloneIsAPlan) {
  Recipe patient = usual();
  patient.patience = 2;
  EXPECT_EQ(completed(patient).epochs, 20);
  patient.patience = 10;
  EXPECT_EQ(completed(patient).epochs, 50);
  patient.epochs = 4;
  EXPECT_EQ(completed(patient).epochs, 4);
  patient.epochs = 0;
  patient.schedule = "constant";
  patient.warmup = 0;
  EXPECT_EQ(completed(patient).epochs, 0) << "nothing needs an end";
}

}  // namespace
}  // namespace attend
