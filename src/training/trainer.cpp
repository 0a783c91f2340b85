#include "training/trainer.h"

#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "nn/linear/linear.h"
#include "training/agreement.h"
#include "training/logs/metrics_log.h"
#include "training/optimizers/gradient_sum.h"
#include "training/optimizers/local_steps.h"
#include "training/optimizers/weight_average.h"
#include "training/processes/handing_out.h"
#include "training/progress_report.h"
#include "training/step.h"

#include <chrono>
#include <cmath>

namespace attend {
namespace {

using Clock = std::chrono::steady_clock;

class Run {
 public:
  Run(Trainee& trainee, Objective& objective, const Objective* held_out, const TrainingOptions& options,
      const TrainingHooks& hooks)
      : trainee_(trainee),
        objective_(objective),
        held_out_(held_out),
        options_(options),
        hooks_(hooks),
        ranks_(options.ranks != nullptr ? *options.ranks : alone_),
        schedule_(options.schedule),
        optimizer_(make_optimizer(parameter_groups(trainee.parameters(), options.groups), options.optimizer,
                                  OptimizerRanks{ranks_, options.shard_optimizer, options.layers})),
        checkpoints_(options.output) {
    if (!ranks_.alone() && options.local.steps == 0)
      gradients_.emplace(ranks_, optimizer_->parameters(), options.layers);
    if (options.ema > 0) average_.emplace(optimizer_->parameters(), options.ema);
  }

  TrainingEnd go() {
    if (ranks_.first()) begin();
    share_start();
    BatchStream data(objective_,
                     {options_.batch, options_.accumulate, options_.seed, options_.loss.r_drop > 0,
                      ranks_.rank(), ranks_.size()},
                     at_.place);
    epochs_ = data.first_epochs();
    plan(data.steps_per_epoch());
    if (ranks_.first()) {
      log_.emplace(options_.output, at_.step);
      samples_.emplace(options_.output, at_.step);
    }
    Progress progress("training", static_cast<std::uint64_t>(expected_steps_), "steps");
    std::optional<ProgressReport> report;
    if (log_) report.emplace(progress, *log_, objective_.terms(), options_.duration.minutes);
    Agreement read;
    started_ = Clock::now();
    while (!done()) {
      ranks_.at(fmt::format("step {}, reading its data", at_.step + 1));
      const StepData step = data.next();
      const StepResult result = take_step(step);
      const bool validates = options_.checkpoints.validate_every > 0
                                 ? at_.step % options_.checkpoints.validate_every == 0
                                 : step.ends_epoch;
      const bool saves =
          options_.checkpoints.save_every > 0 && at_.step % options_.checkpoints.save_every == 0;
      read.add(step);
      Agreement agreed;
      if (!outer_ || at_.step % options_.local.steps == 0 || validates || saves || at_the_end()) {
        if (outer_) outer_->step();
        read.stops = hooks_.stop && hooks_.stop();
        read.late = out_of_time();
        agreed = agree(ranks_, std::exchange(read, {}));
        late_ = agreed.late;
      }
      if (report) report->say(at_.step, result, agreed, step.epochs, seconds(), last_scores_);
      if (agreed.stops) {
        save();
        write_page(fmt::format("stopped at step {}", at_.step));
        inform("stopped and saved at step {}; the same command with `resume` continues", at_.step);
        return TrainingEnd::interrupted;
      }
      if (validates)
        validate_and_save();
      else if (saves)
        save();
    }
    if (at_.validated.empty() || at_.validated.back() != at_.step) validate_and_save();
    finish();
    say_end();
    return TrainingEnd::finished;
  }

 private:
  // Starts from the beginning, or from the newest checkpoint.
  void begin() {
    checkpoints_.clean();
    const auto newest = checkpoints_.newest();
    if (newest && !options_.checkpoints.resume)
      fail("{}: a run has been here ({}); `resume` goes on with it, another `output` begins anew",
           options_.output.string(), newest->filename().string());
    for (const auto& [file, what] :
         {std::pair{"model.safetensors", "a model"}, {"adapter_model.safetensors", "an adapter"}})
      if (!newest && std::filesystem::exists(options_.output / file))
        fail("{}: there already is {} in it; expected an `output` for a new one", options_.output.string(),
             what);
    if (!newest) {
      if (options_.checkpoints.resume)
        warn("`resume`: there is no run in {} to continue; starting a new one", options_.output.string());
      if (hooks_.write_extra_files) hooks_.write_extra_files(options_.output);
      return;
    }
    at_ = Checkpoints::restore(*newest, trainee_, restored_, giving());
    inform("going on after step {}", at_.step);
  }

  // All processes begin at the first one's position.
  void share_start() {
    at_ = read_run_position(ranks_.broadcast(ranks_.first() ? to_text(at_) : std::string()),
                            "the first process");
    hand_out(ranks_, kept_by_all(options_.layers, trainee_.weights()));
    if (at_.step > 0) {
      optimizer_->restore(restored_, at_.step);
      if (average_ && ranks_.first()) average_->restore(restored_, at_.step);
      if (average_) average_->share(ranks_, at_.step);
    }
    if (!ranks_.alone() && options_.local.steps > 0) {
      outer_.emplace(ranks_, optimizer_->parameters(), options_.local);
      if (at_.step > 0) outer_->restore(restored_);
    }
    restored_.clear();
    trainee_.find_constraints();
  }

  // After this process has read a parameter: its owner gets it.
  AfterReading giving() const {
    if (options_.layers == nullptr) return {};
    return
        [layers = options_.layers](const Transformer&, const Tensor& parameter) { layers->give(parameter); };
  }

  // The number of steps, as far as steps and epochs determine it.
  void plan(std::int64_t steps_per_epoch) {
    expected_steps_ = options_.duration.steps;
    if (options_.duration.epochs > 0) {
      const auto by_epochs = static_cast<std::int64_t>(
          std::ceil(options_.duration.epochs * static_cast<double>(steps_per_epoch)));
      expected_steps_ = expected_steps_ > 0 ? std::min(expected_steps_, by_epochs) : by_epochs;
    }
    schedule_.total = expected_steps_;
    schedule_.warmup = warmup_steps(options_.warmup, schedule_.total);
    schedule_.check();
    options_.plateau.check();
    late_ = options_.duration.minutes > 0 && at_.seconds >= options_.duration.minutes * 60;
  }

  double seconds() const {
    return at_.seconds + std::chrono::duration<double>(Clock::now() - started_).count();
  }

  bool out_of_time() const {
    return options_.duration.minutes > 0 && seconds() >= options_.duration.minutes * 60;
  }
  bool at_the_end() const {
    if (options_.duration.steps > 0 && at_.step >= options_.duration.steps) return true;
    if (options_.duration.epochs > 0 && epochs_ >= options_.duration.epochs) return true;
    return late_;
  }
  bool out_of_patience() const {
    return options_.checkpoints.patience > 0 && at_.worse >= options_.checkpoints.patience;
  }
  bool done() const { return at_the_end() || out_of_patience(); }

  // Why the run ended, if early, and which checkpoint is the result.
  void say_end() const {
    std::string state = "finished";
    if (out_of_patience() && !at_the_end()) {
      state = fmt::format("stopped early after step {}: {} validation{} without a better {}", at_.step,
                          at_.worse, at_.worse == 1 ? "" : "s", figure_);
      inform("{}", state);
    }
    if (options_.checkpoints.average == 1 && at_.best_step > 0) {
      const std::string result = fmt::format("the result is that of step {}, with a validation {} of {:.4g}",
                                             at_.best_step, figure_, at_.best);
      inform("{}", result);
      state += "; " + result;
    }
    write_page(state);
  }

  StepResult take_step(const StepData& step) {
    if (!options_.checkpoints.save_batches.empty())
      write_batches(step, options_.checkpoints.save_batches, at_.step + 1, ranks_.rank());
    StepResult result;
    result.rate = schedule_.rate(at_.step + 1) * at_.plateau.factor;
    ranks_.at(fmt::format("step {}", at_.step + 1));
    // The seed of a step's dropout depends only on the step's index and the process, so a resumed run draws
    // the same.
    Pass pass = Pass::training(options_.seed * 0x9e3779b97f4a7c15u +
                               static_cast<std::uint64_t>(at_.step) * 0xd1b54a32d192ed03u +
                               static_cast<std::uint64_t>(ranks_.rank()) * 0x8cb92ba72f3d8dd7u);
    pass.bfloat16 = options_.bfloat16;
    pass.recompute = options_.gradient_checkpointing;
    const PassScope scope(pass);
    if (outer_ && !has_labels(step.batches)) return pass_over(step);
    result.gradients = add_gradients(trainee_, objective_, step.batches, pass, options_.loss,
                                     gradients_ ? &*gradients_ : nullptr);
    trainee_.constrain_gradients();
    const GradientNorm norm = gradient_norm(optimizer_->parameters(), &ranks_, options_.layers);
    if (!norm.not_finite.empty() || !std::isfinite(result.gradients.loss)) stop_at_nan(step, norm.not_finite);
    result.norm = norm.norm * result.gradients.scale;
    double scale = result.gradients.scale;
    if (options_.max_grad_norm > 0 && result.norm > options_.max_grad_norm)
      scale *= options_.max_grad_norm / result.norm;
    optimizer_->step(result.rate, scale);
    if (average_) average_->update();
    at_.tokens += result.gradients.labels;
    end_step(step);
    return result;
  }

  // A local step for which this process has no data.
  StepResult pass_over(const StepData& step) {
    optimizer_->step(0, 1);
    end_step(step);
    return {};
  }

  void end_step(const StepData& step) {
    ++at_.step;
    at_.place = step.after;
    epochs_ = step.epochs;
  }

  [[noreturn]] void stop_at_nan(const StepData& step, const std::string& tensor) const {
    const auto newest = checkpoints_.newest();
    fail(
        "step {}: {}; the last checkpoint is {}. A smaller `learning_rate`, a longer `warmup` or "
        "`max_grad_norm` 1 helps; if "
        "it is always "
        "the same batch, look at those examples",
        at_.step + 1, describe_not_finite(step, tensor), newest ? newest->string() : "not written yet");
  }

  void save() {
    ranks_.at(fmt::format("the checkpoint of step {}", at_.step));
    RunPosition at = at_;
    at.seconds = seconds();
    TrainingState state = optimizer_->state(options_.output);
    if (outer_) outer_->share_state(state);
    if (!ranks_.first()) return;
    if (outer_) state.merge(outer_->state());
    if (average_) state.merge(average_->state());
    const ShardedLayers::Whole whole(options_.layers, options_.output);
    checkpoints_.save(trainee_, state, at);
    checkpoints_.prune(
        static_cast<std::size_t>(std::max(options_.checkpoints.average, options_.checkpoints.keep)), at_);
  }

  std::vector<Score> validate() {
    std::optional<WeightAverage::InModel> averaged;
    if (average_) averaged.emplace(*average_);
    std::vector<Score> scores;
    if (hooks_.measure) scores = hooks_.measure(trainee_);
    if (held_out_ != nullptr)
      for (Score& score : evaluate(trainee_, *held_out_, options_.batch, {}, ranks_))
        scores.push_back(std::move(score));
    return scores;
  }

  const Score& main_of(const std::vector<Score>& scores) const {
    if (options_.checkpoints.best.empty() && hooks_.measure) return scores.front();
    return find_score(scores,
                      options_.checkpoints.best.empty() ? main_score(*held_out_) : options_.checkpoints.best);
  }

  void reduce_on_plateau(const Score& score) {
    ReduceOnPlateau plateau = options_.plateau;
    plateau.higher_is_better = score.higher_is_better;
    const double before = at_.plateau.factor;
    at_.plateau = plateau.after(at_.plateau, score.value);
    if (at_.plateau.factor < before)
      inform("step {}: {} is no longer better; the rate is now {:g} of the schedule's", at_.step, score.name,
             at_.plateau.factor);
  }

  void write_page(const std::string& state) const {
    if (!ranks_.first()) return;
    Report report = options_.report;
    report.state = state;
    write_report(options_.output, report);
  }

  void validate_and_save() {
    if (held_out_ != nullptr || hooks_.measure) {
      const std::vector<Score> scores = validate();
      std::vector<std::pair<std::string, double>> values;
      last_scores_.clear();
      for (const Score& score : scores) {
        values.emplace_back("validation/" + score.name, score.value);
        last_scores_ += fmt::format("{}{} {:.4g}", last_scores_.empty() ? "" : ", ", score.name, score.value);
      }
      if (log_) log_->write(at_.step, values);
      inform("step {}: validation {}", at_.step, last_scores_);
      const Score& score = main_of(scores);
      figure_ = score.name;
      const bool better =
          at_.best_step == 0 || (score.higher_is_better ? score.value > at_.best : score.value < at_.best);
      if (better) {
        at_.best = score.value;
        at_.best_step = at_.step;
      }
      at_.worse = better ? 0 : at_.worse + 1;
      if (schedule_.kind == ScheduleKind::plateau) reduce_on_plateau(score);
    }
    if (hooks_.sample && samples_) samples_->write(at_.step, hooks_.sample(trainee_));
    at_.validated.push_back(at_.step);
    save();
    write_page("training");
  }

  // The result: the mean of the last checkpoints, or the best one.
  void finish() {
    ranks_.at("the result");
    if (ranks_.first()) leave_result();
    if (options_.checkpoints.average <= 1 || (held_out_ == nullptr && !hooks_.measure)) return;
    average_.reset();
    hand_out(ranks_, kept_by_all(options_.layers, trainee_.weights()));
    const Score score = main_of(validate());
    inform("the mean of {} checkpoints: validation {} {:.4g}",
           std::min(at_.validated.size(), static_cast<std::size_t>(options_.checkpoints.average)), score.name,
           score.value);
  }

  void leave_result() {
    if (options_.checkpoints.average == 1 && !average_)
      return copy_model(checkpoints_.of_step(at_.best_step > 0 ? at_.best_step : at_.step), options_.output);
    std::vector<std::filesystem::path> chosen;
    if (options_.checkpoints.average > 1) {
      // An uninterrupted run would not have the checkpoint of an interruption.
      const std::size_t count =
          std::min(at_.validated.size(), static_cast<std::size_t>(options_.checkpoints.average));
      for (std::size_t i = at_.validated.size() - count; i < at_.validated.size(); ++i)
        chosen.push_back(checkpoints_.of_step(at_.validated[i]));
    } else {
      chosen = {checkpoints_.of_step(at_.best_step > 0 ? at_.best_step : at_.step)};
    }
    average_weights(chosen, trainee_);
    std::optional<WeightAverage::InModel> averaged;
    if (average_ && options_.checkpoints.average == 1) {
      average_->restore(Checkpoints::state_in(chosen.front()), Checkpoints::step_of(chosen.front()));
      averaged.emplace(*average_);
    }
    trainee_.save(options_.output);
    if (const AfterReading give = giving())
      for (const Tensor& weight : trainee_.weights()) give(trainee_.network(), weight);
  }

  Trainee& trainee_;
  Objective& objective_;
  const Objective* held_out_;
  const TrainingOptions& options_;
  const TrainingHooks& hooks_;
  Ranks alone_;
  Ranks& ranks_;
  Schedule schedule_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<GradientSum> gradients_;  // with several processes
  std::optional<OuterOptimizer> outer_;   // instead, with local steps
  std::optional<WeightAverage> average_;
  Checkpoints checkpoints_;
  RunPosition at_;
  TrainingState restored_;         // of a checkpoint, until all processes have it
  std::optional<MetricsLog> log_;  // only on the first process
  std::optional<SampleLog> samples_;
  bool late_ = false;  // the time limit is reached, by the first process's clock
  std::int64_t expected_steps_ = 0;
  double epochs_ = 0;
  Clock::time_point started_ = Clock::now();
  std::string last_scores_;
  std::string figure_ = "score";  // the name of the metric that selects the best checkpoint, once it is known
};

}  // namespace

TrainingEnd train(Trainee& trainee, Objective& objective, const Objective* held_out,
                  const TrainingOptions& options, const TrainingHooks& hooks) {
  const TrainingEnd end = Run(trainee, objective, held_out, options, hooks).go();
  if (options.layers != nullptr) options.layers->wait_for_all();  // one may still be writing the result
  return end;
}

}  // namespace attend
