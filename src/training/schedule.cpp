#include "training/schedule.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attend {

double Schedule::rate(std::int64_t step) const {
  const std::int64_t left = total - step + 1;
  if (cooldown == 0 || left > cooldown) return plain_rate(step);
  return plain_rate(step) * static_cast<double>(std::max<std::int64_t>(0, left)) /
         static_cast<double>(cooldown);
}

double Schedule::plain_rate(std::int64_t step) const {
  if (step < warmup) return peak * static_cast<double>(step) / static_cast<double>(warmup);
  const double after = static_cast<double>(step - warmup);
  const double share = total > warmup ? std::min(1.0, after / static_cast<double>(total - warmup)) : 1;
  switch (kind) {
    case ScheduleKind::inverse_sqrt:
      return peak *
             std::sqrt(static_cast<double>(std::max<std::int64_t>(1, warmup)) / static_cast<double>(step));
    case ScheduleKind::cosine:
      return floor + (peak - floor) * 0.5 * (1 + std::cos(std::numbers::pi * share));
    case ScheduleKind::linear:
      return floor + (peak - floor) * (1 - share);
    case ScheduleKind::constant:
      return peak;
  }
  return peak;
}

ScheduleKind parse_schedule(const std::string& name) {
  if (name == "inverse-sqrt") return ScheduleKind::inverse_sqrt;
  if (name == "cosine") return ScheduleKind::cosine;
  if (name == "linear") return ScheduleKind::linear;
  if (name == "constant") return ScheduleKind::constant;
  fail("--schedule {}: expected inverse-sqrt, cosine, linear or constant", name);
}

}  // namespace attend
