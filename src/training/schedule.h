// Learning rates by step.
//
// Steps count from 1. In the warm-up, step s of W has the rate peak * s / W. (transformers is one step later
// there; its first step has rate 0 and changes nothing.) After the warm-up, or from the first step without
// one, rates are those of transformers.optimization: the first step still has the peak, and the last is one
// step before the end, so every step has an effect. Only inverse-sqrt is one step ahead throughout: it is the
// paper's formula, whose steps also count from 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace attend {

enum class ScheduleKind {  // after a linear warm-up:
  inverse_sqrt,            // proportional to step^-1/2 (Vaswani et al. 2017, section 5.3)
  cosine,                  // `cycles` waves of a cosine down to `floor`; 0.5: once down (arXiv:1608.03983)
  cosine_with_restarts,    // half a cosine `cycles` times, each from the peak
  linear,                  // linearly down to `floor`
  polynomial,              // down to `floor` with the share of steps that are left to the `power`
  constant,                // the peak
  // The peak, then down to `floor` in a straight line in `cooldown` steps, by default the last fifth:
  // warm-up,
  // stable, decay (Hägele et al. 2024, arXiv:2405.18392).
  trapezoid,
  plateau,  // the peak times the factor of a ReduceOnPlateau, which the loop keeps
  // Adafactor's own: min(0.01, step^-1/2), or with `warmup_init` min(1e-6 step, step^-1/2); no peak, no
  // warm-up.
  relative_step,
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double peak = 0;  // the highest rate, reached at the end of the warm-up
  double floor = 0;
  std::int64_t warmup = 1000, total = 0;  // steps; all that go down to an end need the total
  // In this many last steps the rate decays linearly to zero, for every kind of schedule: the weights settle.
  std::int64_t cooldown = 0;
  double power = 1;
  std::optional<double> cycles = {};  // absent: 0.5 for cosine, 1 for cosine_with_restarts
  bool warmup_init = false;

  double rate(std::int64_t step) const;  // step counts from 1
  // Error if a number is out of range or the total is needed and not known.
  void check() const;

 private:
  double plain_rate(std::int64_t step) const;  // without the cooldown
  std::int64_t last_steps() const;             // of the cooldown
  double waves() const;                        // cycles, or its default
};

ScheduleKind parse_schedule(const std::string& name);  // Error that lists the names
// Whether the rate decays to an end, so that the total number of steps must be known.
bool needs_total(ScheduleKind kind);
std::string name_of(ScheduleKind kind);

// Steps of a warm-up that is given as such or, below 1, as a share of the total, rounded up as transformers
// does. Error for anything else, and for a share of an unknown total (0).
std::int64_t warmup_steps(double warmup, std::int64_t total);

// Lowers the rate when a validation's figure no longer gets better, as torch.optim.lr_scheduler.
// ReduceLROnPlateau: after more than `patience` validations in a row without a figure that is better than the
// best by the share `threshold` of it.
struct ReduceOnPlateau {
  double by = 0.1;  // each time
  std::int64_t patience = 10;
  double threshold = 1e-4;
  double least = 0;  // of the factor
  bool higher_is_better = false;

  // The state that a checkpoint stores.
  struct State {
    double factor = 1;  // of the rate
    std::optional<double> best;
    std::int64_t worse = 0;  // validations since
  };
  // The state after one more validation. A figure that is not a number is not better.
  State after(State state, double figure) const;
  void check() const;  // Error if a number is out of range
};

}  // namespace attend
