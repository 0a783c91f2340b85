#include "base/cores.h"

#include "temporary_directory.h"

#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

namespace attend {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(UsableCores, AreThoseOfTheMachineAtMost) {
  EXPECT_GE(usable_cores(), 1u);
  EXPECT_LE(usable_cores(), std::max(1u, std::thread::hardware_concurrency()));
}

TEST(LeaveCore, GoesToAnotherAndMayComeBack) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  bool gone = false;  // the system may bring it back at once, but not always
  for (int tries = 0; tries < 100 && !gone; ++tries) {
    const int core = this_core();
    ASSERT_GE(core, 0);
    leave_core(core);
    gone = this_core() != core;
  }
  EXPECT_EQ(gone, CPU_COUNT(&before) > 1);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(LeaveCore, StaysOnAnother) {
  leave_core(-1);
  leave_core(1 << 20);  // of no machine
  EXPECT_GE(this_core(), 0);
}

TEST(CoresOfGroups, OfVersionTwoAreTheLeastOnTheWayDown) {
  const TemporaryDirectory root;
  write(root.path() / "a/cpu.max", "150000 100000\n");
  write(root.path() / "a/b/cpu.max", "max 100000\n");
  write(root.path() / "a/b/c/cpu.max", "400000 100000\n");
  EXPECT_EQ(cores_of_groups(root.path(), "0::/a/b/c\n"), 1.5);
  EXPECT_EQ(cores_of_groups(root.path(), "0::/b\n"), std::nullopt);
  EXPECT_EQ(cores_of_groups(root.path(), "0::/a/../a/b\n"), 1.5);
}

TEST(CoresOfGroups, InsideAContainerAreTheRoots) {
  const TemporaryDirectory root;
  write(root.path() / "cpu.max", "50000 100000\n");
  EXPECT_EQ(cores_of_groups(root.path(), "0::/\n"), 0.5);
  EXPECT_EQ(cores_of_groups(root.path(), "0::/../../elsewhere\n"), 0.5);
}

TEST(CoresOfGroups, OfVersionOneHaveTwoFiles) {
  const TemporaryDirectory root;
  write(root.path() / "cpu,cpuacct/docker/x/cpu.cfs_quota_us", "300000\n");
  write(root.path() / "cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  write(root.path() / "cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write(root.path() / "cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const std::string membership = "3:cpuset:/docker/x\n2:cpu,cpuacct:/docker/x\n0::/\n";
  EXPECT_EQ(cores_of_groups(root.path(), membership), 3.0);
}

TEST(CoresOfGroups, AreNoneWhereFilesSayNothing) {
  const TemporaryDirectory root;
  EXPECT_EQ(cores_of_groups(root.path(), ""), std::nullopt);
  EXPECT_EQ(cores_of_groups(root.path() / "none", "0::/\nnonsense\n:::\n"), std::nullopt);
  write(root.path() / "cpu.max", "-5 0\n");
  EXPECT_EQ(cores_of_groups(root.path(), "0::/\n"), std::nullopt);
}

}  // namespace
}  // namespace attend
