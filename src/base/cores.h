// How many cores this process may keep busy.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

namespace attend {

// At least 1: the number of cores that the process may run on, limited by the CPU time of its control groups
// (a container's CPU limit). With more threads than that, the kernel would stop them for a part of each tenth
// of a second.
std::size_t usable_cores();

int this_core();  // the core that runs the caller; -1: unknown
// Moves the caller to another allowed core if it runs on this one.
void leave_core(int core);

// The CPU limit of the control groups, in cores; absent: no limit. `membership` is the content of
// /proc/self/cgroup, `root` the folder of the groups (/sys/fs/cgroup): version 2 (cpu.max) and 1
// (cpu.cfs_quota_us). A limit also applies to the groups below it. Inside a container its own group may be
// the root.
std::optional<double> cores_of_groups(const std::filesystem::path& root, std::string_view membership);

}  // namespace attend
