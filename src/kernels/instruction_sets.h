// Which instruction sets this processor can run.
#pragma once

#include <functional>
#include <string_view>

namespace attend::kernels {

// Whether this machine has a feature of x86-64: "avx2", "fma", "f16c", "avx512f", ...
bool has_feature(std::string_view feature);

// Whether a machine with these features can run everything that the set's files are compiled for
// (cmake/Kernels.cmake). A hypervisor may hide any feature, so none implies another. False for an unknown
// set.
bool runs_with(std::string_view set, const std::function<bool(std::string_view feature)>& has);

}  // namespace attend::kernels
