// Tensors, their operations (ops::) and gradients: the header for all code that computes.
#pragma once

#include "base/error.h"
#include "tensor/module.h"
#include "tensor/ops.h"
#include "tensor/tape.h"

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/ranges.h>

namespace attend {

using ops::Dimensions;
using ops::Generator;
using ops::kBFloat16, ops::kBool, ops::kByte, ops::kChar, ops::kDouble, ops::kFloat, ops::kHalf, ops::kInt,
    ops::kLong, ops::kShort;
using ops::ScalarType;
using ops::Tensor;

using ops::needs_gradient;
using ops::recording;
using ops::Recording;
using ops::Unrecorded;

using ops::nn::Module;
using ops::nn::ModuleHolder;
using ops::nn::ModuleList;
using ops::nn::ModuleListImpl;

}  // namespace attend
