// How a process learns that it is one of several: from the environment that torchrun, mpirun or Slurm gives
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace attend {

// One process among those of a run.
struct ProcessPlace {
  std::int64_t rank = 0, size = 1;              // of all
  std::int64_t local_rank = 0, local_size = 1;  // of those on this machine
  std::string address;                          // where the store of the run is found: rank 0's machine
  std::int64_t port = 29500;
  bool store_runs = false;  // what started the run has the store; otherwise rank 0 does
  std::string attempt;      // tells restarts apart, which share such a store
  bool bound = false;       // what started the run gives each process cores of its own
};

using GetVariable = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> environment_variable(const std::string& name);

// Nothing for a process that was started alone. Error for an environment that is only partly there or makes
// no sense.
//   RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT: torchrun, Kubernetes' training
//   operator OMPI_COMM_WORLD_*, PMI_*: mpirun. Without MASTER_ADDR where all processes are on one machine
//   SLURM_PROCID, SLURM_NTASKS: srun, with MASTER_ADDR
std::optional<ProcessPlace> place_in_run(const GetVariable& get = environment_variable);

// Threads for each process where nobody says how many: the machine's cores, shared by the processes on it.
std::size_t default_threads(const GetVariable& get = environment_variable);

}  // namespace attend
