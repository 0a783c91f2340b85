// Which processors can run the kernels of an instruction set.
#pragma once

#include <functional>
#include <string_view>

namespace attend::kernels {

// Does this machine have a feature of x86-64: "avx2", "fma", "f16c", "avx512f", ...?
bool has_feature(std::string_view feature);

// Does a machine with these features have all that the set's files are compiled for (cmake/Kernels.cmake)? A
// hypervisor may hide any of them, so none follows from another. False for a set that there is not.
bool runs_with(std::string_view set, const std::function<bool(std::string_view feature)>& has);

}  // namespace attend::kernels
