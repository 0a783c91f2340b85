#include "training/trainer.h"

#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "models/tensors.h"
#include "nn/linear.h"
#include "objectives/batch_tensors.h"
#include "training/metrics_log.h"
#include "training/step.h"
#include "training/weight_average.h"

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
        schedule_(options.schedule),
        optimizer_(make_optimizer(parameter_groups(trainee.parameters(), options.groups), options.optimizer)),
        checkpoints_(options.output) {
    if (options.ema > 0) average_.emplace(optimizer_->parameters(), options.ema);
  }

  TrainingEnd go() {
    begin();
    BatchStream data(objective_,
                     {options_.batch, options_.accumulate, options_.seed, options_.loss.r_drop > 0},
                     at_.place);
    epochs_ = data.first_epochs();
    plan(data.steps_per_epoch());
    MetricsLog log(options_.output, at_.step);
    SampleLog samples(options_.output, at_.step);
    Progress progress("training", static_cast<std::uint64_t>(expected_steps_), "steps");
    started_ = Clock::now();
    while (!done()) {
      const StepData step = data.next();
      report(take_step(step), step, log, progress);
      const bool validates =
          options_.validate_every > 0 ? at_.step % options_.validate_every == 0 : step.ends_epoch;
      if (hooks_.stop && hooks_.stop()) {
        save();
        write_page(fmt::format("stopped at step {}", at_.step));
        inform("stopped and saved at step {}; the same command with --resume continues", at_.step);
        return TrainingEnd::interrupted;
      }
      if (validates)
        validate_and_save(log, samples);
      else if (options_.save_every > 0 && at_.step % options_.save_every == 0)
        save();
    }
    if (at_.validated.empty() || at_.validated.back() != at_.step) validate_and_save(log, samples);
    finish();
    say_end();
    return TrainingEnd::finished;
  }

 private:
  struct StepResult {
    StepGradients gradients;
    double norm = 0, rate = 0;
  };

  // Starts from scratch or from the newest checkpoint.
  void begin() {
    checkpoints_.clean();
    const auto newest = checkpoints_.newest();
    if (newest && !options_.resume)
      fail("{}: a run has been here ({}); --resume goes on with it, another --output begins anew",
           options_.output.string(), newest->filename().string());
    for (const auto& [file, what] :
         {std::pair{"model.safetensors", "a model"}, {"adapter_model.safetensors", "an adapter"}})
      if (!newest && std::filesystem::exists(options_.output / file))
        fail("{}: there already is {} in it; expected an --output for a new one", options_.output.string(),
             what);
    if (!newest) {
      if (options_.resume)
        warn("--resume: there is no run in {} to continue; starting a new one", options_.output.string());
      if (hooks_.accompany) hooks_.accompany(options_.output);
      trainee_.find_constraints();
      return;
    }
    TrainingState state;
    at_ = Checkpoints::restore(*newest, trainee_, state);
    optimizer_->restore(state, at_.step);
    if (average_) average_->restore(state, at_.step);
    trainee_.find_constraints();
    inform("going on after step {}", at_.step);
  }

  // How long the run will be, as far as steps and epochs tell.
  void plan(std::int64_t steps_per_epoch) {
    expected_steps_ = options_.steps;
    if (options_.epochs > 0) {
      const auto by_epochs =
          static_cast<std::int64_t>(std::ceil(options_.epochs * static_cast<double>(steps_per_epoch)));
      expected_steps_ = expected_steps_ > 0 ? std::min(expected_steps_, by_epochs) : by_epochs;
    }
    schedule_.total = expected_steps_;
    schedule_.warmup = warmup_steps(options_.warmup, schedule_.total);
    schedule_.check();
    options_.plateau.check();
  }

  double seconds() const {
    return at_.seconds + std::chrono::duration<double>(Clock::now() - started_).count();
  }

  bool at_the_end() const {
    if (options_.steps > 0 && at_.step >= options_.steps) return true;
    if (options_.epochs > 0 && epochs_ >= options_.epochs) return true;
    return options_.minutes > 0 && seconds() >= options_.minutes * 60;
  }
  bool out_of_patience() const { return options_.patience > 0 && at_.worse >= options_.patience; }
  bool done() const { return at_the_end() || out_of_patience(); }

  // Why the run is over, if that is early, and which checkpoint is the result.
  void say_end() const {
    std::string state = "finished";
    if (out_of_patience() && !at_the_end()) {
      state = fmt::format("stopped early after step {}: {} validation{} without a better {}", at_.step,
                          at_.worse, at_.worse == 1 ? "" : "s", figure_);
      inform("{}", state);
    }
    if (options_.average == 1 && at_.best_step > 0) {
      const std::string result = fmt::format("the result is that of step {}, with a validation {} of {:.4g}",
                                             at_.best_step, figure_, at_.best);
      inform("{}", result);
      state += "; " + result;
    }
    write_page(state);
  }

  StepResult take_step(const StepData& step) {
    if (!options_.save_batches.empty()) write_batches(step);
    StepResult result;
    result.rate = schedule_.rate(at_.step + 1) * at_.plateau.factor;
    // The seed of a step's dropout follows from its number, so a resumed run draws the same.
    Pass pass = Pass::training(options_.seed * 0x9e3779b97f4a7c15u +
                               static_cast<std::uint64_t>(at_.step) * 0xd1b54a32d192ed03u);
    pass.bfloat16 = options_.bfloat16;
    pass.recompute = options_.recompute;
    const PassScope scope(pass);
    result.gradients = add_gradients(trainee_, objective_, step.batches, pass, options_.loss);
    trainee_.constrain_gradients();
    const GradientNorm norm = gradient_norm(optimizer_->parameters());
    if (!norm.not_finite.empty() || !std::isfinite(result.gradients.loss)) stop_at_nan(step, norm.not_finite);
    result.norm = norm.norm * result.gradients.scale;
    double scale = result.gradients.scale;
    if (options_.clip > 0 && result.norm > options_.clip) scale *= options_.clip / result.norm;
    optimizer_->step(result.rate, scale);
    ++at_.step;
    if (average_) average_->update();
    at_.tokens += result.gradients.labels;
    at_.place = step.after;
    epochs_ = step.epochs;
    return result;
  }

  void write_batches(const StepData& step) const {
    std::filesystem::create_directories(options_.save_batches);
    for (std::size_t i = 0; i < step.batches.size(); ++i)
      write_tensors(options_.save_batches / fmt::format("step-{}.{}.safetensors", at_.step + 1, i),
                    to_tensors(step.batches[i]));
  }

  [[noreturn]] void stop_at_nan(const StepData& step, const std::string& tensor) const {
    std::vector<std::int64_t> examples;
    for (const Batch& batch : step.batches)
      examples.insert(examples.end(), batch.examples.begin(), batch.examples.end());
    const std::size_t shown = std::min<std::size_t>(examples.size(), 5);
    fail(
        "step {}: {} not finite (batch {} of epoch {}: examples {}{}). The weights are still those of the "
        "step before; "
        "the last checkpoint is {}. A smaller --rate, a longer --warmup or --clip 1 helps; if it is always "
        "the same "
        "batch, look at those examples",
        at_.step + 1, tensor.empty() ? "the loss is" : "the gradient of " + tensor + " is", step.after.batch,
        step.after.epoch,
        fmt::join(examples.begin(), examples.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        examples.size() > shown ? ", ..." : "",
        checkpoints_.newest() ? checkpoints_.newest()->string() : "not written yet");
  }

  void report(const StepResult& step, const StepData& data, MetricsLog& log, Progress& progress) {
    std::int64_t padded = 0;
    for (const Batch& batch : data.batches) {
      since_report_ += batch.real_tokens();
      real_tokens_ += batch.real_tokens();
      padded += batch.padded_tokens();
    }
    padded_tokens_ += padded;
    const double now = seconds(), passed = now - last_report_;
    if (passed >= 1) {
      tokens_per_second_ = static_cast<double>(since_report_) / passed;
      since_report_ = 0;
      last_report_ = now;
    }
    const double loss = step.gradients.loss;
    smoothed_loss_ = smoothed_loss_ == 0 ? loss : 0.95 * smoothed_loss_ + 0.05 * loss;
    const double saved = 100 * (1 - static_cast<double>(real_tokens_) / static_cast<double>(padded_tokens_));
    std::string note = fmt::format("loss {:.3f}, {:.0f} tokens/s", smoothed_loss_, tokens_per_second_);
    if (saved >= 1) note += fmt::format(" (padding would add {:.0f} %)", 100 * saved / (100 - saved));
    if (options_.minutes > 0) note += fmt::format(", {:.1f} of {:g} minutes", now / 60, options_.minutes);
    if (!last_scores_.empty()) note += ", validation " + last_scores_;
    progress.update(static_cast<std::uint64_t>(at_.step), note);
    if (at_.step % 10 != 0) return;
    std::vector<std::pair<std::string, double>> values = {{"train/loss", loss}};
    const std::vector<Term> terms = objective_.terms();
    for (std::size_t k = 0; k < terms.size() && terms.size() > 1; ++k)
      values.emplace_back("train/" + terms[k].name, step.gradients.terms[k]);
    values.insert(values.end(), {{"train/gradient_norm", step.norm},
                                 {"train/rate", step.rate},
                                 {"train/tokens_per_second", tokens_per_second_},
                                 {"train/epoch", data.epochs},
                                 {"train/seconds", now}});
    log.write(at_.step, values);
  }

  void save() {
    Progression at = at_;
    at.seconds = seconds();
    TrainingState state = optimizer_->state();
    if (average_) state.merge(average_->state());
    checkpoints_.save(trainee_, state, at);
    checkpoints_.prune(static_cast<std::size_t>(std::max(options_.average, options_.keep)), at_);
  }

  std::vector<Score> validate() {
    std::optional<WeightAverage::InModel> averaged;
    if (average_) averaged.emplace(*average_);
    std::vector<Score> scores;
    if (hooks_.measure) scores = hooks_.measure(trainee_);
    if (held_out_ != nullptr)
      for (Score& score : evaluate(trainee_, *held_out_, options_.batch)) scores.push_back(std::move(score));
    return scores;
  }

  const Score& telling(const std::vector<Score>& scores) const {
    if (options_.best.empty() && hooks_.measure) return scores.front();
    const std::string name = options_.best.empty() ? telling_score(*held_out_) : options_.best;
    std::vector<std::string> names;
    for (const Score& score : scores) {
      if (score.name == name) return score;
      names.push_back(score.name);
    }
    fail("--best {}: the validation gives {}", name, fmt::join(names, ", "));
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
    Report report = options_.report;
    report.state = state;
    write_report(options_.output, report);
  }

  void validate_and_save(MetricsLog& log, SampleLog& samples) {
    if (held_out_ != nullptr || hooks_.measure) {
      const std::vector<Score> scores = validate();
      std::vector<std::pair<std::string, double>> values;
      last_scores_.clear();
      for (const Score& score : scores) {
        values.emplace_back("validation/" + score.name, score.value);
        last_scores_ += fmt::format("{}{} {:.4g}", last_scores_.empty() ? "" : ", ", score.name, score.value);
      }
      log.write(at_.step, values);
      inform("step {}: validation {}", at_.step, last_scores_);
      const Score& score = telling(scores);
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
    if (hooks_.sample) samples.write(at_.step, hooks_.sample(trainee_));
    at_.validated.push_back(at_.step);
    save();
    write_page("training");
  }

  // The result: the mean of the last checkpoints, or the best one.
  void finish() {
    std::vector<std::filesystem::path> chosen;
    if (options_.average > 1) {
      // A checkpoint of an interruption is not part of every run.
      const std::size_t count = std::min(at_.validated.size(), static_cast<std::size_t>(options_.average));
      for (std::size_t i = at_.validated.size() - count; i < at_.validated.size(); ++i)
        chosen.push_back(checkpoints_.of_step(at_.validated[i]));
    } else {
      chosen = {checkpoints_.of_step(at_.best_step > 0 ? at_.best_step : at_.step)};
    }
    average_weights(chosen, trainee_);
    if (average_ && options_.average == 1) {
      average_->restore(read_tensors(chosen.front() / "optimizer.safetensors"),
                        Checkpoints::step_of(chosen.front()));
      const WeightAverage::InModel averaged(*average_);
      trainee_.save(options_.output);
      return;
    }
    trainee_.save(options_.output);
    average_.reset();
    if (options_.average > 1 && (held_out_ != nullptr || hooks_.measure)) {
      const Score score = telling(validate());
      inform("the mean of {} checkpoints: validation {} {:.4g}", chosen.size(), score.name, score.value);
    }
  }

  Trainee& trainee_;
  Objective& objective_;
  const Objective* held_out_;
  const TrainingOptions& options_;
  const TrainingHooks& hooks_;
  Schedule schedule_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<WeightAverage> average_;
  Checkpoints checkpoints_;
  Progression at_;
  std::int64_t expected_steps_ = 0;
  double epochs_ = 0;
  Clock::time_point started_ = Clock::now();
  double last_report_ = 0, tokens_per_second_ = 0, smoothed_loss_ = 0;
  std::int64_t since_report_ = 0, real_tokens_ = 0, padded_tokens_ = 0;
  std::string last_scores_;
  std::string figure_ = "score";  // the name of the one that chooses the best checkpoint, once it is known
};

}  // namespace

TrainingEnd train(Trainee& trainee, Objective& objective, const Objective* held_out,
                  const TrainingOptions& options, const TrainingHooks& hooks) {
  return Run(trainee, objective, held_out, options, hooks).go();
}

}  // namespace attend
