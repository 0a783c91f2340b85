// The module with the engine (attend-torch.so) and the libtorch that it stands on, loaded when they are
// needed.
#pragma once

#include "parallel/engine.h"
#include "parallel/launch.h"

namespace attend {

// The engine of this process. Collectives that take longer than `timeout` seconds fail. Error that says which
// package gives what is missing: the module, a libtorch (ATTEND_TORCH points at one), or one of the right
// version.
std::unique_ptr<Engine> load_engine(const ProcessPlace& place, double timeout);

}  // namespace attend
