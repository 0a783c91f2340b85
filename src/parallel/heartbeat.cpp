#include "parallel/heartbeat.h"

#include "base/error.h"

#include <chrono>
#include <vector>

namespace attend {
namespace {

using namespace std::chrono_literals;
constexpr auto kBeat = 500ms;
constexpr auto kSilence = 3s;  // a process is lost after this time without a beat
constexpr const char* kLastWords = "last-words";

std::string beat_name(std::int64_t rank) {
  return fmt::format("beat/{}", rank);
}

struct Beat {
  std::string number, place;
  bool waits = false;
};

// The format is: NUMBER W PLACE
Beat read_beat(const std::string& text) {
  const std::size_t number = text.find(' ');
  if (number == std::string::npos || number + 2 >= text.size()) return {};
  return {text.substr(0, number), text.substr(number + 3), text[number + 1] == '1'};
}

std::vector<Beat> read_beats(SharedStore& store, std::int64_t size) {
  std::vector<Beat> beats;
  for (std::int64_t rank = 0; rank < size; ++rank)
    beats.push_back(read_beat(store.get(beat_name(rank)).value_or("")));
  return beats;
}

std::string say(const std::vector<std::int64_t>& ranks, const std::vector<Beat>& beats, const char* what) {
  std::string text;
  for (const std::int64_t rank : ranks) {
    const std::string& place = beats[static_cast<std::size_t>(rank)].place;
    if (text.size() > 400) return text + " and others";
    text += fmt::format("{}rank {} {} ({})", text.empty() ? "" : ", ", rank, what,
                        place.empty() ? "without any message" : "at " + place);
  }
  return text;
}

}  // namespace

Heartbeat::Heartbeat(std::unique_ptr<SharedStore> store, std::int64_t rank)
    : store_(std::move(store)), name_(beat_name(rank)), thread_([this] { run(); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Heartbeat::at(std::string place) {
  const std::lock_guard lock(mutex_);
  place_ = std::move(place);
}

void Heartbeat::waits(bool waits) {
  const std::lock_guard lock(mutex_);
  waits_ = waits;
}

std::string Heartbeat::place() const {
  const std::lock_guard lock(mutex_);
  return place_;
}

void Heartbeat::run() {
  std::unique_lock lock(mutex_);
  for (std::uint64_t number = 1; !stopping_; ++number) {
    const std::string beat = fmt::format("{} {} {}", number, waits_ ? 1 : 0, place_);
    lock.unlock();
    try {
      store_->set(name_, beat);
    } catch (const std::exception&) {
      // The store has ended, as it does after a run. If the run is not over, the next collective reports it.
      return;
    }
    lock.lock();
    changed_.wait_for(lock, kBeat, [this] { return stopping_; });
  }
}

void leave_last_words(SharedStore& store, std::int64_t rank, const std::string& error) {
  try {
    if (!store.get(kLastWords)) store.set(kLastWords, fmt::format("{} {}", rank, error));
  } catch (const std::exception&) {
    // The other processes cannot be reached. The error itself is written to standard error.
  }
}

std::optional<std::string> last_words(SharedStore& store) {
  const std::optional<std::string> words = store.get(kLastWords);
  if (!words) return {};
  const std::size_t space = words->find(' ');
  return fmt::format("rank {} has ended: {}", words->substr(0, space), words->substr(space + 1));
}

std::string find_culprit(SharedStore& store, std::int64_t rank, std::int64_t size) {
  const auto end = std::chrono::steady_clock::now() + kSilence;
  const std::vector<Beat> before = read_beats(store, size);
  while (true) {
    if (const auto words = last_words(store)) return *words;
    if (std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(kBeat / 2);
  }
  const std::vector<Beat> after = read_beats(store, size);
  std::vector<std::int64_t> silent, busy;
  for (std::int64_t other = 0; other < size; ++other) {
    const auto i = static_cast<std::size_t>(other);
    if (other == rank) continue;
    if (after[i].number.empty() || after[i].number == before[i].number)
      silent.push_back(other);
    else if (!before[i].waits)
      busy.push_back(other);
  }
  if (!silent.empty()) return say(silent, after, "is lost or hangs");
  if (!busy.empty()) return say(busy, after, "is late");
  return "all others are alive and waiting too: the network between them does not work";
}

}  // namespace attend
