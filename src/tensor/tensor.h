// Tensors by the names of torch's C++ interface.
#pragma once

#include "base/error.h"
#include "tensor/host/autograd.h"
#include "tensor/host/module.h"
#include "tensor/host/operations.h"

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/ranges.h>
namespace at = attend::host;
namespace c10 = attend::host;
namespace torch = attend::host;

namespace attend {
using at::Tensor;
}  // namespace attend
