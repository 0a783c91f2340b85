// Tensors, their operations (ops::) and gradients: what everything that computes includes.
#pragma once

#include "base/error.h"
#include "tensor/autograd.h"
#include "tensor/module.h"
#include "tensor/ops.h"

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/ranges.h>

namespace attend {

using ops::ArrayRef;
using ops::Device;
using ops::Dimensions;
using ops::Generator;
using ops::kBFloat16, ops::kBool, ops::kByte, ops::kChar, ops::kDouble, ops::kFloat, ops::kHalf, ops::kInt,
    ops::kLong, ops::kShort;
using ops::kCPU;
using ops::ScalarType;
using ops::Tensor;
using ops::TensorList;
using ops::TensorOptions;

using ops::GradMode;
using ops::Recording;
using ops::Unrecorded;
namespace autograd = ops::autograd;

using ops::nn::Module;
using ops::nn::ModuleHolder;
using ops::nn::ModuleList;
using ops::nn::ModuleListImpl;

}  // namespace attend
