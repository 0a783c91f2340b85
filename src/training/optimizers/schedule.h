// Learning rates by step.
//
// Steps count from 1. In the warm-up, step s of W has the rate peak * s / W. (transformers is one step later:
// its first step has rate 0 and changes nothing.) After the warm-up, or from the first step without one,
// rates are those of transformers.optimization: the first step still has the peak, and the last is one step
// before the end, so every step has an effect. Only inverse-sqrt is one step ahead everywhere, because the
// paper's formula also counts steps from 1.
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
  polynomial,              // down to `floor`, proportional to (the fraction of remaining steps) ^ `power`
  constant,                // the peak
  // The peak, then down to `floor` in a straight line in `cooldown` steps, by default the last fifth:
  // warm-up,
  // stable, decay (Hägele et al. 2024, arXiv:2405.18392).
  trapezoid,
  plateau,  // the peak times the factor of a ReduceOnPlateau, which the training loop keeps
  // Adafactor's own: min(0.01, step^-1/2), or with `warmup_init` min(1e-6 step, step^-1/2); no peak, no
  // warm-up.
  relative_step,
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::inverse_sqrt;
  double peak = 0;  // the highest rate, reached at the end of the warm-up
  double floor = 0;
  std::int64_t warmup = 1000, total = 0;  // steps; schedules that decay to an end need the total
  // In the last steps, this many, the rate decays linearly to zero, for every kind of schedule, so that the
  // weights settle.
  std::int64_t cooldown = 0;
  double power = 1;
  std::optional<double> cycles = {};  // absent: 0.5 for cosine, 1 for cosine_with_restarts
  bool warmup_init = false;

  double rate(std::int64_t step) const;  // step counts from 1
  // Throws Error if a value is out of range or the total is needed and unknown.
  void check() const;

 private:
  double plain_rate(std::int64_t step) const;  // without the cooldown
  std::int64_t last_steps() const;             // of the cooldown
  double waves() const;                        // cycles, or its default
};

ScheduleKind parse_schedule(const std::string& name);  // throws Error that lists the names
// Whether the rate decays to an end, so that the total number of steps must be known.
bool needs_total(ScheduleKind kind);
std::string name_of(ScheduleKind kind);

// The steps of a warm-up: given directly or, below 1, as a fraction of the total, rounded up as in
// transformers. Throws Error for anything else, and for a fraction of an unknown total (0).
std::int64_t warmup_steps(double warmup, std::int64_t total);

// Lowers the rate when a validation metric stops improving, as torch.optim.lr_scheduler. ReduceLROnPlateau:
// after more than `patience` validations in a row that do not improve the best metric by its fraction
// `threshold`.
struct ReduceOnPlateau {
  double by = 0.1;  // factor each time
  std::int64_t patience = 10;
  double threshold = 1e-4;
  double min_factor = 0;  // min of the factor
  bool higher_is_better = false;

  // The state that a checkpoint stores.
  struct State {
    double factor = 1;  // of the rate
    std::optional<double> best;
    std::int64_t worse = 0;  // validations since the best
  };
  // The state after one more validation. NaN is never better.
  State after(State state, double figure) const;
  void check() const;  // throws Error if a value is out of range
};

}  // namespace attend
