#include "tensor/load_device.h"

#include "base/error.h"
#include "base/log.h"
#include "base/torch_module.h"

#include <cstdlib>
#include <map>
#include <mutex>

namespace attend::ops {

Device& load_device(const std::string& name) {
  static std::mutex opening;
  static std::map<std::string, Device*> devices;  // never closed: tensors may outlive everything else
  const std::lock_guard lock(opening);
  Device*& device = devices[name];
  if (device == nullptr) {
    using Open = Device* (*)(const char*);
    const auto open = reinterpret_cast<Open>(
        find_in_torch_module("attend_open_device", "a device needs", name.starts_with("cuda")));
    try {
      device = open(name.c_str());
    } catch (const std::exception& error) {
      fail("the device {} cannot be used: {}. GPUs need a libtorch with CUDA, to which ATTEND_TORCH points",
           name, error.what());
    }
  }
  return *device;
}

namespace {

std::string given_or(const std::string& given, const char* variable, const char* otherwise) {
  if (!given.empty()) return given;
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != 0 ? value : otherwise;
}

}  // namespace

Device* find_device(const std::string& given_device, const std::string& given_engine) {
  const std::string device = given_or(given_device, "ATTEND_DEVICE", "cpu"),
                    engine = given_or(given_engine, "ATTEND_ENGINE", "attend");
  if (engine != "attend" && engine != "torch") fail("engine: expected attend or torch, found {}", engine);
  if (device == "cpu") return engine == "torch" ? &load_device("cpu") : nullptr;
  if (device == "auto") {
    try {
      return &load_device("cuda:0");
    } catch (const attend::Error& error) {  // ops::Error is narrower
      inform("no GPU is used: {}", error.what());
      return find_device("cpu", engine);
    }
  }
  const bool numbered = device.starts_with("cuda:") && device.size() > 5 &&
                        device.find_first_not_of("0123456789", 5) == device.npos;
  if (device != "cuda" && !numbered) fail("device: expected cpu, cuda, cuda:N or auto, found {}", device);
  if (device != "cuda") return &load_device(device);
  return &load_device(std::string("cuda:") +
                      given_or("", "LOCAL_RANK", "0"));  // each process of a machine has its own
}

}  // namespace attend::ops
