#include "training/trainer.h"

#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "tokenizers/tokenizer_files.h"
#include "training/batches.h"
#include "training/metrics_log.h"

#include <chrono>
#include <cmath>

namespace attend {
namespace {

using Clock = std::chrono::steady_clock;

// Walks the batches of epoch after epoch from any place.
class BatchWalk {
 public:
  BatchWalk(Objective& objective, const TrainingOptions& options, Progression& at)
      : objective_(objective), options_(options), at_(at) {
    enter_epoch();
  }
  const Batch& next() {
    if (at_.batch == static_cast<std::int64_t>(batches_.size())) {
      ++at_.epoch;
      at_.batch = 0;
      enter_epoch();
    }
    return batches_[at_.batch++];
  }
  double epochs() const {
    return static_cast<double>(at_.epoch) +
           static_cast<double>(at_.batch) / static_cast<double>(batches_.size());
  }

 private:
  void enter_epoch() {
    objective_.begin_epoch(options_.seed, at_.epoch);
    batches_ = make_batches(objective_, options_.batch_tokens, options_.seed, at_.epoch);
  }

  Objective& objective_;
  const TrainingOptions& options_;
  Progression& at_;
  std::vector<Batch> batches_;
};

class Run {
 public:
  Run(Model& model, Objective& objective, const Validate& validate, const TrainingOptions& options)
      : model_(model),
        network_(model.network()),
        objective_(objective),
        validate_(validate),
        options_(options),
        optimizer_(named_parameters(network_), options.adam),
        checkpoints_(options.output) {}

  TrainingEnd go() {
    begin();
    BatchWalk walk(objective_, options_, at_);
    MetricsLog log(options_.output, at_.step);
    Progress progress("training", static_cast<std::uint64_t>(expected_steps()), "steps");
    started_ = Clock::now();
    while (!done(walk)) {
      const StepResult step = take_step(walk);
      report(step, log, progress);
      if (interrupted()) {
        save();
        inform("stopped and saved at step {}; the same command with --resume goes on", at_.step);
        return TrainingEnd::interrupted;
      }
      if (at_.step % options_.validate_every == 0) validate_and_save(log);
    }
    if (at_.step % options_.validate_every != 0) validate_and_save(log);
    finish();
    return TrainingEnd::finished;
  }

 private:
  struct StepResult {
    double loss = 0, norm = 0, rate = 0;
    std::int64_t labels = 0;
  };

  static std::vector<std::pair<std::string, Tensor>> named_parameters(Transformer& network) {
    std::vector<std::pair<std::string, Tensor>> all;
    for (auto& item : network->named_parameters()) all.emplace_back(item.key(), item.value());
    return all;
  }

  // Anew, or where the newest checkpoint stands.
  void begin() {
    const auto newest = checkpoints_.newest();
    if (newest && !options_.resume)
      fail("{}: a run has been here ({}); --resume goes on with it, another --output begins anew",
           options_.output.string(), newest->filename().string());
    if (!newest && std::filesystem::exists(options_.output / "model.safetensors"))
      fail("{}: there already is a model in it; expected an --output for a new one",
           options_.output.string());
    if (!newest) {
      if (!options_.tokenizer.empty()) tokenizers::copy_tokenizer(options_.tokenizer, options_.output);
      find_zero_rows();
      return;
    }
    at_ = Checkpoints::restore(*newest, model_, optimizer_);
    find_zero_rows();
    inform("going on after step {}", at_.step);
  }

  // Where the vector of padding is zero it stays so, although a head that is tied to it would move it: a
  // Marian decoder begins with padding, and CTranslate2 with nothing at all.
  void find_zero_rows() {
    for (const Stack& stack : {network_->encoder, network_->decoder}) {
      if (!stack || !stack->embeddings || !stack->embeddings->tokens.defined()) continue;
      const std::int64_t row = stack->embeddings->spec().padding_id;
      if (row >= 0 && stack->embeddings->tokens[row].eq(0).all().item<bool>())
        zero_rows_.emplace_back(stack->embeddings->tokens, row);
    }
  }

  double seconds() const {
    return at_.seconds + std::chrono::duration<double>(Clock::now() - started_).count();
  }

  bool done(const BatchWalk& walk) const {
    if (options_.steps > 0 && at_.step >= options_.steps) return true;
    if (options_.epochs > 0 && walk.epochs() >= options_.epochs) return true;
    if (options_.minutes > 0 && seconds() >= options_.minutes * 60) return true;
    return options_.patience > 0 && at_.worse >= options_.patience;
  }

  StepResult take_step(BatchWalk& walk) {
    StepResult result;
    result.rate = options_.schedule.rate(at_.step + 1);
    // The seed of a step's dropout follows from its number, so a resumed run draws the same.
    Pass pass = Pass::training(options_.seed * 0x9e3779b97f4a7c15u +
                               static_cast<std::uint64_t>(at_.step) * 0xd1b54a32d192ed03u);
    const Bfloat16Products rounded(options_.bfloat16);
    Tensor loss;
    for (std::int64_t i = 0; i < options_.accumulate; ++i) {
      const Batch& batch = walk.next();
      Batch readings = batch;
      if (options_.loss.r_drop > 0) readings.insert(readings.end(), batch.begin(), batch.end());
      const LossSum sum = objective_.loss(network_, readings, pass, options_.loss);
      sum.sum.backward();
      loss = loss.defined() ? loss + sum.sum.detach() : sum.sum.detach();
      result.labels += sum.count;
    }
    if (result.labels == 0) fail("a batch without a single label: is the data right?");
    for (const auto& [table, row] : zero_rows_)
      if (table.grad().defined()) table.grad()[row].zero_();
    result.norm = optimizer_.step(result.rate, static_cast<double>(result.labels));
    result.loss = loss.item<double>() / static_cast<double>(result.labels);
    ++at_.step;
    at_.tokens += result.labels;
    return result;
  }

  std::int64_t expected_steps() const { return options_.steps; }

  void report(const StepResult& step, MetricsLog& log, Progress& progress) {
    since_report_ += step.labels;
    const double now = seconds(), passed = now - last_report_;
    if (passed >= 1) {
      tokens_per_second_ = static_cast<double>(since_report_) / passed;
      since_report_ = 0;
      last_report_ = now;
    }
    smoothed_loss_ = smoothed_loss_ == 0 ? step.loss : 0.95 * smoothed_loss_ + 0.05 * step.loss;
    std::string note = fmt::format("loss {:.3f}, {:.0f} tokens/s", smoothed_loss_, tokens_per_second_);
    if (options_.minutes > 0) note += fmt::format(", {:.1f} of {:g} minutes", now / 60, options_.minutes);
    if (!last_scores_.empty()) note += ", validation " + last_scores_;
    progress.update(static_cast<std::uint64_t>(at_.step), note);
    if (at_.step % 10 == 0)
      log.write(at_.step, {{"train/loss", step.loss},
                           {"train/gradient_norm", step.norm},
                           {"train/rate", step.rate},
                           {"train/tokens_per_second", tokens_per_second_},
                           {"train/epoch", static_cast<double>(at_.epoch)},
                           {"train/seconds", now}});
  }

  void save() {
    Progression at = at_;
    at.seconds = seconds();
    checkpoints_.save(model_, optimizer_, at);
    checkpoints_.prune(static_cast<std::size_t>(options_.average), options_.validate_every, at_.best_step);
  }

  void validate_and_save(MetricsLog& log) {
    if (validate_) {
      const std::vector<Score> scores = validate_(model_);
      std::vector<std::pair<std::string, double>> values;
      last_scores_.clear();
      for (const Score& score : scores) {
        values.emplace_back("validation/" + score.name, score.value);
        last_scores_ += fmt::format("{}{} {:.3f}", last_scores_.empty() ? "" : ", ", score.name, score.value);
      }
      log.write(at_.step, values);
      inform("step {}: validation {}", at_.step, last_scores_);
      const Score& first = scores.front();
      const bool better =
          at_.best_step == 0 || (first.higher_is_better ? first.value > at_.best : first.value < at_.best);
      if (better) {
        at_.best = first.value;
        at_.best_step = at_.step;
      }
      at_.worse = better ? 0 : at_.worse + 1;
    }
    save();
  }

  // The result: the mean of the last checkpoints, or the best one.
  void finish() {
    std::vector<std::filesystem::path> chosen = checkpoints_.all();
    if (options_.average > 1) {
      std::erase_if(chosen, [&](const auto& path) {  // left by an interruption, so not part of every run
        const std::int64_t step = Checkpoints::step_of(path);
        return step != at_.step && step % options_.validate_every != 0;
      });
      const auto keep = std::min(chosen.size(), static_cast<std::size_t>(options_.average));
      chosen.erase(chosen.begin(), chosen.end() - static_cast<std::ptrdiff_t>(keep));
    } else {
      chosen = {at_.best_step > 0 ? checkpoints_.of_step(at_.best_step) : chosen.back()};
    }
    average_weights(chosen, model_);
    model_.save(options_.output);
    if (validate_ && options_.average > 1) {
      const std::vector<Score> scores = validate_(model_);
      inform("the mean of {} checkpoints: validation {} {:.3f}", chosen.size(), scores.front().name,
             scores.front().value);
    }
  }

  Model& model_;
  Transformer network_;
  Objective& objective_;
  const Validate& validate_;
  const TrainingOptions& options_;
  AdamOptimizer optimizer_;
  Checkpoints checkpoints_;
  Progression at_;
  std::vector<std::pair<Tensor, std::int64_t>> zero_rows_;
  Clock::time_point started_ = Clock::now();
  double last_report_ = 0, tokens_per_second_ = 0, smoothed_loss_ = 0;
  std::int64_t since_report_ = 0;
  std::string last_scores_;
};

}  // namespace

TrainingEnd train(Model& model, Objective& objective, const Validate& validate,
                  const TrainingOptions& options) {
  catch_interrupts();
  std::filesystem::create_directories(options.output);
  const DirectoryLock lock(options.output);
  return Run(model, objective, validate, options).go();
}

double mean_loss(Model& model, const Objective& objective, std::int64_t batch_tokens) {
  at::NoGradGuard no_grad;
  Transformer network = model.network();
  Pass pass = Pass::inference();
  double sum = 0;
  std::int64_t count = 0;
  for (const Batch& batch : make_batches(objective, batch_tokens, 0, 0, /*shuffled=*/false)) {
    const LossSum loss = objective.loss(network, batch, pass, {});
    sum += loss.sum.item<double>();
    count += loss.count;
  }
  return sum / static_cast<double>(count);
}

}  // namespace attend
