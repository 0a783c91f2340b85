// The precompiled header of everything that stands on torch.
#pragma once

#include <fmt/ranges.h>
#include <torch/torch.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace attend {
using at::Tensor;
}
