#include "training/recipe.h"

#include "objectives/registry.h"
#include "training/schedule.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// A limit in minutes says nothing of how many steps there will be, and a share of these is the warm-up.
TEST(Recipe, FineTuningWithALimitInMinutesHasAPlanInEpochs) {
  Recipe limited;
  limited.objective = "classification";
  limited.minutes = 1;
  const Recipe whole = complete(limited, find_objective("classification"), 64);
  EXPECT_EQ(whole.epochs, 3);
  EXPECT_EQ(whole.minutes, 1);
  EXPECT_EQ(warmup_steps(*whole.warmup, 1000), 60);

  Recipe said = limited;  // whoever says the warm-up in steps trains for the whole time
  said.warmup = 100;
  EXPECT_EQ(complete(said, find_objective("classification"), 64).epochs, 0);

  limited.steps = 10;
  EXPECT_EQ(complete(limited, find_objective("classification"), 64).epochs, 0);
}

}  // namespace
}  // namespace attend
