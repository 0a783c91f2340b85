#include "parallel/ranks.h"

#include "parallel/bounded_store.h"
#include "parallel/load_engine.h"

#include <algorithm>
#include <chrono>

namespace attend {
namespace {

using Clock = std::chrono::steady_clock;

std::string here(std::int64_t rank) {
  return fmt::format("here/{}", rank);
}

// What an engine's message says went wrong, without its source line and its advice: of "[pair.cc:537] Read
// error. This is typically ..." it is "Read error".
std::string_view reason(std::string_view message) {
  if (message.starts_with('['))
    if (const std::size_t end = message.find("] "); end != message.npos) message.remove_prefix(end + 2);
  return message.substr(0, std::min(message.find(". "), message.find('\n')));
}

struct Done : Ranks::Work {
  void wait() override {}
};

}  // namespace

class Ranks::Watched : public Ranks::Work {
 public:
  Watched(Ranks& ranks, const char* what, std::unique_ptr<Pending> work)
      : ranks_(ranks), what_(what), work_(std::move(work)) {}
  void wait() override { ranks_.wait(what_, *work_); }

 private:
  Ranks& ranks_;
  const char* what_;
  std::unique_ptr<Pending> work_;
};

Ranks::Ranks(std::unique_ptr<Engine> engine, const ProcessPlace& place, double timeout)
    : place_(place), engine_(std::move(engine)) {
  const auto open_store = [&] {
    return std::make_unique<BoundedStore>(
        engine_->open_store(), std::chrono::milliseconds(static_cast<std::int64_t>(timeout * 1000)));
  };
  store_ = open_store();
  heartbeat_ = std::make_unique<Heartbeat>(open_store(), place.rank);
  wait_for_all(timeout);
  try {
    engine_->connect();
  } catch (const std::exception& error) {
    lost("connecting with all", error.what());
  }
}

Ranks::~Ranks() {
  if (!lost_) return;
  // Their destructors would wait for processes that cannot be reached.
  static_cast<void>(engine_.release());
  static_cast<void>(store_.release());
  static_cast<void>(heartbeat_.release());
}

std::unique_ptr<Ranks> Ranks::join(double timeout) {
  const std::optional<ProcessPlace> place = place_in_run();
  if (!place) return std::make_unique<Ranks>();
  try {
    return std::make_unique<Ranks>(load_engine(*place, timeout), *place, timeout);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail_system("{}", error.what());
  }
}

void Ranks::wait_for_all(double timeout) {
  store_->set(here(place_.rank), "1");
  const auto end = Clock::now() + std::chrono::duration<double>(timeout);
  std::vector<std::int64_t> missing;
  do {
    if (!missing.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    missing.clear();
    for (std::int64_t rank = 0; rank < place_.size; ++rank)
      if (!store_->get(here(rank))) missing.push_back(rank);
    if (missing.empty()) return;
  } while (Clock::now() < end);
  std::string names;
  for (std::size_t i = 0; i < missing.size() && i < 20; ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", missing[i]);
  lost_ = true;
  throw LostRank(
      fmt::format("rank {} of {} has waited for {:g} s at {}:{}, and {} has not arrived: rank {}{}",
                  place_.rank, place_.size, timeout, place_.address, place_.port,
                  missing.size() == 1 ? "another" : fmt::format("{} others", missing.size()), names,
                  missing.size() > 20 ? ", ..." : ""));
}

void Ranks::at(std::string place) {
  if (heartbeat_) heartbeat_->at(std::move(place));
}

template <class Begin>
std::unique_ptr<Ranks::Work> Ranks::begin(const char* what, const Begin& begin) {
  if (alone()) return std::make_unique<Done>();
  if (wait_for_others_ && !in_meeting_) {
    const Meeting meeting(*this);
    wait_for_others_();
  }
  if (lost_) throw LostRank("another rank is lost already");
  try {
    return std::make_unique<Watched>(*this, what, begin());
  } catch (const std::exception& error) {
    lost(what, error.what());
  }
}

// While waiting, checks whether another rank has ended with an error, which may be long before its
// connections end.
void Ranks::wait(const char* what, Pending& work) {
  if (lost_) throw LostRank("another rank is lost already");
  heartbeat_->waits(true);
  try {
    while (!work.wait_for(std::chrono::seconds(1)))
      if (last_words(*store_)) throw std::runtime_error("it reported an error");
  } catch (const std::exception& error) {
    lost(what, error.what());
  }
  heartbeat_->waits(false);
}

void Ranks::lost(const char* what, const std::string& why) {
  lost_ = true;
  std::string culprit;
  try {
    culprit = find_culprit(*store_, place_.rank, place_.size);
  } catch (const std::exception&) {
    culprit = place_.store_runs ? fmt::format(
                                      "the store at {}:{} does not answer: the launcher of the run has "
                                      "ended, or the network is interrupted",
                                      place_.address, place_.port)
                                : fmt::format("rank 0 is lost: its store at {}:{} does not answer",
                                              place_.address, place_.port);
  }
  throw LostRank(fmt::format("rank {} of {}, at {}, {}: {} [{}]", place_.rank, place_.size,
                             heartbeat_->place(), what, culprit, reason(why)));
}

std::unique_ptr<Ranks::Work> Ranks::begin_sum(std::span<float> numbers) {
  return begin("adding up gradients", [&] { return engine_->sum(numbers); });
}

std::unique_ptr<Ranks::Work> Ranks::begin_sum_halves(std::span<std::uint16_t> numbers) {
  return begin("adding up weights", [&] { return engine_->sum_halves(numbers); });
}

void Ranks::sum(std::span<double> numbers) {
  if (alone() || numbers.empty()) return;
  // If another rank is lost, the engine may still write to it; in that case it is never freed.
  auto* const sums = new std::vector<double>(numbers.begin(), numbers.end());
  begin("adding up counts", [&] { return engine_->sum(std::span(*sums)); })->wait();
  std::ranges::copy(*sums, numbers.begin());
  delete sums;
}

double Ranks::sum(double number) {
  sum(std::span(&number, 1));
  return number;
}

void Ranks::broadcast(std::span<std::byte> bytes, std::int64_t root) {
  if (!bytes.empty()) begin_broadcast(bytes, root)->wait();
}

std::unique_ptr<Ranks::Work> Ranks::begin_broadcast(std::span<std::byte> bytes, std::int64_t root) {
  return begin("broadcasting", [&] { return engine_->broadcast(bytes, root); });
}

std::string Ranks::broadcast(std::string text, std::int64_t root) {
  std::uint64_t size = text.size();
  broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
  text.resize(size);
  broadcast(std::as_writable_bytes(std::span(text)), root);
  return text;
}

std::vector<std::string> Ranks::gather(std::string_view text) {
  if (alone()) return {std::string(text)};
  std::uint64_t size = text.size();
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(place_.size));
  gather(std::as_writable_bytes(std::span(&size, 1)), std::as_writable_bytes(std::span(sizes)));
  const std::uint64_t longest = *std::ranges::max_element(sizes);
  std::vector<std::string> texts(sizes.size());
  if (longest == 0) return texts;
  std::string padded(text), all(longest * sizes.size(), '\0');
  padded.resize(longest);
  gather(std::as_writable_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)));
  for (std::size_t i = 0; i < sizes.size(); ++i) texts[i] = all.substr(i * longest, sizes[i]);
  return texts;
}

void Ranks::gather(std::span<std::byte> own, std::span<std::byte> all) {
  begin("gathering", [&] { return engine_->gather(own, all); })->wait();
}

void Ranks::leave() {
  if (alone() || lost_) return;
  at("the end");
  gather("");
  heartbeat_.reset();
  if (place_.store_runs) return;
  // Rank 0 has the store, which the others still read until they have ended.
  store_->set(fmt::format("gone/{}", place_.rank), "1");
  const auto end = Clock::now() + std::chrono::seconds(5);
  for (std::int64_t rank = 1; first() && rank < place_.size; ++rank)
    while (!store_->get(fmt::format("gone/{}", rank)) && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void Ranks::fails_with(const std::string& error) {
  if (alone() || lost_) return;
  lost_ = true;
  leave_last_words(*store_, place_.rank, error);
  heartbeat_.reset();
  // If this process runs the store, the others need time to read the error.
  if (first() && !place_.store_runs) std::this_thread::sleep_for(std::chrono::seconds(2));
}

}  // namespace attend
