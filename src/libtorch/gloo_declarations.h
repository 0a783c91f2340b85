// Declares what torch's ProcessGroupGloo.hpp names from Gloo; libtorch does not include Gloo's headers. There
// everything is behind pointers, and this module uses it only through libtorch, so declarations are enough.
// CMake generates the headers that ProcessGroupGloo.hpp includes from this one.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

struct Context {
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {
class Device;
struct UnboundBuffer {
  virtual ~UnboundBuffer();
};
}  // namespace transport

namespace rendezvous {
struct Store {
  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& data) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) = 0;
};
}  // namespace rendezvous

}  // namespace gloo
