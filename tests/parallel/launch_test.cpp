#include "parallel/launch.h"

#include "expect_error.h"

#include <map>

#include <gtest/gtest.h>

namespace attend {
namespace {

GetVariable variables(std::map<std::string, std::string> all) {
  return [all = std::move(all)](const std::string& name) -> std::optional<std::string> {
    const auto found = all.find(name);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Launch, OneProcessIsNoRun) {
  EXPECT_FALSE(place_in_run(variables({})));
  EXPECT_FALSE(place_in_run(variables({{"WORLD_SIZE", "1"}, {"RANK", "0"}})));
  // In a batch script, but not under srun or without an address, Slurm's variables mean nothing.
  EXPECT_FALSE(place_in_run(variables({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}})));
}

TEST(Launch, TorchrunSaysWhereAProcessIs) {
  const auto place = place_in_run(variables({{"WORLD_SIZE", "8"},
                                             {"RANK", "5"},
                                             {"LOCAL_RANK", "1"},
                                             {"LOCAL_WORLD_SIZE", "4"},
                                             {"MASTER_ADDR", "node0"},
                                             {"MASTER_PORT", "1234"},
                                             {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                             {"TORCHELASTIC_RESTART_COUNT", "2"}}));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 5);
  EXPECT_EQ(place->size, 8);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->local_size, 4);
  EXPECT_EQ(place->address, "node0");
  EXPECT_EQ(place->port, 1234);
  EXPECT_TRUE(place->store_runs);
  EXPECT_EQ(place->attempt, "2");
}

TEST(Launch, MpirunNeedsNoAddressOnOneMachine) {
  const std::map<std::string, std::string> one = {{"OMPI_COMM_WORLD_SIZE", "2"},
                                                  {"OMPI_COMM_WORLD_RANK", "1"},
                                                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  const auto place = place_in_run(variables(one));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->address, "127.0.0.1");
  EXPECT_EQ(place->rank, 1);
  std::map<std::string, std::string> two = one;
  two["OMPI_COMM_WORLD_SIZE"] = "4";
  EXPECT_ERROR("OMPI_COMM_WORLD_SIZE=4 without MASTER_ADDR", place_in_run(variables(two)));
}

TEST(Launch, SlurmCountsTheTasksOfItsStep) {
  const auto place = place_in_run(variables({{"SLURM_NTASKS", "8"},
                                             {"SLURM_STEP_NUM_TASKS", "6"},
                                             {"SLURM_PROCID", "3"},
                                             {"SLURM_LOCALID", "0"},
                                             {"SLURM_STEP_TASKS_PER_NODE", "3(x2)"},
                                             {"MASTER_ADDR", "node0"}}));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->size, 6);
  EXPECT_EQ(place->local_size, 3);
  EXPECT_EQ(place->port, 29500);
}

TEST(Launch, RefusesInvalidValues) {
  EXPECT_ERROR("WORLD_SIZE=2 without RANK", place_in_run(variables({{"WORLD_SIZE", "2"}})));
  EXPECT_ERROR("RANK=2: expected a number from 0 to 1",
               place_in_run(variables({{"WORLD_SIZE", "2"}, {"RANK", "2"}, {"MASTER_ADDR", "a"}})));
  EXPECT_ERROR("WORLD_SIZE=two: expected a whole number", place_in_run(variables({{"WORLD_SIZE", "two"}})));
  EXPECT_ERROR("MASTER_PORT=99999: expected a number from 1 to 65535",
               place_in_run(variables(
                   {{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "99999"}})));
}

}  // namespace
}  // namespace attend
