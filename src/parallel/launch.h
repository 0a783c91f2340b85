// How a process learns that it is one of several: from the environment that torchrun, mpirun or Slurm sets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace attend {

// The place of a process in a run.
struct ProcessPlace {
  std::int64_t rank = 0, size = 1;              // of all processes
  std::int64_t local_rank = 0, local_size = 1;  // of the processes on this machine
  std::string address;                          // where the run's store is found: rank 0's machine
  std::int64_t port = 29500;
  bool store_runs = false;  // the launcher runs the store; otherwise rank 0 does
  std::string attempt;      // distinguishes restarts that share such a store
  bool bound = false;       // the launcher gives each process its own cores
};

using GetVariable = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> environment_variable(const std::string& name);

// None for a process that was started alone. Throws an Error if the environment is incomplete or contradicts
// itself. Variables:
//   RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT: torchrun, and the training
//   operator of Kubernetes.
//   OMPI_COMM_WORLD_*, PMI_*: mpirun; without MASTER_ADDR if all processes are on one machine.
//   SLURM_PROCID, SLURM_NTASKS: srun, with MASTER_ADDR.
std::optional<ProcessPlace> place_in_run(const GetVariable& get = environment_variable);

// The default number of threads of each process: the machine's cores, divided among its processes.
std::size_t default_threads(const GetVariable& get = environment_variable);

}  // namespace attend
