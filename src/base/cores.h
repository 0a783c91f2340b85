// How many cores this process may keep busy.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

namespace attend {

// At least 1: the cores that it may run on, and no more than its control groups give it time for, as a
// container's limit of CPUs does. More threads than that would be stopped for a part of each tenth of a
// second.
std::size_t usable_cores();

int this_core();  // the one that runs the caller; -1: unknown
// If the caller runs on this core, it goes to another that it may run on.
void leave_core(int core);

// What the groups give, in cores; absent: no limit. `membership` is what /proc/self/cgroup says, `root` where
// the groups lie (/sys/fs/cgroup): version 2 (cpu.max) and 1 (cpu.cfs_quota_us). A group's limit holds for
// those below it, and inside of a container its own group may be the root.
std::optional<double> cores_of_groups(const std::filesystem::path& root, std::string_view membership);

}  // namespace attend
