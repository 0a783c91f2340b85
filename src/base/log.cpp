#include "base/log.h"

#include "base/progress.h"
#include "base/standard_error.h"

#include <memory>
#include <mutex>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace attend {
namespace {

// Never destroyed, so that destructors of static objects can still log.
struct Log {
  std::mutex mutex;
  LogHandler handler;
};
Log& log() {
  static Log& made = *new Log;
  return made;
}

// Created by the first line, so that it costs nothing without log lines.
spdlog::logger& standard_error() {
  static spdlog::logger& made = *[] {
    auto* logger = new spdlog::logger("attend", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("attend: %v");
    return logger;
  }();
  return made;
}

}  // namespace

void v1::set_log(LogHandler handler) {
  const std::lock_guard lock(log().mutex);
  log().handler = std::move(handler);
}

void v1::log_to_standard_error() {
  set_quiet(false);
  set_log(write_to_standard_error);
}

void write_to_standard_error(LogLevel level, std::string_view text) {
  if (level == LogLevel::remark && quiet()) return;
  hide_progress();
  if (level == LogLevel::remark)
    standard_error().info("{}", text);
  else
    standard_error().warn("warning: {}", text);
}

void log_line(LogLevel level, std::string_view text) {
  const std::lock_guard lock(log().mutex);
  if (log().handler) log().handler(level, text);
}

}  // namespace attend
