#include "training/recipe.h"

#include "expect_error.h"
#include "objectives/base/registry.h"
#include "temporary_directory.h"
#include "training/optimizers/schedule.h"
#include "training/recipe_options.h"

#include <map>
#include <set>

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

// A value that is no default.
Json example_of(const Json& schema) {
  if (schema.contains("enum")) {
    for (const Json& each : schema["enum"])
      if (each != schema.value("default", Json())) return each;
  }
  if (schema.contains("anyOf") || schema.value("type", "") == "string") return "some";
  const std::string type = schema["type"];
  if (type == "boolean") return !schema.value("default", false);
  if (schema.contains("prefixItems")) return {0.5, 2.5};
  if (type == "array") return Json::array({example_of(schema["items"])});
  const Json usual = schema.value("default", Json());
  const double value = usual.is_number() && usual.get<double>() > 0 ? usual.get<double>() / 2 : 0.25;
  if (type == "number") return value;
  return std::max<std::int64_t>(schema.value("minimum", 0),
                                usual.is_number() ? usual.get<std::int64_t>() : 0) +
         1;
}

std::string refusal_of(const Recipe& recipe) {
  return error_of([&] { completed(recipe); });
}

// Every field of the loop's options as text. A new field breaks a structured binding here, so the test cannot
// miss it.
std::map<std::string, std::string> fields_of(const TrainingOptions& options) {
  std::map<std::string, std::string> all;
  const auto put = [&](const char* name, const auto& value) { all[name] = fmt::format("{}", value); };
  const auto& [output, duration, batch, accumulate, schedule, warmup, plateau, optimizer, groups,
               max_grad_norm, ema, loss, bfloat16, gradient_checkpointing, seed, checkpoints, report, ranks,
               local, shard_optimizer, layers] = options;
  const auto& [steps, epochs, minutes] = duration;
  const auto& [validate_every, save_every, best, patience, keep, average, resume, save_batches] = checkpoints;
  put("output", output.string());
  put("steps", steps), put("epochs", epochs), put("minutes", minutes);
  put("accumulate", accumulate), put("warmup", warmup), put("max_grad_norm", max_grad_norm), put("ema", ema);
  put("bfloat16", bfloat16), put("gradient_checkpointing", gradient_checkpointing), put("seed", seed);
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
  const auto& [by, plateau_patience, threshold, min_factor, higher_is_better] = plateau;
  put("plateau.by", by), put("plateau.patience", plateau_patience), put("plateau.threshold", threshold);
  put("plateau.min_factor", min_factor);
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
  const auto optimizer = [](const char* name) { return [=](Recipe& r) { r.optimizer.name = name; }; };
  const auto schedule = [](const char* name) { return [=](Recipe& r) { r.schedule.name = name; }; };
  return {
      {"output", [](Recipe& r) { r.output = "there"; }},
      {"steps", [](Recipe& r) { r.duration.steps = 7; }},
      {"epochs", [](Recipe& r) { r.duration.epochs = 7; }},
      {"minutes", [](Recipe& r) { r.duration.minutes = 7; }},
      {"patience", [](Recipe& r) { r.checkpoints.patience = 7; }},
      {"batch_tokens", [](Recipe& r) { r.batch.tokens = 7; }},
      {"batch_size", [](Recipe& r) { r.batch.size = 7; }},
      {"accumulate", [](Recipe& r) { r.batch.accumulate = 7; }},
      {"optimizer", optimizer("lion")},
      {"learning_rate", [](Recipe& r) { r.optimizer.learning_rate = 0.5; }},
      {"beta1", [](Recipe& r) { r.optimizer.beta1 = 0.5; }},
      {"beta2", [](Recipe& r) { r.optimizer.beta2 = 0.5; }},
      {"epsilon", [](Recipe& r) { r.optimizer.epsilon = 0.5; }},
      {"weight_decay", [](Recipe& r) { r.optimizer.weight_decay = 0.5; }},
      {"max_grad_norm", [](Recipe& r) { r.optimizer.max_grad_norm = 0.5; }},
      {"warmup", [](Recipe& r) { r.schedule.warmup = 5; }},
      {"momentum", [](Recipe& r) { r.optimizer.momentum = 0.5; }, optimizer("sgd")},
      {"nesterov", [](Recipe& r) { r.optimizer.nesterov = true; }, optimizer("sgd")},
      {"momentum of muon", [](Recipe& r) { r.optimizer.momentum = 0.5; }, optimizer("muon")},
      {"no nesterov in muon", [](Recipe& r) { r.optimizer.nesterov = false; }, optimizer("muon")},
      {"ns_steps", [](Recipe& r) { r.optimizer.ns_steps = 7; }, optimizer("muon")},
      {"adjust_lr_fn", [](Recipe& r) { r.optimizer.adjust_lr_fn = "original"; }, optimizer("muon")},
      {"beta1 of adafactor", [](Recipe& r) { r.optimizer.beta1 = 0.5; }, optimizer("adafactor")},
      {"epsilon of adafactor", [](Recipe& r) { r.optimizer.epsilon = 0.5; }, optimizer("adafactor")},
      {"clip_threshold", [](Recipe& r) { r.optimizer.clip_threshold = 0.5; }, optimizer("adafactor")},
      {"decay_rate", [](Recipe& r) { r.optimizer.decay_rate = -0.5; }, optimizer("adafactor")},
      {"relative_step", [](Recipe& r) { r.optimizer.relative_step = true; }, optimizer("adafactor")},
      {"warmup_init", [](Recipe& r) { r.optimizer.warmup_init = true; },
       [](Recipe& r) { r.optimizer.name = "adafactor", r.optimizer.relative_step = true; }},
      {"rate_by_size", [](Recipe& r) { r.optimizer.rate_by_size = true; }},
      {"schedule", schedule("cosine")},
      {"min_rate", [](Recipe& r) { r.schedule.min_rate = 1e-6; }},
      {"cooldown", [](Recipe& r) { r.schedule.cooldown = 7; }},
      {"power", [](Recipe& r) { r.schedule.power = 2; }, schedule("polynomial")},
      {"num_cycles", [](Recipe& r) { r.schedule.num_cycles = 3; }, schedule("cosine-with-restarts")},
      {"num_cycles of cosine", [](Recipe& r) { r.schedule.num_cycles = 1.5; }, schedule("cosine")},
      {"plateau_factor", [](Recipe& r) { r.schedule.plateau_factor = 0.5; }, schedule("reduce-on-plateau")},
      {"plateau_patience", [](Recipe& r) { r.schedule.plateau_patience = 3; }, schedule("reduce-on-plateau")},
      {"plateau_threshold", [](Recipe& r) { r.schedule.plateau_threshold = 0.5; },
       schedule("reduce-on-plateau")},
      {"min_rate of a plateau", [](Recipe& r) { r.schedule.min_rate = 1e-6; }, schedule("reduce-on-plateau")},
      {"layer_decay", [](Recipe& r) { r.optimizer.layer_decay = 0.5; }},
      {"head_rate", [](Recipe& r) { r.optimizer.head_rate = 5; }},
      {"freeze", [](Recipe& r) { r.optimizer.freeze = {"embeddings"}; }},
      {"ema", [](Recipe& r) { r.optimizer.ema = 0.5; }},
      {"precision", [](Recipe& r) { r.computation.precision = "bfloat16"; }},
      {"gradient_checkpointing", [](Recipe& r) { r.computation.gradient_checkpointing = true; }},
      {"seed", [](Recipe& r) { r.computation.seed = 7; }},
      {"label_smoothing", [](Recipe& r) { r.loss.label_smoothing = 0.5; }},
      {"r_drop", [](Recipe& r) { r.loss.r_drop = 0.5; }},
      {"validate_every", [](Recipe& r) { r.checkpoints.validate_every = 7; }},
      {"save_every", [](Recipe& r) { r.checkpoints.save_every = 7; }},
      {"best", [](Recipe& r) { r.checkpoints.best = "f1"; }},
      {"keep", [](Recipe& r) { r.checkpoints.keep = 7; }},
      {"average", [](Recipe& r) { r.checkpoints.average = 7; }},
      {"save_batches", [](Recipe& r) { r.checkpoints.save_batches = "there"; }},
      {"resume", [](Recipe& r) { r.checkpoints.resume = true; }},
      {"shard_optimizer", [](Recipe& r) { r.processes.shard_optimizer = true; }},
      {"shard_optimizer", [](Recipe& r) { r.processes.shard_weights = true; }},
      {"local_steps", [](Recipe& r) { r.processes.local_steps = 7; }},
      {"outer_rate", [](Recipe& r) { r.processes.outer_rate = 0.5; },
       [](Recipe& r) { r.processes.local_steps = 7; }},
      {"outer_momentum", [](Recipe& r) { r.processes.outer_momentum = 0.5; },
       [](Recipe& r) { r.processes.local_steps = 7; }},
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

// Each option that needs something is an error without it, whatever its type.
TEST(Recipe, NoOptionIsIgnored) {
  Recipe usual;
  int tried = 0;
  for (const Option& option : options_of(usual)) {
    if (!option.needs || option.needs->values.empty() || option.needs->options.front() != "objective")
      continue;
    Recipe recipe, untouched;
    const std::vector<std::string>& values = option.needs->values;
    for (const char* objective : {"next-sentence", "classification", "masked-images"})
      if (std::ranges::find(values, objective) == values.end()) recipe.objective = objective;
    untouched.objective = recipe.objective;
    for (const Option& same : options_of(recipe))
      if (same.name == option.name) same.set(example_of(same.schema));
    ++tried;
    EXPECT_ERROR(
        fmt::format("`{}`: it has no effect with `objective` {}; it is for", option.name, recipe.objective),
        check_effects(options_of(recipe), options_of(untouched), options_of(recipe)));
  }
  EXPECT_GE(tried, 25);
}

TEST(Recipe, ValuesOutOfRangeAreRefused) {
  const auto refusal = [](const std::function<void(Recipe&)>& say) {
    Recipe recipe = usual();
    say(recipe);
    return refusal_of(recipe);
  };
  EXPECT_EQ(refusal([](Recipe& r) { r.computation.dropout = -1; }),
            "`dropout`: expected a number from 0 to 0.999, found -1.0");
  EXPECT_EQ(refusal([](Recipe& r) { r.adapter.lora_kind = "dorra"; }),
            "`lora_kind`: expected one of lora, rslora, dora, found \"dorra\"");
  EXPECT_EQ(refusal([](Recipe& r) { r.checkpoints.keep = 0; }),
            "`keep`: expected an integer of at least 1, found 0");
}

// An option's value can be read back as it was set, and every option has one sentence.
TEST(Recipe, OptionsAreReadAsTheyWereSet) {
  Recipe recipe;
  std::set<std::string> names;
  for (const Option& option : options_of(recipe)) {
    const Json value = example_of(option.schema);
    option.set(value);
    EXPECT_TRUE(option.get() == value || option.get() == Json::array({value})) << option.name;
    EXPECT_FALSE(option.description.empty() || option.description.ends_with('.')) << option.name;
    names.insert(option.name);
    for (const std::string& alias : option.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
  }
  EXPECT_GE(names.size(), 100u);
}

TEST(Recipe, AnOptionWithoutEffectIsRefused) {
  const auto refuses = [](const char* why, const std::function<void(Recipe&)>& say,
                          const std::string& objective = "classification") {
    Recipe recipe = usual(objective);
    say(recipe);
    const std::string error = refusal_of(recipe);
    EXPECT_TRUE(contains(error, why)) << error;
  };
  refuses("`power`: it has no effect with `schedule` linear; it is for polynomial",
          [](Recipe& r) { r.schedule.power = 2; });
  refuses("`num_cycles`: it has no effect with `schedule` polynomial; it is for cosine, cosine-with-restarts",
          [](Recipe& r) { r.schedule.name = "polynomial", r.schedule.num_cycles = 2; });
  refuses("`min_rate`: it has no effect with `schedule` constant",
          [](Recipe& r) { r.schedule.name = "constant", r.schedule.min_rate = 1e-6; });
  refuses("`plateau_factor`: it has no effect with `schedule` linear",
          [](Recipe& r) { r.schedule.plateau_factor = 0.5; });
  refuses("`nesterov`: it has no effect with `optimizer` adamw; it is for sgd, muon",
          [](Recipe& r) { r.optimizer.nesterov = true; });
  refuses("`beta2`: it has no effect with `optimizer` sgd",
          [](Recipe& r) { r.optimizer.name = "sgd", r.optimizer.beta2 = 0.5; });
  refuses("`clip_threshold`: it has no effect with `optimizer` adamw; it is for adafactor",
          [](Recipe& r) { r.optimizer.clip_threshold = 1; });
  refuses("`warmup_init`: it has no effect without `relative_step`",
          [](Recipe& r) { r.optimizer.name = "adafactor", r.optimizer.warmup_init = true; });
  refuses("`relative_step`: it makes the rate itself", [](Recipe& r) {
    r.optimizer.name = "adafactor", r.optimizer.relative_step = true, r.optimizer.learning_rate = 1e-3;
  });
  refuses("`length`: it has no effect with `objective` classification",
          [](Recipe& r) { r.data.length = 64; });
  refuses("`mask_rate`: it has no effect with `objective` classification",
          [](Recipe& r) { r.noise.mask_rate = 0.3; });
  refuses(
      "`columns`: it has no effect with `objective` masked-lm",
      [](Recipe& r) { r.data.columns = "text=1", r.duration.steps = 1; }, "masked-lm");
  refuses("`lora_alpha`: it has no effect without `lora`", [](Recipe& r) { r.adapter.lora_alpha = 8; });
  refuses("`temperature`: it has no effect without `teacher`",
          [](Recipe& r) { r.distillation.temperature = 3; });
  refuses("`optimizer`: expected one of adamw, adafactor, sgd, lion, muon, found \"adam\"",
          [](Recipe& r) { r.optimizer.name = "adam"; });
  refuses("`schedule` cosin: expected one of", [](Recipe& r) { r.schedule.name = "cosin"; });
}

TEST(Recipe, WhatCountsValidationsNeedsThem) {
  const auto refuses = [](const char* why, const std::function<void(Recipe&)>& say) {
    Recipe recipe = usual();
    recipe.validation.clear();
    say(recipe);
    const std::string error = refusal_of(recipe);
    EXPECT_TRUE(contains(error, why)) << error;
  };
  refuses("`patience` 2: it needs validation data: say `validation` FILE; without it `epochs`",
          [](Recipe& r) { r.checkpoints.patience = 2; });
  refuses("`best` f1: it needs validation data", [](Recipe& r) { r.checkpoints.best = "f1"; });
  refuses("`schedule` reduce-on-plateau: it needs validation data",
          [](Recipe& r) { r.schedule.name = "reduce-on-plateau"; });
}

// A limit in minutes does not determine the number of steps, but the warm-up is a fraction of them.
TEST(Recipe, FineTuningWithALimitInMinutesHasAPlanInEpochs) {
  Recipe limited = usual();
  limited.duration.minutes = 1;
  const Recipe whole = completed(limited);
  EXPECT_EQ(whole.duration.epochs, 3);
  EXPECT_EQ(whole.duration.minutes, 1);
  EXPECT_EQ(warmup_steps(*whole.schedule.warmup, 1000), 60);

  Recipe said = limited;  // the warm-up in steps, and a schedule without an end: minutes are the only limit
  said.schedule.warmup = 100;
  EXPECT_EQ(completed(said).duration.epochs, 3) << "a linear schedule needs an end";
  said.schedule.name = "constant";
  EXPECT_EQ(completed(said).duration.epochs, 0);

  limited.duration.steps = 10;
  EXPECT_EQ(completed(limited).duration.epochs, 0);
}

TEST(Recipe, PatienceAloneIsAPlan) {
  Recipe patient = usual();
  patient.checkpoints.patience = 2;
  EXPECT_EQ(completed(patient).duration.epochs, 20);
  patient.checkpoints.patience = 10;
  EXPECT_EQ(completed(patient).duration.epochs, 50);
  patient.duration.epochs = 4;
  EXPECT_EQ(completed(patient).duration.epochs, 4);
  patient.duration.epochs = 0;
  patient.schedule.name = "constant";
  patient.schedule.warmup = 0;
  EXPECT_EQ(completed(patient).duration.epochs, 0) << "nothing needs an end";
}

}  // namespace
}  // namespace attend
