#include "base/cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>

#include <sched.h>

namespace attend {
namespace {

// Of a cgroup v2: "QUOTA PERIOD" or "max PERIOD", in microseconds.
std::optional<double> quota_of(const std::filesystem::path& group) {
  double quota = 0, period = 0;
  if (std::ifstream file(group / "cpu.max"); file >> quota >> period && quota > 0 && period > 0)
    return quota / period;
  return {};
}

// Of a cgroup v1, where -1 means no limit.
std::optional<double> old_quota_of(const std::filesystem::path& group) {
  double quota = 0, period = 0;
  std::ifstream quota_file(group / "cpu.cfs_quota_us"), period_file(group / "cpu.cfs_period_us");
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) return quota / period;
  return {};
}

bool holds(std::string_view list, std::string_view name) {
  std::stringstream parts{std::string(list)};
  for (std::string part; std::getline(parts, part, ',');)
    if (part == name) return true;
  return false;
}

}  // namespace

std::optional<double> cores_of_groups(const std::filesystem::path& root, std::string_view membership) {
  std::optional<double> min;
  std::stringstream lines{std::string(membership)};
  for (std::string line; std::getline(lines, line);) {  // NUMBER:CONTROLLERS:/PATH
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && !holds(controllers, "cpu")) continue;
    const std::filesystem::path hierarchy = unified ? root : root / controllers;
    const auto path = std::filesystem::path(line.substr(second + 1)).relative_path().lexically_normal();
    std::filesystem::path group = hierarchy;
    const auto look = [&] {
      const std::optional<double> quota = unified ? quota_of(group) : old_quota_of(group);
      if (quota) min = std::min(min.value_or(*quota), *quota);
    };
    look();
    for (const std::filesystem::path& part : path) {
      if (part == ".." || part == ".") break;
      group /= part;
      look();
    }
  }
  return min;
}

std::size_t usable_cores() {
  std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  if (cpu_set_t allowed; sched_getaffinity(0, sizeof allowed, &allowed) == 0)  // taskset, for example
    cores = std::min(cores, static_cast<std::size_t>(CPU_COUNT(&allowed)));
  std::ifstream file("/proc/self/cgroup");
  const std::string membership{std::istreambuf_iterator<char>(file), {}};
  const std::optional<double> given = cores_of_groups("/sys/fs/cgroup", membership);
  if (!given || *given >= static_cast<double>(cores)) return cores;
  return static_cast<std::size_t>(std::max(1.0, std::ceil(*given)));
}

int this_core() {
  return sched_getcpu();
}

void leave_core(int core) {
  cpu_set_t allowed;
  if (core < 0 || this_core() != core || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<std::size_t>(core), &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  sched_setaffinity(0, sizeof allowed, &allowed);  // allow all former cores again
}

}  // namespace attend
