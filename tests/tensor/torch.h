// torch's tensors, for the tests of this folder alone. Precompiled, for it costs seconds in every file.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>
