// A store whose calls end in time. The store of a run is on another machine: if the network between them is
// cut, or that machine stops, a call would wait for as long as TCP repeats itself, which is a quarter of an
// hour.
#pragma once

#include "parallel/engine.h"

#include <functional>

namespace attend {

// After a call that took longer than `limit` it is no longer used: every further call throws at once.
class BoundedStore : public SharedStore {
 public:
  BoundedStore(std::unique_ptr<SharedStore> store, std::chrono::milliseconds limit)
      : store_(std::move(store)), limit_(limit) {}
  void set(const std::string& name, std::string_view text) override;
  std::optional<std::string> get(const std::string& name) override;

 private:
  template <class Result>
  Result in_time(std::function<Result(SharedStore&)> work);

  std::shared_ptr<SharedStore> store_;  // also held by a call that is late
  std::chrono::milliseconds limit_;
  bool late_ = false;
};

}  // namespace attend
