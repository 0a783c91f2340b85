// The processes of a run, as the rest of the program sees them: how many there are, which one this is, sums
// over all. In a run of one process every call exists and does nothing.
#pragma once

#include "base/error.h"
#include "parallel/heartbeat.h"
#include "parallel/launch.h"

#include <functional>
#include <vector>

namespace attend {

// Another process is lost, and this one cannot go on. The engine's threads cannot be stopped, so the process
// should end soon, without running destructors (std::_Exit).
class LostRank : public Error {
 public:
  explicit LostRank(const std::string& text) : Error(text, ErrorKind::system) {}
};

class Ranks {
 public:
  Ranks() = default;  // one process
  // Waits for all others, up to `timeout` seconds; an Error names those that are missing.
  Ranks(std::unique_ptr<Engine> engine, const ProcessPlace& place, double timeout);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // The ranks of this process's environment (launch.h); loads the engine if there are several.
  static std::unique_ptr<Ranks> join(double timeout);

  std::int64_t rank() const { return place_.rank; }
  std::int64_t size() const { return place_.size; }
  bool alone() const { return place_.size == 1; }
  bool first() const { return place_.rank == 0; }

  // What this process is about to do, such as "step 12"; the others report it if this process is lost.
  void at(std::string place);

  // A collective that has started. The numbers must stay valid until wait().
  class Work {
   public:
    virtual ~Work() = default;
    virtual void wait() = 0;
  };
  // In place, over all processes.
  std::unique_ptr<Work> begin_sum(std::span<float> numbers);
  std::unique_ptr<Work> begin_sum_halves(std::span<std::uint16_t> numbers);
  void sum(std::span<double> numbers);
  double sum(double number);
  // Copies what rank `root` has to all processes.
  std::unique_ptr<Work> begin_broadcast(std::span<std::byte> bytes, std::int64_t root);
  void broadcast(std::span<std::byte> bytes, std::int64_t root = 0);
  std::string broadcast(std::string text, std::int64_t root = 0);
  // The bytes of each rank, on all processes.
  std::vector<std::string> gather(std::string_view bytes);
  // The same if all have equally many: `all` receives them in the order of the ranks.
  void gather(std::span<std::byte> own, std::span<std::byte> all);

  // Called before each collective outside of a Meeting: until all processes are here, this one takes part in
  // what the others still do (training/processes/sharded_layers.h).
  void before_collectives(std::function<void()> wait) { wait_for_others_ = std::move(wait); }
  // Its collectives begin at once.
  class Meeting {
   public:
    explicit Meeting(Ranks& ranks) : ranks_(ranks), before_(std::exchange(ranks.in_meeting_, true)) {}
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;
    ~Meeting() { ranks_.in_meeting_ = before_; }

   private:
    Ranks& ranks_;
    bool before_;
  };

  // Ends the run for all; the process with the store waits until the others have left.
  void leave();
  // This process ends because of this error; the others report it.
  void fails_with(const std::string& error);

 private:
  class Watched;
  template <class Begin>
  std::unique_ptr<Work> begin(const char* what, const Begin& begin);
  void wait(const char* what, Pending& work);
  [[noreturn]] void lost(const char* what, const std::string& why);
  void wait_for_all(double timeout);

  ProcessPlace place_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<SharedStore> store_;
  std::unique_ptr<Heartbeat> heartbeat_;
  std::function<void()> wait_for_others_;
  bool in_meeting_ = false;
  bool lost_ = false;
};

}  // namespace attend
