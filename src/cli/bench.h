// `attend bench`, in both modules: what trains is only in one of them.
#pragma once

#include "tasks/bench.h"

namespace attend::cli {

int bench(int argc, char** argv, const TrainingWork& training_work);

}  // namespace attend::cli
