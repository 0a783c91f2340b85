// Contradictions in a recipe, and options without effect: both are errors, because the run would silently
// differ from what the user expects.
#include "training/recipe.h"

#include <algorithm>
#include <initializer_list>

namespace attend {
namespace {

using Names = std::vector<std::string_view>;

Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Names kImages = {"image-classification", "masked-images"};
const Names kTextTables = {"classification",     "regression",      "multi-label", "token-classification",
                           "question-answering", "multiple-choice", "pairs",       "scored-pairs"};
const Names kMasks = {"masked-lm", "next-sentence", "sentence-order", "replaced-tokens", "translation-lm"};
const Names kSpans = {"span-corruption", "denoising", "permutation-lm"};
const Names kDocuments = {"causal-lm",      "masked-lm",       "next-sentence",
                          "sentence-order", "replaced-tokens", "permutation-lm"};
const Names kTalks = {"chat", "preferences"};
const Names kReadTwice = {"sequence-to-sequence", "causal-lm",           "chat", "classification",
                          "token-classification", "image-classification"};

// An option, whether the recipe sets it, and the condition under which it has an effect.
struct Use {
  const char* option;
  bool given;
  Names with;
};

// Fails at the first option that is given and has no effect with `chosen`, the value of the option `by`.
void check_uses(const char* by, const std::string& chosen, const std::vector<Use>& uses) {
  for (const Use& use : uses)
    if (use.given && std::ranges::find(use.with, chosen) == use.with.end())
      fail("{}: it has no effect with {} {}; it is for {}", use.option, by, chosen,
           fmt::join(use.with, ", "));
}

}  // namespace

std::vector<std::string> translation_figures() {
  return {"bleu", "chrf", "rouge1", "rouge2", "rougeL", "rougeLsum"};
}

bool measures_translations(const Recipe& recipe) {
  const std::vector<std::string> figures = translation_figures();
  return recipe.bleu || (recipe.objective == "sequence-to-sequence" &&
                         std::ranges::find(figures, recipe.best) != figures.end());
}

void check_objective_options(const Recipe& r) {
  const Recipe usual;
  const auto given = [&](auto field) { return r.*field != usual.*field; };
  check_uses("--objective", r.objective,
             {{"--columns", given(&Recipe::columns), kTextTables + kImages},
              {"--format", given(&Recipe::format), kTextTables + kImages},
              {"--length", given(&Recipe::length), Names{"causal-lm"} + kMasks + kSpans},
              {"--max-length", given(&Recipe::max_length),
               Names{"causal-lm", "sequence-to-sequence"} + kTextTables + kTalks + kMasks + kSpans},
              {"--template", given(&Recipe::chat_template), kTalks},
              {"--reference", given(&Recipe::reference), {"preferences"}},
              {"--beta", given(&Recipe::beta), {"preferences"}},
              {"--loss-type", given(&Recipe::loss_type), {"preferences"}},
              {"--languages", given(&Recipe::languages), {"masked-lm", "replaced-tokens", "translation-lm"}},
              {"--bpe-dropout", given(&Recipe::bpe_dropout), {"sequence-to-sequence"}},
              {"--bleu", given(&Recipe::bleu), {"sequence-to-sequence"}},
              {"--cache", given(&Recipe::cache), kDocuments},
              {"--mask-rate", given(&Recipe::mask_rate), kMasks + kSpans + Names{"masked-images"}},
              {"--whole-words", given(&Recipe::whole_words), kMasks},
              {"--ngram", given(&Recipe::ngram), kMasks},
              {"--mean-span", given(&Recipe::mean_span), kSpans},
              {"--permute-sentences", given(&Recipe::permute_sentences), {"denoising"}},
              {"--rotate", given(&Recipe::rotate), {"denoising"}},
              {"--delete-rate", given(&Recipe::delete_rate), {"denoising"}},
              {"--infilling", given(&Recipe::infilling), {"denoising"}},
              {"--augment-shift", given(&Recipe::augment_shift), kImages},
              {"--augment-flip", given(&Recipe::augment_flip), kImages},
              {"--r-drop", given(&Recipe::r_drop), kReadTwice},
              {"--generator", given(&Recipe::generator), {"replaced-tokens"}},
              {"--discriminator-weight", given(&Recipe::discriminator_weight), {"replaced-tokens"}},
              {"--scale", given(&Recipe::scale), {"pairs"}},
              {"--matryoshka", given(&Recipe::matryoshka), {"pairs", "scored-pairs"}}});
}

namespace {

void check_optimizer_options(const Recipe& r) {
  const Recipe usual;
  const auto given = [&](auto field) { return r.*field != usual.*field; };
  check_uses("--optimizer", r.optimizer,
             {{"--beta1", given(&Recipe::beta1), {"adamw", "lion", "adafactor", "muon"}},
              {"--beta2", given(&Recipe::beta2), {"adamw", "lion", "muon"}},
              {"--epsilon", given(&Recipe::epsilon), {"adamw", "adafactor", "muon"}},
              {"--momentum", given(&Recipe::momentum), {"sgd", "muon"}},
              {"--nesterov", given(&Recipe::nesterov), {"sgd", "muon"}},
              {"--clip-threshold", given(&Recipe::clip_threshold), {"adafactor"}},
              {"--decay-rate", given(&Recipe::decay_rate), {"adafactor"}},
              {"--relative-step", r.relative_step, {"adafactor"}},
              {"--ns-steps", given(&Recipe::ns_steps), {"muon"}},
              {"--adjust-lr-fn", given(&Recipe::adjust_lr_fn), {"muon"}}});
  if (r.warmup_init && !r.relative_step) fail("--warmup-init: it is for --relative-step, which is not given");
  if (r.relative_step && (r.rate || r.warmup || !r.schedule.empty() || r.cooldown != 0))
    fail(
        "--relative-step: it makes the rate itself; leave out --rate, --schedule, --warmup and --cooldown, "
        "or "
        "leave out --relative-step");
}

// `schedule`: the chosen one, or the objective's default.
void check_schedule_options(const Recipe& r, const std::string& schedule) {
  const Recipe usual;
  const auto given = [&](auto field) { return r.*field != usual.*field; };
  const Names plateau = {"reduce-on-plateau"};
  check_uses("--schedule", schedule,
             {{"--power", given(&Recipe::power), {"polynomial"}},
              {"--num-cycles", given(&Recipe::num_cycles), {"cosine", "cosine-with-restarts"}},
              {"--min-rate",
               given(&Recipe::min_rate),
               {"linear", "cosine", "cosine-with-restarts", "polynomial", "trapezoid", "warmup-stable-decay",
                "reduce-on-plateau"}},
              {"--plateau-factor", given(&Recipe::plateau_factor), plateau},
              {"--plateau-patience", given(&Recipe::plateau_patience), plateau},
              {"--plateau-threshold", given(&Recipe::plateau_threshold), plateau}});
}

// Options that belong to another schedule.
void check_companions(const Recipe& r) {
  const Recipe usual;
  const auto given = [&](auto field) { return r.*field != usual.*field; };
  const bool taught = !r.teacher.empty(), new_adapter = adapter_options(r).has_value();
  const struct {
    const char* option;
    bool given, has_it;
    const char* needs;
  } rules[] = {
      {"--temperature", given(&Recipe::temperature), taught, "--teacher"},
      {"--soft-weight", given(&Recipe::soft_weight), taught, "--teacher"},
      {"--hard-weight", given(&Recipe::hard_weight), taught, "--teacher"},
      {"--hidden-weight", given(&Recipe::hidden_weight), taught, "--teacher"},
      {"--lora-alpha", given(&Recipe::lora_alpha), r.lora > 0, "--lora"},
      {"--lora-dropout", given(&Recipe::lora_dropout), r.lora > 0, "--lora"},
      {"--lora-kind", given(&Recipe::lora_kind), r.lora > 0, "--lora"},
      {"--lora-init", given(&Recipe::lora_init), r.lora > 0, "--lora"},
      {"--lora-targets", given(&Recipe::lora_targets), r.lora > 0 || r.ia3, "--lora or --ia3"},
      {"--lora-bias", given(&Recipe::lora_bias), new_adapter, "--lora"},
      {"--modules-to-save", given(&Recipe::modules_to_save), new_adapter,
       "--lora, --ia3, --prefix or --prompt"},
      {"--lowercase-bleu", r.lowercase, measures_translations(r), "--bleu"},
  };
  for (const auto& rule : rules)
    if (rule.given && !rule.has_it) fail("{}: it has no effect without {}", rule.option, rule.needs);
}

void check_validation(const Recipe& r) {
  if (!r.validation.empty()) return;
  const char* const advice = "it needs validation data: say --validation FILE";
  if (r.patience > 0)
    fail("--patience {}: {}; without it --epochs, --steps or --max-minutes says when to stop", r.patience,
         advice);
  if (!r.best.empty()) fail("--best {}: {}", r.best, advice);
  if (r.bleu) fail("--bleu: {}", advice);
  if (r.schedule == "reduce-on-plateau") fail("--schedule reduce-on-plateau: {}", advice);
}

void check_processes(const Recipe& r) {
  if (r.timeout <= 0) fail("--timeout {:g}: expected seconds, above 0", r.timeout);
  if (r.local_steps == 0) return;
  if (r.local_steps < 0) fail("--local-steps {}: expected a number of steps", r.local_steps);
  if (r.shard_optimizer)
    fail(
        "--local-steps and --shard-optimizer: each process goes its own steps, for which it needs a whole "
        "optimizer");
  if (r.ema > 0)
    fail("--local-steps and --ema: the weights are those of all only where processes meet; leave --ema out");
}

}  // namespace

void check_recipe(const Recipe& given, const Recipe& whole) {
  parse_optimizer(given.optimizer);
  if (!given.relative_step) parse_schedule(whole.schedule);
  check_objective_options(given);
  check_optimizer_options(given);
  check_schedule_options(given, whole.schedule);
  check_companions(given);
  check_validation(given);
  check_processes(given);
  if (whole.steps <= 0 && whole.epochs <= 0 && whole.minutes <= 0 && whole.patience <= 0)
    fail("say when to stop: --steps, --epochs, --max-minutes or --patience");
  if (given.generator.empty() && given.objective == "replaced-tokens")
    fail("--generator: --objective replaced-tokens needs one");
  if (given.precision != "float32" && given.precision != "bfloat16")
    fail("--precision {}: expected float32 or bfloat16", given.precision);
}

}  // namespace attend
