#include "base/cores.h"

#include "temporary_directory.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sched.h>

namespace attend {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

// Restores the cores that this thread may run on after the test.
class Affinity {
 public:
  Affinity() { EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0); }
  ~Affinity() { sched_setaffinity(0, sizeof before_, &before_); }
  const cpu_set_t& before() const { return before_; }
  bool is_as_before() const {
    cpu_set_t now;
    return sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&before_, &now);
  }

 private:
  cpu_set_t before_;
};

TEST(UsableCores, AreThoseThatTheProcessMayUse) {
  const Affinity affinity;
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &affinity.before())) CPU_SET(core, &one);
  EXPECT_LE(usable_cores(), static_cast<std::size_t>(CPU_COUNT(&affinity.before())));
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1u);
}

// The system decides where the thread runs afterwards, so the test checks only what must not change.
TEST(LeaveCore, MayRunWhereItMightBefore) {
  const Affinity affinity;
  leave_core(this_core());
  EXPECT_TRUE(affinity.is_as_before());
  leave_core(-1);
  leave_core(1 << 20);  // a core that no machine has
  EXPECT_TRUE(affinity.is_as_before());
  // The thread cannot leave its only core.
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(this_core(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const int core = this_core();
  leave_core(core);
  EXPECT_EQ(this_core(), core);
}

TEST(CoresOfGroups, Version2TakesTheMinimumAlongThePath) {
  const TemporaryDirectory root;
  write(root.path() / "a/cpu.max", "150000 100000\n");
  write(root.path() / "a/b/cpu.max", "max 100000\n");
  write(root.path() / "a/b/c/cpu.max", "400000 100000\n");
  EXPECT_EQ(cores_of_groups(root.path(), "0::/a/b/c\n"), 1.5);
  EXPECT_EQ(cores_of_groups(root.path(), "0::/b\n"), std::nullopt);
  EXPECT_EQ(cores_of_groups(root.path(), "0::/a/../a/b\n"), 1.5);
}

TEST(CoresOfGroups, InAContainerAreThoseOfTheRoot) {
  const TemporaryDirectory root;
  write(root.path() / "cpu.max", "50000 100000\n");
  EXPECT_EQ(cores_of_groups(root.path(), "0::/\n"), 0.5);
  EXPECT_EQ(cores_of_groups(root.path(), "0::/../../elsewhere\n"), 0.5);
}

TEST(CoresOfGroups, Version1HasTwoFiles) {
  const TemporaryDirectory root;
  write(root.path() / "cpu,cpuacct/docker/x/cpu.cfs_quota_us", "300000\n");
  write(root.path() / "cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  write(root.path() / "cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write(root.path() / "cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const std::string membership = "3:cpuset:/docker/x\n2:cpu,cpuacct:/docker/x\n0::/\n";
  EXPECT_EQ(cores_of_groups(root.path(), membership), 3.0);
}

TEST(CoresOfGroups, AreUnlimitedWithoutAQuota) {
  const TemporaryDirectory root;
  EXPECT_EQ(cores_of_groups(root.path(), ""), std::nullopt);
  EXPECT_EQ(cores_of_groups(root.path() / "none", "0::/\nnonsense\n:::\n"), std::nullopt);
  write(root.path() / "cpu.max", "-5 0\n");
  EXPECT_EQ(cores_of_groups(root.path(), "0::/\n"), std::nullopt);
}

}  // namespace
}  // namespace attend
