// Devices by name.
#pragma once

#include "tensor/device.h"

#include <string>

namespace attend::ops {

// "cuda:0" and the like: a device of libtorch, from the module attend-torch.so; "cpu" is libtorch on the CPU.
// The same name gives the same device, which lives as long as the program.
Device& load_device(const std::string& name);

// What --device and --engine mean (ModelPath). Null: the program's memory.
Device* find_device(const std::string& device, const std::string& engine);

}  // namespace attend::ops
