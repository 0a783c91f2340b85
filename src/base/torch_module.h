// The module attend-torch.so and the libtorch that it needs, loaded on demand.
#pragma once

#include <string_view>

namespace attend {

// A function of the module. Throws an Error that names what is missing: the module, a libtorch (ATTEND_TORCH
// can name one), or one of the right version. `needed_by` begins the sentence: "several processes need".
// `with_gpus`: the libtorch must have CUDA.
void* find_in_torch_module(const char* name, std::string_view needed_by, bool with_gpus = false);

}  // namespace attend
