#include "parallel/bounded_store.h"

#include <future>
#include <stdexcept>
#include <thread>

namespace attend {

// Each call has its own thread, because a call that hangs cannot be ended: the thread is left behind with it.
template <class Result>
Result BoundedStore::in_time(std::function<Result(SharedStore&)> work) {
  if (late_) throw std::runtime_error("the store of the run does not answer");
  std::packaged_task<Result()> task([store = store_, work = std::move(work)] { return work(*store); });
  std::future<Result> result = task.get_future();
  std::thread thread(std::move(task));
  late_ = result.wait_for(limit_) != std::future_status::ready;
  if (late_) {
    thread.detach();
    throw std::runtime_error("the store of the run does not answer");
  }
  thread.join();
  return result.get();
}

void BoundedStore::set(const std::string& name, std::string_view text) {
  in_time<void>([name, text = std::string(text)](SharedStore& store) { store.set(name, text); });
}

std::optional<std::string> BoundedStore::get(const std::string& name) {
  return in_time<std::optional<std::string>>([name](SharedStore& store) { return store.get(name); });
}

}  // namespace attend
