// The precompiled header of everything that stands on torch.
#pragma once

#include "base/error.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <torch/torch.h>

namespace attend {
using at::Tensor;
}
