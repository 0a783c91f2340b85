// Tensors, whoever makes them. Sources above this level are written once, in the names of torch's C++
// interface, and compiled twice: with torch (ATTEND_TORCH) for what needs gradients, double precision or
// other devices, and with our own tensors (tensor/host) for inference, which then loads no torch.
#pragma once

#include "base/error.h"

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#ifdef ATTEND_TORCH
// Not torch/torch.h: what we do not use of it (optimizers, data loaders) doubles what every file takes to
// compile. This is precompiled.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#else
#include "tensor/host/autograd.h"
#include "tensor/host/module.h"
#include "tensor/host/operations.h"
namespace at = attend::host;
namespace c10 = attend::host;
namespace torch = attend::host;
#endif

namespace attend {
using Tensor;
#ifdef ATTEND_TORCH
inline constexpr bool kHasGradients = true;
#else
inline constexpr bool kHasGradients = false;
#endif
}  // namespace attend
