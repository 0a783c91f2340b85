#include "training/batch_stream.h"

#include "models/weights/tensors.h"
#include "objectives/base/batch_tensors.h"

namespace attend {
namespace {

constexpr std::size_t kAhead = 3;  // steps

}  // namespace

namespace {

void check_sharing(Sharing sharing, const StreamOptions& options) {
  if (options.ranks == 1 || sharing == Sharing::examples) return;
  if (sharing == Sharing::nothing)
    fail(
        "{} processes: this model continues each batch from its memory of the previous one; expected one "
        "process",
        options.ranks);
  if (options.accumulate < options.ranks)
    fail(
        "{} processes: this objective compares the examples of a batch with each other, so that each process "
        "reads whole "
        "batches; expected `gradient_accumulation_steps` {} or more, found {}",
        options.ranks, options.ranks, options.accumulate);
}

}  // namespace

std::string describe_not_finite(const StepData& step, const std::string& tensor) {
  std::vector<std::int64_t> examples;
  for (const Batch& batch : step.batches)
    examples.insert(examples.end(), batch.examples.begin(), batch.examples.end());
  const std::size_t shown = std::min<std::size_t>(examples.size(), 5);
  return fmt::format(
      "{} not finite (batch {} of epoch {}: examples {}{}). The weights are still those of the step before",
      tensor.empty() ? "the loss is" : "the gradient of " + tensor + " is", step.after.batch,
      step.after.epoch,
      fmt::join(examples.begin(), examples.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      examples.size() > shown ? ", ..." : "");
}

void write_batches(const StepData& data, const std::filesystem::path& folder, std::int64_t step,
                   std::int64_t rank) {
  std::filesystem::create_directories(folder);
  for (std::size_t i = 0; i < data.batches.size(); ++i)
    write_tensors(folder / fmt::format("step-{}.{}{}.safetensors", step, i,
                                       rank == 0 ? "" : fmt::format(".rank-{}", rank)),
                  to_tensors(data.batches[i]));
}

BatchStream::BatchStream(Objective& objective, const StreamOptions& options, DataPlace place)
    : objective_(objective), options_(options), place_(place) {
  check_sharing(objective.sharing(), options);
  enter_epoch();
  const auto batches = static_cast<std::int64_t>(batches_.size());
  if (batches == 0) fail("there is nothing to learn from: an epoch has no batch");
  if (place.batch > batches)
    fail("the checkpoint stands at batch {} of an epoch that has {}: has the data changed?", place.batch,
         batches);
  steps_per_epoch_ = (batches + options.accumulate - 1) / options.accumulate;
  first_epochs_ = epochs();
  thread_ = std::thread([this] { run(); });
}

BatchStream::~BatchStream() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BatchStream::enter_epoch() {
  objective_.begin_epoch(options_.seed, place_.epoch);
  batches_ = objective_.batches(options_.size, options_.seed, place_.epoch, /*shuffled=*/true);
}

// This process's part of the step's batch with this index.
std::vector<std::int64_t> BatchStream::share(const std::vector<std::int64_t>& batch,
                                             std::int64_t number) const {
  if (objective_.sharing() == Sharing::examples)
    return share_of_batch(
        batch, [&](std::int64_t example) { return objective_.tokens(example); }, options_.rank,
        options_.ranks);
  return number % options_.ranks == options_.rank ? batch : std::vector<std::int64_t>();
}

StepData BatchStream::make() {
  const auto count = static_cast<std::int64_t>(batches_.size());
  if (place_.batch == count) {
    ++place_.epoch;
    place_.batch = 0;
    enter_epoch();
    return make();
  }
  StepData step;
  for (std::int64_t i = 0; i < options_.accumulate && place_.batch < count; ++i) {
    std::vector<std::int64_t> examples = share(batches_[static_cast<std::size_t>(place_.batch++)], i);
    if (examples.empty()) continue;
    if (options_.twice) {
      const std::vector<std::int64_t> again = examples;
      examples.insert(examples.end(), again.begin(), again.end());
    }
    step.batches.push_back(objective_.collate(examples, {options_.seed, place_.epoch}));
    step.batches.back().examples = std::move(examples);
  }
  step.after = place_;
  step.ends_epoch = place_.batch == count;
  step.epochs = epochs();
  return step;
}

double BatchStream::epochs() const {
  return static_cast<double>(place_.epoch) +
         static_cast<double>(place_.batch) / static_cast<double>(batches_.size());
}

void BatchStream::run() {
  try {
    while (true) {
      StepData step = make();
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || ready_.size() < kAhead; });
      if (stopping_) return;
      ready_.push_back(std::move(step));
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

StepData BatchStream::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return error_ || !ready_.empty(); });
  if (ready_.empty()) std::rethrow_exception(error_);
  StepData step = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return step;
}

}  // namespace attend
