// Learning rates by step.
#pragma once

#include <cstdint>
#include <string>

namespace attend {

enum class ScheduleKind {
  inverse_sqrt,  // Vaswani et al. 2017, section 5.3: linear warm-up, then proportional to step^-1/2
  cosine,        // linear warm-up, then half a cosine down to `floor`
  linear,        // linear warm-up, then linearly down to `floor`
  constant,      // linear warm-up, then the peak
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double peak = 0;  // the highest rate, reached at the end of the warm-up
  double floor = 0;
  std::int64_t warmup = 1000, total = 0;  // steps; cosine and linear need the total

  double rate(std::int64_t step) const;  // step counts from 1
};

ScheduleKind parse_schedule(const std::string& name);  // Error that lists the names

}  // namespace attend
