// The batches of a run, step by step, made ahead of the model on a separate thread.
#pragma once

#include "objectives/base/objective.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

namespace attend {

// A position in the sequence of a run's batches.
struct DataPlace {
  std::int64_t epoch = 0;  // of the next batch
  std::int64_t batch = 0;  // index of the next batch in that epoch
};

struct StreamOptions {
  BatchSize size;
  std::int64_t accumulate = 1;  // batches per step; the last step of an epoch may have fewer
  std::uint64_t seed = 1;
  bool twice = false;                // every example twice, the second copies after the first (R-Drop)
  std::int64_t rank = 0, ranks = 1;  // with several processes, each reads its part of every step
};

// The data of one step; with several processes, only this one's.
struct StepData {
  std::vector<Batch> batches;
  DataPlace after;    // where the next step continues
  double epochs = 0;  // epochs read at the end of the step
  bool ends_epoch = false;
};

// The parts of a step that are not finite, by name (empty: the loss), and the examples that the step has
// read.
std::string describe_not_finite(const StepData& step, const std::string& tensor);

// The inputs of a step's batches, as safetensors with the names of transformers' arguments.
void write_batches(const StepData& data, const std::filesystem::path& folder, std::int64_t step,
                   std::int64_t rank);

class BatchStream {
 public:
  // Begins at `place`. Throws Error if the objective does not allow several processes to share its batches.
  // `objective` must outlive the stream. Only the stream's thread calls begin_epoch, batches and collate.
  BatchStream(Objective& objective, const StreamOptions& options, DataPlace place);
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  StepData next();                                                   // rethrows exceptions of the thread
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }  // in the first epoch that it reads
  double first_epochs() const { return first_epochs_; }              // epochs read before its first step

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
