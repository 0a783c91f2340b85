// What torch's ProcessGroupGloo.hpp names of Gloo, whose headers a libtorch does not bring along. All of it
// is behind pointers there, and this module uses none of it but through libtorch, so that declarations do.
// CMake makes the headers that ProcessGroupGloo.hpp includes of this one.
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
