// From a recipe to a trained model: data, labels, network, the loop.
#include <attend/training.h>

#include "base/directory.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "models/checkpoint/weight_reader.h"
#include "models/derived/companions.h"
#include "models/derived/shrink.h"
#include "nn/linear/linear.h"
#include "objectives/distillation.h"
#include "objectives/shared/label_choice.h"
#include "tensor/device.h"
#include "training/fresh_head.h"
#include "training/logs/samples.h"
#include "training/measured_model.h"
#include "training/processes/sharded_layers.h"
#include "training/recipe.h"
#include "training/translation_scores.h"

#include <algorithm>
#include <limits>

#include <unistd.h>

namespace attend {
namespace {

// Everything that a recipe names, loaded and checked against each other.
struct Workshop {
  const ObjectiveKind& kind;
  ModelDirectory directory;
  std::string architecture;
  ModelSpec spec;
  TokenizerPair tokenizers;

  // `start`: the directory of the initial model.
  Workshop(const Recipe& recipe, const ModelPath& start)
      : kind(find_objective(recipe.objective)), directory(start) {
    const Family& family = find_family(directory.config());
    const std::vector<std::string> own = directory.architectures();
    architecture = architecture_for(family, kind.head, own.empty() ? std::string() : own.front());
    spec = family.spec(directory.config(), architecture);
    if (!spec.encoder_family.empty() && spec.share_embeddings)
      fail(
          "{}: tie_encoder_decoder: a model whose encoder and decoder are one is not trained, for in "
          "training "
          "each has weights of its own; set it to false, and both begin alike",
          directory.config().source());
    if (!reads_images()) tokenizers = TokenizerPair::from_file(directory.path());
  }

  bool reads_images() const { return spec.encoder && spec.encoder->patches; }

  Setting setting(const Recipe& recipe, const std::vector<std::string>& files, bool held_out,
                  std::optional<Labels> labels) const {
    return {recipe, directory, spec, tokenizers, files, held_out, std::move(labels)};
  }

  // The labels of the model's own head, if it fits the objective.
  std::optional<Labels> head_labels() const {
    if (!spec.score_head) return {};
    const std::vector<std::string> own = directory.architectures();
    if (own.empty() ? !holds_head() : own.front() != architecture) return {};
    return Labels{read_labels(directory.config()), spec.score_head->problem};
  }

  // Logs if a length is reduced to the model's maximum.
  void check_length(const Recipe& recipe) const {
    std::int64_t readable = std::numeric_limits<std::int64_t>::max();
    const Setting all = setting(recipe, recipe.train, false, {});
    for (const auto& stack : {spec.encoder, spec.decoder})
      if (stack && !reads_images()) readable = std::min(readable, readable_tokens(all, *stack));
    if (const std::int64_t wanted = wanted_length(recipe); wanted > readable)
      inform("{} {}: the model reads {} tokens at most, and so the length is {}",
             recipe.data.length > 0 ? "`length`" : "`max_length`", wanted, readable, readable);
  }

 private:
  // Whether the checkpoint has the head, if config.json names no architecture.
  bool holds_head() const {
    const Family& family = find_family(directory.config());
    const WeightFiles checkpoint = directory.weight_files();
    const WeightSource out = find_source(family.weights(spec), "score_head.out.weight");
    return std::ranges::any_of(spellings(out.names.front(), family.prefix),
                               [&](const std::string& name) { return checkpoint.find(name) != nullptr; });
  }
};

// The directory to start from: the recipe's own, or OUTPUT/student with some of its layers, which overwrites
// files of a killed run.
class Start {
 public:
  // `first`: whether this is the process that writes OUTPUT.
  Start(const Recipe& recipe, bool first)
      : path_(recipe.model), made_(!recipe.distillation.keep_layers.empty()) {
    if (!made_) return;
    path_ = first ? recipe.output / "student"
                  : std::filesystem::temp_directory_path() / fmt::format("attend-student-{}", getpid());
    shrink_model(ModelDirectory(recipe.model), recipe.distillation.keep_layers, path_.directory);
  }
  ~Start() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_.directory, ignored);
  }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  const ModelPath& path() const { return path_; }

 private:
  ModelPath path_;
  bool made_;
};

// The content of run.html before there are metrics.
Report describe(const Recipe& r, const Trainee& trainee, const Objective& objective,
                const Objective* held_out) {
  const auto limit = [](std::int64_t max) { return max > 0 ? std::to_string(max) : "any number of"; };
  std::int64_t numbers = 0, tokens = 0;
  for (const Tensor& weight : trainee.weights()) numbers += weight.numel();
  for (std::int64_t i = 0; i < objective.examples(); ++i) tokens += objective.tokens(i);
  Report report;
  report.title = fmt::format("{}: {}", r.objective, r.output.filename().string());
  report.recipe = {
      {"objective", r.objective},
      {"model", r.model.directory.string()},
      {"architecture", fmt::format("{}, {} numbers", trainee.model().architecture(), numbers)},
      {"train", fmt::format("{}", fmt::join(r.train, " "))},
      {"validation", fmt::format("{}", fmt::join(r.validation, " "))},
      {"optimizer", fmt::format("{}, rate {:g}{}, {}, warm-up {:g}, decay {:g}, clip {:g}", r.optimizer.name,
                                *r.optimizer.learning_rate, r.optimizer.rate_by_size ? " times sizes" : "",
                                r.schedule.name, *r.schedule.warmup, *r.optimizer.weight_decay,
                                *r.optimizer.max_grad_norm)},
      {"batch",
       fmt::format("{} tokens, {} examples at most, {} to a step", limit(*r.batch.tokens % unlimited_tokens),
                   limit(*r.batch.size), r.batch.accumulate)},
      {"precision", r.computation.precision},
      {"seed", std::to_string(r.computation.seed)}};
  report.data = {{"examples", std::to_string(objective.examples())}, {"tokens", std::to_string(tokens)}};
  if (held_out != nullptr) report.data.emplace_back("held out", std::to_string(held_out->examples()));
  return report;
}

// An existing adapter that continues training keeps its head.
void check_head_of_adapter(const Recipe& recipe, const PretrainedModel& model) {
  if (recipe.fresh_head || !model.fresh_modules().empty())
    fail(
        "`adapter` {}: it goes on learning with the head that it has, and this run needs a new one; give the "
        "data the labels that it knows, or train a new adapter (`lora`)",
        recipe.model.adapters.front().directory.string());
}

// Rejects an unknown --best metric before the first step.
void check_best(const Recipe& recipe, const Objective& held_out) {
  if (recipe.checkpoints.best.empty()) return;
  std::vector<std::string> names = score_names(held_out);
  if (measures_translations(recipe))
    for (const std::string& figure : translation_figures()) names.push_back(figure);
  if (std::ranges::find(names, recipe.checkpoints.best) == names.end())
    fail("`best` {}: expected one of the figures of {}: {}", recipe.checkpoints.best, recipe.objective,
         fmt::join(names, ", "));
}

// The precision of a device's products, during a run. On the CPU, Pass::bfloat16 sets it.
class DevicePrecision {
 public:
  DevicePrecision(const std::string& precision, ops::Device* device) : device_(device) {
    if (device_ != nullptr && precision != "float32")
      device_->set_factors(precision == "tf32" ? ops::DeviceFactors::tf32 : ops::DeviceFactors::bfloat16);
    else if (device_ == nullptr && precision == "tf32")
      fail("`precision` tf32: it is for GPUs (`device` cuda); the CPU has float32 and bfloat16");
    else if (device_ == nullptr && precision == "bfloat16" && !Bfloat16Products::available())
      inform("this machine has no instructions for bfloat16 (AVX512_BF16): training in float32");
  }
  ~DevicePrecision() {
    if (device_ != nullptr) device_->set_factors(ops::DeviceFactors::float32);
  }
  DevicePrecision(const DevicePrecision&) = delete;
  DevicePrecision& operator=(const DevicePrecision&) = delete;

 private:
  ops::Device* device_;
};

// As one of `ranks` processes; only the first writes to OUTPUT.
TrainingEnd train_together(const Recipe& given, const std::function<bool()>& stop, Ranks& ranks) {
  std::optional<DirectoryLock> lock;
  if (ranks.first()) {
    make_directories(given.output);
    lock.emplace(given.output);
  }
  const Start start(given, ranks.first());
  const Workshop shop(given, start.path());
  const StackSpec& stack = shop.spec.decoder ? *shop.spec.decoder : *shop.spec.encoder;
  const Recipe recipe = complete(given, shop.kind, stack.embeddings.width);
  Setting setting = shop.setting(recipe, recipe.train, false, {});
  // A student learns its teacher's labels.
  if (recipe.distillation.teacher.empty() && !recipe.fresh_head) setting.head_labels = shop.head_labels();
  shop.check_length(recipe);
  const std::unique_ptr<Objective> objective =
      recipe.distillation.teacher.empty() ? shop.kind.make(setting) : distil(shop.kind, setting);
  const std::optional<Labels> labels = objective->labels();
  std::optional<AdapterOptions> wanted = adapter_options(recipe);
  const bool adapts = wanted.has_value() || !recipe.model.adapters.empty();
  std::shared_ptr<ShardedLayers> layers;
  if (recipe.processes.shard_weights && !ranks.alone()) layers = std::make_shared<ShardedLayers>(ranks);
  AfterReading keep_own;  // a new adapter may read the weights first
  if (layers && !adapts)
    keep_own = [&](const Transformer& network, const Tensor& parameter) {
      layers->keep_own(network, parameter);
    };
  Trainee trainee(PretrainedModel::load(
      shop.directory, {.purpose = Purpose::training,
                       .architecture = shop.architecture,
                       .dropout = {recipe.computation.dropout, recipe.computation.attention_dropout,
                                   recipe.computation.activation_dropout},
                       .fresh = FreshHead{recipe.computation.seed, labels},
                       .only_adapter_learns = adapts,
                       .modules_to_save = wanted ? wanted->modules_to_save : std::vector<std::string>(),
                       .after_reading = keep_own}));
  const DevicePrecision precision(recipe.computation.precision, trainee.model().device());
  if (!recipe.model.adapters.empty()) check_head_of_adapter(recipe, trainee.model());
  if (shop.kind.join != nullptr) shop.kind.join(trainee, setting);
  std::vector<std::string> drawn;
  // A head for numbers and one for classes may have the same shape.
  const bool other_problem =
      setting.head_labels && labels && !has_learned(*setting.head_labels, labels->problem);
  if (recipe.fresh_head || other_problem) drawn = draw_head(trainee.model(), recipe.computation.seed);
  if (wanted) {
    wanted->modules_to_save.insert(wanted->modules_to_save.end(), drawn.begin(), drawn.end());
    trainee.adapt(*wanted, adapter_task(recipe.objective), recipe.computation.seed);
  }
  for (const Transformer& network : trainee.networks())
    if (layers) layers->shard(network);
  std::unique_ptr<Objective> held_out;
  if (!recipe.validation.empty()) {
    Setting validation = shop.setting(recipe, recipe.validation, true, labels);
    validation.score_range = objective->score_range();
    held_out = shop.kind.make(validation);
    check_best(recipe, *held_out);
  }

  TrainingHooks hooks;
  hooks.stop = stop;
  hooks.write_extra_files = [&](const std::filesystem::path& output) {
    const std::filesystem::path own = ModelDirectory(recipe.model).path();
    copy_companions(own, output);
    if (!recipe.generator.empty()) copy_companions(own, output / "generator");
    if (shop.kind.write_extra_files != nullptr) shop.kind.write_extra_files(setting, output);
  };
  if (measures_translations(recipe)) hooks.measure = greedy_translation(recipe, shop.tokenizers, ranks);
  hooks.sample = make_sampler(recipe, shop.spec, shop.tokenizers, held_out.get());
  TrainingOptions options = training_options(recipe);
  options.ranks = &ranks;
  options.layers = layers.get();
  options.report = describe(recipe, trainee, *objective, held_out.get());
  return train(trainee, *objective, held_out.get(), options, hooks);
}

}  // namespace

TrainingEnd v1::train(const Recipe& recipe, const std::function<bool()>& stop) {
  const std::unique_ptr<Ranks> ranks = Ranks::join(recipe.processes.timeout);
  if (!ranks->first()) set_quiet(true);
  if (!ranks->alone()) inform("{} processes train together", ranks->size());
  try {
    const TrainingEnd end = train_together(recipe, stop, *ranks);
    ranks->leave();
    return end;
  } catch (const std::exception& error) {
    ranks->fails_with(error.what());
    throw;
  }
}

namespace {

// The objective by which a language model is measured.
std::string language_model(const ModelDirectory& directory) {
  const std::vector<std::string> names = directory.architectures();
  const std::string own = names.empty() ? std::string() : names.front();
  if (has_head(own, Head::causal_language_model)) return "causal-lm";
  if (has_head(own, Head::masked_language_model) || has_head(own, Head::pretraining)) return "masked-lm";
  fail("{}: expected a causal or a masked language model, found {}", directory.path().string(),
       own.empty() ? "a config.json without architectures" : own);
}

// A new head would give random labels.
void check_head(const Workshop& shop, const std::string& objective) {
  const std::vector<std::string> own = shop.directory.architectures();
  if (own.empty() || own.front() == shop.architecture || !shop.spec.score_head) return;
  fail("{}: expected {}, found {}; training with the objective {} gives it one",
       shop.directory.path().string(), describe(shop.kind.head), own.front(), objective);
}

}  // namespace

struct MeasuredModel::Parts {
  Recipe recipe;
  Workshop shop;
  PretrainedModel model;
  std::optional<Labels> labels;
  std::unique_ptr<Objective> objective;

  explicit Parts(const Recipe& given) : recipe(named(given)), shop(recipe, recipe.model), model(load()) {
    shop.check_length(recipe);
    if (model.network()->spec().score_head) labels = Labels{read_labels(model.config()), {}};
    objective = shop.kind.make(shop.setting(recipe, recipe.train, true, labels));
  }

 private:
  static Recipe named(Recipe recipe) {
    if (recipe.objective == "language-model") recipe.objective = language_model(ModelDirectory(recipe.model));
    check_objective_options(recipe);
    return recipe;
  }
  PretrainedModel load() const {
    check_head(shop, recipe.objective);
    return PretrainedModel::load(shop.directory, {.architecture = shop.architecture, .packs = false})
        .with_adapter({});
  }
};

MeasuredModel::MeasuredModel(const Recipe& recipe) : parts_(std::make_unique<Parts>(recipe)) {}
MeasuredModel::~MeasuredModel() = default;

const PretrainedModel& MeasuredModel::model() const {
  return parts_->model;
}

const std::string& MeasuredModel::objective() const {
  return parts_->recipe.objective;
}

std::vector<Score> MeasuredModel::measure(const ScoreListener& listener) const {
  const Recipe& recipe = parts_->recipe;
  Trainee trainee(parts_->model);
  if (!recipe.reference.empty())
    parts_->shop.kind.join(trainee, parts_->shop.setting(recipe, recipe.train, true, parts_->labels));
  return attend::evaluate(trainee, *parts_->objective,
                          {recipe.batch.tokens.value_or(BatchSize().tokens), recipe.batch.size.value_or(0)},
                          listener);
}

std::string MeasuredModel::main_score() const {
  return attend::main_score(*parts_->objective);
}

std::vector<std::pair<std::string, double>> v1::evaluate(const Recipe& recipe) {
  const MeasuredModel measured(recipe);
  ScoreCollector collector(*measured.parts_->objective);
  ScoreListener listener;
  if (!recipe.save_scores.empty())
    listener = [&](const Batch& batch, const Tensor& scores) { collector.add(batch, scores); };
  const std::vector<Score> scores = measured.measure(listener);
  if (!recipe.save_scores.empty()) {
    if (!measured.parts_->labels) fail("`save_scores`: expected a task with labels");
    StoredScores{*measured.parts_->labels, collector.scores()}.write(recipe.save_scores);
  }
  std::vector<std::pair<std::string, double>> figures;
  for (const Score& score : scores) figures.emplace_back(score.name, score.value);
  return figures;
}

std::vector<std::pair<std::string, std::string>> v1::objectives() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const ObjectiveKind* kind : objective_kinds()) all.emplace_back(kind->name, kind->summary);
  return all;
}

}  // namespace attend
