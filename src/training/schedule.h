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
  std::int64_t warmup = 1000, total = 0;  // steps; cosine, linear and a cooldown need the total
  // In the last so many steps the rate falls to nothing in a straight line, whatever the kind: the weights
  // settle (Hägele et al. 2024, arXiv:2405.18392).
  std::int64_t cooldown = 0;

  double rate(std::int64_t step) const;  // step counts from 1

 private:
  double plain_rate(std::int64_t step) const;  // without the cooldown
};

ScheduleKind parse_schedule(const std::string& name);  // Error that lists the names

}  // namespace attend
