#include "serve/http/request_log.h"

#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <random>

namespace attend::serve {
namespace {

std::string now_as_text() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text, duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000);
}

}  // namespace

PresentRequest& present_request() {
  thread_local PresentRequest request;
  return request;
}

std::string request_id(std::string_view given) {
  constexpr std::size_t kLongest = 128;
  const auto is_visible = [](char c) { return c > ' ' && c < 0x7f; };
  if (!given.empty() && given.size() <= kLongest && std::ranges::all_of(given, is_visible))
    return std::string(given);
  static const std::uint64_t begin = std::random_device()() | std::uint64_t{std::random_device()()} << 32;
  static std::atomic<std::uint64_t> count = 0;
  return fmt::format("{:016x}{:08x}", begin, ++count);
}

void write_log_line(std::string_view level, const Json& fields) {
  Json line = {{"time", now_as_text()}, {"level", level}};
  line.update(fields);
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void log_as_json() {
  set_log([](LogLevel level, std::string_view text) {
    write_log_line(level == LogLevel::warning ? "warning" : "info", {{"message", text}});
  });
}

}  // namespace attend::serve
