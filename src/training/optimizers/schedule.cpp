#include "training/optimizers/schedule.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace attend {
namespace {

constexpr std::pair<const char*, ScheduleKind> kScheduleNames[] = {
    {"inverse-sqrt", ScheduleKind::inverse_sqrt},
    {"cosine", ScheduleKind::cosine},
    {"cosine-with-restarts", ScheduleKind::cosine_with_restarts},
    {"linear", ScheduleKind::linear},
    {"polynomial", ScheduleKind::polynomial},
    {"constant", ScheduleKind::constant},
    {"trapezoid", ScheduleKind::trapezoid},
    {"warmup-stable-decay", ScheduleKind::trapezoid},
    {"reduce-on-plateau", ScheduleKind::plateau},
};

double half_cosine(double share) {
  return 0.5 * (1 + std::cos(std::numbers::pi * share));
}

}  // namespace

double Schedule::rate(std::int64_t step) const {
  const std::int64_t left = total - step + 1, last = last_steps();
  if (last == 0 || left > last) return plain_rate(step);
  const double end = kind == ScheduleKind::trapezoid ? floor : 0;
  return end + (plain_rate(step) - end) * static_cast<double>(std::max<std::int64_t>(0, left)) /
                   static_cast<double>(last);
}

std::int64_t Schedule::last_steps() const {
  if (kind != ScheduleKind::trapezoid || cooldown > 0) return cooldown;
  return std::max<std::int64_t>(1, total / 5);
}

double Schedule::waves() const {
  return cycles.value_or(kind == ScheduleKind::cosine ? 0.5 : 1);
}

double Schedule::plain_rate(std::int64_t step) const {
  if (kind == ScheduleKind::relative_step) {
    const auto s = static_cast<double>(step);
    return std::min(warmup_init ? 1e-6 * s : 1e-2, 1 / std::sqrt(s));
  }
  const double down = peak - floor;
  if (step < warmup) {
    const double begin = kind == ScheduleKind::trapezoid ? floor : 0;  // as in transformers
    return begin + (peak - begin) * static_cast<double>(step) / static_cast<double>(warmup);
  }
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, total - warmup));
  const double share =
      std::min(1.0, static_cast<double>(std::max<std::int64_t>(0, step - 1 - warmup)) / steps);
  switch (kind) {
    case ScheduleKind::inverse_sqrt:
      return peak *
             std::sqrt(static_cast<double>(std::max<std::int64_t>(1, warmup)) / static_cast<double>(step));
    case ScheduleKind::cosine:
      return floor + down * half_cosine(2 * waves() * share);
    case ScheduleKind::cosine_with_restarts:
      return share < 1 ? floor + down * half_cosine(std::fmod(waves() * share, 1.0)) : floor;
    case ScheduleKind::linear:
      return floor + down * (1 - share);
    case ScheduleKind::polynomial:
      return floor + down * std::pow(1 - share, power);
    case ScheduleKind::constant:
    case ScheduleKind::trapezoid:
    case ScheduleKind::plateau:
      return peak;
    case ScheduleKind::relative_step:
      break;  // handled above
  }
  return peak;
}

void Schedule::check() const {
  if (!(peak > 0) || !std::isfinite(peak)) fail("`learning_rate`: expected a number above 0, found {}", peak);
  if (!(floor >= 0 && floor <= peak))
    fail("`min_rate`: expected a number from 0 to `learning_rate` ({}), found {}", peak, floor);
  if (warmup < 0) fail("`warmup`: expected 0 steps or more, found {}", warmup);
  if (cooldown < 0) fail("`cooldown`: expected 0 steps or more, found {}", cooldown);
  if (!(power > 0) || !std::isfinite(power)) fail("`power`: expected a number above 0, found {}", power);
  if (!(waves() > 0) || !std::isfinite(waves()))
    fail("`num_cycles`: expected a number above 0, found {}", waves());
  if (kind == ScheduleKind::cosine_with_restarts && waves() != std::floor(waves()))
    fail("`num_cycles`: expected a whole number for cosine-with-restarts, found {}", waves());
  if (needs_total(kind) && total <= 0)
    fail("`schedule` {}: expected a number of steps, to know where it ends; say `steps`", name_of(kind));
  if (cooldown > 0 && cooldown > total)
    fail("`cooldown` {}: expected as many steps or more in the whole run, found {}; say `steps`", cooldown,
         total);
}

bool needs_total(ScheduleKind kind) {
  return kind != ScheduleKind::inverse_sqrt && kind != ScheduleKind::constant &&
         kind != ScheduleKind::plateau && kind != ScheduleKind::relative_step;
}

ScheduleKind parse_schedule(const std::string& name) {
  std::string names;
  for (const auto& [known, kind] : kScheduleNames) {
    if (name == known) return kind;
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  fail("`schedule` {}: expected one of {}", name, names);
}

std::string name_of(ScheduleKind kind) {
  for (const auto& [name, known] : kScheduleNames)
    if (kind == known) return name;
  fail("unknown schedule {}", static_cast<int>(kind));
}

std::int64_t warmup_steps(double warmup, std::int64_t total) {
  if (!(warmup >= 0 && warmup < 1e15) || (warmup >= 1 && warmup != std::floor(warmup)))
    fail("`warmup` {}: expected a whole number of steps, or a share of all steps below 1", warmup);
  if (warmup == 0 || warmup >= 1) return static_cast<std::int64_t>(warmup);
  if (total <= 0) fail("`warmup` {}: a share of all steps needs their number; say `steps`", warmup);
  return static_cast<std::int64_t>(std::ceil(warmup * static_cast<double>(total)));
}

ReduceOnPlateau::State ReduceOnPlateau::after(State state, double figure) const {
  const double margin = higher_is_better ? 1 + threshold : 1 - threshold;
  const bool better =
      !std::isnan(figure) &&
      (!state.best || (higher_is_better ? figure > *state.best * margin : figure < *state.best * margin));
  if (better) {
    state.best = figure;
    state.worse = 0;
  } else if (++state.worse > patience) {
    state.factor = std::max(min_factor, state.factor * by);
    state.worse = 0;
  }
  return state;
}

void ReduceOnPlateau::check() const {
  if (!(by > 0 && by < 1)) fail("reduce-on-plateau: factor: expected a number between 0 and 1, found {}", by);
  if (patience < 0) fail("reduce-on-plateau: patience: expected 0 or more, found {}", patience);
  if (!(threshold >= 0 && threshold < 1))
    fail("reduce-on-plateau: threshold: expected a number from 0 to below 1, found {}", threshold);
  if (!(min_factor >= 0 && min_factor <= 1))
    fail("reduce-on-plateau: min factor: expected a number from 0 to 1, found {}", min_factor);
}

}  // namespace attend
