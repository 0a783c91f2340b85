// Batches the work of several threads: the first to arrive computes the inputs that have arrived meanwhile.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <vector>

namespace attend::serve {

// A result for each input, which does not depend on other inputs.
template <class In, class Out>
class Gathered {
 public:
  using Work = std::function<std::vector<Out>(const std::vector<In>& all)>;
  explicit Gathered(Work work) : work_(std::move(work)) {}

  // From any thread. While one batch is computed the next one gathers, so no thread waits for a batch to
  // fill.
  std::vector<Out> ask(std::vector<In> in) {
    Job job{std::move(in), {}, {}};
    std::unique_lock lock(mutex_);
    waiting_.push_back(&job);
    while (!job.done) {
      if (working_) {
        changed_.wait(lock);
        continue;
      }
      working_ = true;
      const std::vector<Job*> batch = take_batch();
      lock.unlock();
      do_together(batch);
      lock.lock();
      for (Job* const each : batch) each->done = true;
      working_ = false;
      changed_.notify_all();
    }
    if (job.error) std::rethrow_exception(job.error);
    return std::move(job.out);
  }

 private:
  static constexpr std::size_t kMax = 1024;  // inputs of a batch, if it has more than one job

  struct Job {
    std::vector<In> in;
    std::vector<Out> out;
    std::exception_ptr error;
    bool done = false;
  };

  std::vector<Job*> take_batch() {
    std::vector<Job*> batch;
    for (std::size_t inputs = 0; !waiting_.empty(); waiting_.pop_front()) {
      inputs += waiting_.front()->in.size();
      if (!batch.empty() && inputs > kMax) break;
      batch.push_back(waiting_.front());
    }
    return batch;
  }

  void do_together(const std::vector<Job*>& batch) {
    try {
      std::vector<In> all;
      for (const Job* job : batch) all.insert(all.end(), job->in.begin(), job->in.end());
      std::vector<Out> results = work_(all);
      auto next = results.begin();
      for (Job* const job : batch)
        for (std::size_t i = 0; i < job->in.size(); ++i) job->out.push_back(std::move(*next++));
    } catch (...) {
      if (batch.size() == 1) {
        batch.front()->error = std::current_exception();
        return;
      }
      for (Job* const job : batch)
        do_together({job});  // on failure, retry one by one, so that only the bad
                             // request fails
    }
  }

  Work work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Job*> waiting_;
  bool working_ = false;
};

// A result for each key, made for all equal keys together: `work(key, numbers)` gets the numbers of these
// keys, and returns their results in that order.
template <class Out, class Key, class Work>
std::vector<Out> by_key(const std::vector<Key>& keys, const Work& work) {
  std::map<Key, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < keys.size(); ++i) groups[keys[i]].push_back(i);
  std::vector<Out> results(keys.size());
  for (const auto& [key, numbers] : groups) {
    std::vector<Out> some = work(key, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) results[numbers[i]] = std::move(some[i]);
  }
  return results;
}

}  // namespace attend::serve
