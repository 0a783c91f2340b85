#include "training/optimizers/schedule.h"

#include "base/error.h"
#include "base/file.h"
#include "expect_error.h"
#include "formats/json/json.h"
#include "temporary_directory.h"
#include "test_data.h"

#include <cmath>

#include <gtest/gtest.h>

namespace attend {
namespace {

// tests/oracle/make_optimizer_goldens.py
Json goldens(const char* part) {
  return read_json(test_data() / "optimizers" / "goldens.json").at(part);
}

TEST(Schedule, FollowsThePaper) {
  const Schedule paper{ScheduleKind::inverse_sqrt, 1 / std::sqrt(512.0 * 4000), 0, 4000, 0};
  for (std::int64_t step : {1, 100, 3999, 4000, 4001, 100000}) {
    const double s = static_cast<double>(step);
    EXPECT_NEAR(paper.rate(step), std::pow(512, -0.5) * std::min(std::pow(s, -0.5), s * std::pow(4000, -1.5)),
                1e-12);
  }
  Schedule cooling = paper;
  cooling.total = 10000, cooling.cooldown = 1000;
  EXPECT_EQ(cooling.rate(9000), paper.rate(9000));
  EXPECT_DOUBLE_EQ(cooling.rate(9501), paper.rate(9501) / 2);
  EXPECT_DOUBLE_EQ(cooling.rate(10000), paper.rate(10000) / 1000);
}

// In the warm-up, and always with inverse-sqrt, our step has the learning rate of their next one
// (schedule.h).
TEST(Schedule, FollowsTransformers) {
  const Json all = goldens("schedules");
  ASSERT_EQ(all.size(), 34u);
  for (const Json& golden : all) {
    Schedule schedule{parse_schedule(golden.at("kind")), golden.at("peak"), golden.value("floor", 0.0),
                      golden.at("warmup"), golden.at("total")};
    schedule.cooldown = golden.value("cooldown", 0);
    schedule.power = golden.value("power", 1.0);
    if (golden.contains("cycles")) schedule.cycles = golden.at("cycles").get<double>();
    schedule.check();
    const auto rates = golden.at("rates").get<std::vector<double>>();
    for (std::int64_t step = 1; step <= schedule.total; ++step) {
      const bool ahead = step <= schedule.warmup || schedule.kind == ScheduleKind::inverse_sqrt;
      EXPECT_NEAR(schedule.rate(step), rates[static_cast<std::size_t>(ahead ? step : step - 1)], 1e-9)
          << golden.at("kind") << ", warm-up " << schedule.warmup << ", step " << step;
    }
  }
}

TEST(Schedule, NoStepIsWithoutEffect) {
  for (const char* name : {"linear", "cosine", "cosine-with-restarts", "polynomial", "trapezoid"})
    for (const std::int64_t warmup : {0, 1, 10, 20}) {
      Schedule schedule{parse_schedule(name), 1, 0, warmup, 20};
      for (std::int64_t step = 1; step <= 20; ++step) EXPECT_GT(schedule.rate(step), 0) << name << step;
    }
}

TEST(Schedule, RefusesWhatItCannotFollow) {
  const auto refuses = [](const char* why, const Schedule& schedule) {
    const std::string error = error_of([&] { schedule.check(); });
    EXPECT_TRUE(contains(error, why)) << error;
  };
  refuses("`schedule` linear: expected a number of steps", {ScheduleKind::linear, 0.1, 0, 10, 0});
  refuses("`schedule` trapezoid: expected a number of steps", {ScheduleKind::trapezoid, 0.1, 0, 10, 0});
  refuses("`learning_rate`: expected a number above 0", {ScheduleKind::linear, 0, 0, 10, 100});
  refuses("`learning_rate`: expected a number above 0", {ScheduleKind::linear, NAN, 0, 10, 100});
  refuses("`min_rate`: expected a number from 0 to `learning_rate`",
          {ScheduleKind::linear, 0.1, 0.2, 10, 100});
  refuses("`warmup`: expected 0 steps or more", {ScheduleKind::linear, 0.1, 0, -1, 100});
  refuses("`cooldown` 101: expected as many steps", {ScheduleKind::constant, 0.1, 0, 10, 100, 101});
  refuses("`power`: expected a number above 0", {ScheduleKind::polynomial, 0.1, 0, 10, 100, 0, 0});
  refuses("`num_cycles`: expected a number above 0",
          {ScheduleKind::cosine_with_restarts, 0.1, 0, 10, 100, 0, 1, 0});
  refuses("`num_cycles`: expected a whole number",
          {ScheduleKind::cosine_with_restarts, 0.1, 0, 10, 100, 0, 1, 1.5});
  Schedule{ScheduleKind::inverse_sqrt, 0.1, 0, 10, 0}.check();
  EXPECT_TRUE(contains(error_of([] { parse_schedule("cosin"); }), "`schedule` cosin: expected one of"));
}

TEST(Schedule, AWarmUpBelowOneIsAShareOfTheTotal) {
  EXPECT_EQ(warmup_steps(0.06, 1010), 61);  // rounded up
  EXPECT_EQ(warmup_steps(0.5, 3), 2);
  EXPECT_EQ(warmup_steps(1, 1000), 1);
  EXPECT_EQ(warmup_steps(400, 0), 400);
  EXPECT_EQ(warmup_steps(0, 0), 0);
  for (const double wrong : {-1.0, 1.5, double{NAN}, double{INFINITY}})
    EXPECT_ERROR("expected a whole number of steps, or a share", warmup_steps(wrong, 100)) << wrong;
  EXPECT_ERROR("a share of all steps needs their number", warmup_steps(0.1, 0));
}

TEST(ReduceOnPlateau, FollowsTorch) {
  for (const Json& golden : goldens("plateaus")) {
    const ReduceOnPlateau plateau{golden.at("by"), golden.at("patience"), golden.at("threshold"),
                                  golden.at("least"), golden.at("higher_is_better")};
    plateau.check();
    ReduceOnPlateau::State state;
    for (std::size_t i = 0; i < golden.at("figures").size(); ++i) {
      state = plateau.after(state, golden.at("figures")[i]);
      EXPECT_NEAR(state.factor, golden.at("factors")[i].get<double>(), 1e-9) << i;
    }
    EXPECT_LT(state.factor, 1) << "a case in which nothing happens";
  }
  const ReduceOnPlateau plateau{.patience = 0};
  EXPECT_EQ(plateau.after({}, NAN).factor, plateau.by) << "what is not a number is not better";
  EXPECT_ERROR("reduce-on-plateau: factor: expected a number", (ReduceOnPlateau{.by = 1}.check()));
}

}  // namespace
}  // namespace attend
