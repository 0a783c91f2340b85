// torch's tensors, only for the tests of this folder. Precompiled, because it costs seconds in every file.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>
