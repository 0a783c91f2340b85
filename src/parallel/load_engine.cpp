#include "parallel/load_engine.h"

#include "base/torch_module.h"

namespace attend {

std::unique_ptr<Engine> load_engine(const ProcessPlace& place, double timeout) {
  using Open = Engine* (*)(const ProcessPlace&, double);
  const auto open =
      reinterpret_cast<Open>(find_in_torch_module("attend_open_engine", "several processes need"));
  return std::unique_ptr<Engine>(open(place, timeout));
}

}  // namespace attend
