#include "base/log.h"

#include "base/progress.h"

#include <memory>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace attend {
namespace {

// Made at the first line, so that a program that says nothing pays nothing; never destroyed, so that
// destructors of static objects may still speak.
spdlog::logger& logger() {
  static spdlog::logger& made = *[] {
    auto* logger = new spdlog::logger("attend", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("attend: %v");
    return logger;
  }();
  return made;
}

}  // namespace

void log_line(std::string_view level, std::string_view text) {
  const bool remark = level == "info";
  if (remark && quiet()) return;
  hide_progress();
  if (remark) {
    logger().info("{}", text);
  } else {
    logger().warn("{}: {}", level, text);
  }
}

}  // namespace attend
