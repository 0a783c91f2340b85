// The batches of a run, step by step, made ahead of the model on a thread of their own.
#pragma once

#include "objectives/objective.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace attend {

// A place in the order of a run's batches.
struct DataPlace {
  std::int64_t epoch = 0;  // of the next batch
  std::int64_t batch = 0;  // in that epoch, of the next batch
};

struct StreamOptions {
  BatchSize size;
  std::int64_t accumulate = 1;  // batches to a step; the last step of an epoch may have fewer
  std::uint64_t seed = 1;
  bool twice = false;                // every example in two readings, the second behind the first (R-Drop)
  std::int64_t rank = 0, ranks = 1;  // of several processes, each reads its share of every step
};

// What one step learns from; of several processes, this one.
struct StepData {
  std::vector<Batch> batches;
  DataPlace after;    // where the next step continues
  double epochs = 0;  // read when the step is done
  bool ends_epoch = false;
};

// What is not finite of a step, by name (empty: the loss), and what the step has read.
std::string describe_not_finite(const StepData& step, const std::string& tensor);

class BatchStream {
 public:
  // Begins at `place`. Error where the objective does not let several processes share its batches out.
  // `objective` must outlive the stream, whose thread alone calls begin_epoch, batches and collate.
  BatchStream(Objective& objective, const StreamOptions& options, DataPlace place);
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  StepData next();                                                   // rethrows exceptions of the thread
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }  // of the first epoch it reads
  double first_epochs() const { return first_epochs_; }              // read before its first step

 private:
  void enter_epoch();
  std::vector<std::int64_t> share(const std::vector<std::int64_t>& batch, std::int64_t number) const;
  StepData make();
  double epochs() const;
  void run();

  Objective& objective_;
  StreamOptions options_;
  DataPlace place_;
  std::vector<std::vector<std::int64_t>> batches_;  // of place_.epoch
  std::int64_t steps_per_epoch_ = 0;
  double first_epochs_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<StepData> ready_;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace attend
