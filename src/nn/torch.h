// The precompiled header of everything that stands on torch. Not torch/torch.h: what we do not use of it
// (optimizers, data loaders, modules) doubles what every file takes to compile.
#pragma once

#include "base/error.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

namespace attend {
using at::Tensor;
}
