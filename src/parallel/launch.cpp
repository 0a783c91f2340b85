#include "parallel/launch.h"

#include "base/cores.h"
#include "base/error.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>

namespace attend {
namespace {

// The variables in which a launcher says which process this is.
struct Starter {
  const char* size;
  const char* step_size;  // preferred if it is set
  const char* rank;
  const char* local_rank;
  const char* local_size;
  bool needs_address;  // without MASTER_ADDR this is not a run: Slurm sets these variables outside of srun
                       // too
  bool binds;          // gives each process its own cores
};
constexpr Starter kStarters[] = {
    {"WORLD_SIZE", nullptr, "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", false, false},
    {"OMPI_COMM_WORLD_SIZE", nullptr, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", false, true},
    {"PMI_SIZE", nullptr, "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", false, true},
    {"SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE",
     true, true},
};

std::int64_t whole_number(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Slurm writes the tasks of nodes as "2(x3),1".
  const bool counted =
      name.starts_with("SLURM_") && end != text.data() + text.size() && (*end == '(' || *end == ',');
  if (error != std::errc() || (end != text.data() + text.size() && !counted))
    fail("{}={}: expected a whole number", name, text);
  return value;
}

std::optional<std::int64_t> number(const GetVariable& get, const char* name) {
  if (name == nullptr) return {};
  const std::optional<std::string> text = get(name);
  return text && !text->empty() ? std::optional(whole_number(name, *text)) : std::nullopt;
}

bool on_this_machine(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

ProcessPlace place_by(const Starter& starter, std::int64_t size, const GetVariable& get) {
  ProcessPlace place;
  place.size = size;
  place.bound = starter.binds;
  const std::optional<std::int64_t> rank = number(get, starter.rank);
  if (!rank) fail("{}={} without {}: expected both, as torchrun sets them", starter.size, size, starter.rank);
  place.rank = *rank;
  if (place.rank < 0 || place.rank >= size)
    fail("{}={}: expected a number from 0 to {}, below {}", starter.rank, place.rank, size - 1, starter.size);
  const std::optional<std::int64_t> local_size = number(get, starter.local_size);
  const std::optional<std::string> address = get("MASTER_ADDR");
  if (address && !address->empty())
    place.address = *address;
  else if (local_size == size)
    place.address = "127.0.0.1";
  else
    fail(
        "{}={} without MASTER_ADDR: expected the address of the machine of rank 0 (mpirun -x "
        "MASTER_ADDR=...)",
        starter.size, size);
  place.local_size =
      std::clamp<std::int64_t>(local_size.value_or(on_this_machine(place.address) ? size : 1), 1, size);
  place.local_rank = number(get, starter.local_rank).value_or(place.rank % place.local_size);
  place.port = number(get, "MASTER_PORT").value_or(place.port);
  if (place.port < 1 || place.port > 65535)
    fail("MASTER_PORT={}: expected a number from 1 to 65535", place.port);
  place.store_runs = get("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  place.attempt = get("TORCHELASTIC_RESTART_COUNT").value_or("0");
  return place;
}

}  // namespace

std::optional<std::string> environment_variable(const std::string& name) {
  const char* const text = std::getenv(name.c_str());
  return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

std::optional<ProcessPlace> place_in_run(const GetVariable& get) {
  for (const Starter& starter : kStarters) {
    if (starter.needs_address && !get("MASTER_ADDR")) continue;
    std::optional<std::int64_t> size = number(get, starter.step_size);
    if (!size) size = number(get, starter.size);
    if (!size) continue;
    if (*size < 1) fail("{}={}: expected a number above 0", starter.size, *size);
    if (*size == 1) return {};
    return place_by(starter, *size, get);
  }
  return {};
}

std::size_t default_threads(const GetVariable& get) {
  const std::size_t cores = usable_cores();
  std::optional<ProcessPlace> place;
  try {
    place = place_in_run(get);
  } catch (const Error&) {  // code that needs the place reports what is wrong with it
  }
  if (!place || (place->bound && cores < std::thread::hardware_concurrency())) return cores;
  return std::max<std::size_t>(1, cores / static_cast<std::size_t>(place->local_size));
}

}  // namespace attend
