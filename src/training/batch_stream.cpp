#include "training/batch_stream.h"

namespace attend {
namespace {

constexpr std::size_t kAhead = 3;  // steps

}  // namespace

BatchStream::BatchStream(Objective& objective, const StreamOptions& options, DataPlace place)
    : objective_(objective), options_(options), place_(place) {
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
    std::vector<std::int64_t> examples = batches_[static_cast<std::size_t>(place_.batch++)];
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
