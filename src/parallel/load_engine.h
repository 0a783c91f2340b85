// The module with the engine (attend-torch.so) and the libtorch that it needs, loaded on demand.
#pragma once

#include "parallel/engine.h"
#include "parallel/launch.h"

namespace attend {

// The engine of this process. Collectives that take longer than `timeout` seconds fail. Throws an Error that
// names the missing package: the module, a libtorch (ATTEND_TORCH can name one), or one of the right version.
std::unique_ptr<Engine> load_engine(const ProcessPlace& place, double timeout);

}  // namespace attend
