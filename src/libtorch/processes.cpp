// The engine of several processes on libtorch's c10d: TCPStore and Gloo.
#include <attend/export.h>

#include "parallel/engine.h"
#include "parallel/launch.h"

#include <stdexcept>

#define USE_C10D_GLOO
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace attend {
namespace {

using Milliseconds = std::chrono::milliseconds;
using StoreHandle = c10::intrusive_ptr<c10d::Store>;

// What torch's error says, without the addresses of its functions, which some errors have in their text too.
std::string plain_text(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find("\nException raised from"));
}

template <class Work>
auto plainly(const Work& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    throw std::runtime_error(plain_text(error));
  }
}

StoreHandle open_tcp_store(const ProcessPlace& place, bool server, Milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.port);
  options.isServer = server;
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::PrefixStore>(
        "attend/" + place.attempt, c10::make_intrusive<c10d::TCPStore>(place.address, options));
  } catch (const c10::Error& error) {
    const std::string where = place.address + ":" + std::to_string(place.port);
    const std::string why = plain_text(error);
    if (server && why.find("EADDRINUSE") != std::string::npos)
      throw std::runtime_error("rank 0 cannot open port " + std::to_string(place.port) +
                               ", which another program uses; set MASTER_PORT to a free one");
    throw std::runtime_error(server ? "rank 0 cannot open " + where + ": " + why
                                    : "rank " + std::to_string(place.rank) + " does not reach rank 0 at " +
                                          where + ": " + why);
  }
}

class TorchStore : public SharedStore {
 public:
  explicit TorchStore(StoreHandle store) : store_(std::move(store)) {}
  void set(const std::string& name, std::string_view text) override {
    plainly([&] { store_->set(name, std::vector<std::uint8_t>(text.begin(), text.end())); });
  }
  std::optional<std::string> get(const std::string& name) override {
    return plainly([&]() -> std::optional<std::string> {
      if (!store_->check({name})) return {};
      const std::vector<std::uint8_t> bytes = store_->get(name);
      return std::string(bytes.begin(), bytes.end());
    });
  }

 private:
  StoreHandle store_;
};

class TorchPending : public Pending {
 public:
  explicit TorchPending(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  bool wait_for(Milliseconds time) override {
    return plainly([&] {
      try {
        return work_->wait(time);
      } catch (...) {
        if (!work_->isCompleted()) return false;  // this wait is over, not the engine's timeout
        throw;
      }
    });
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
};

template <class T>
at::Tensor as_tensor(std::span<T> numbers, at::ScalarType type) {
  return at::from_blob(numbers.data(), {static_cast<std::int64_t>(numbers.size())}, type);
}

class TorchEngine : public Engine {
 public:
  TorchEngine(const ProcessPlace& place, Milliseconds timeout)
      : place_(place), timeout_(timeout), store_(open_tcp_store(place, serves(), timeout)) {}

  std::unique_ptr<SharedStore> open_store() override {
    return std::make_unique<TorchStore>(open_tcp_store(place_, false, timeout_));
  }

  void connect() override {
    plainly([&] {
      c10::intrusive_ptr<c10d::ProcessGroupGloo::Options> options;
      if (place_.local_size == place_.size) {  // one machine: its own address, whatever its name is
        options = c10d::ProcessGroupGloo::Options::create(timeout_);
        options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
      } else {
        options = c10d::ProcessGroupGloo::Options::create_default(timeout_);
      }
      group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store_, static_cast<int>(place_.rank),
                                                           static_cast<int>(place_.size), options);
    });
  }

  std::unique_ptr<Pending> sum(std::span<float> numbers) override {
    return begin(as_tensor(numbers, at::kFloat));
  }
  std::unique_ptr<Pending> sum(std::span<double> numbers) override {
    return begin(as_tensor(numbers, at::kDouble));
  }
  std::unique_ptr<Pending> sum_halves(std::span<std::uint16_t> numbers) override {
    return begin(as_tensor(numbers, at::kHalf));
  }

  std::unique_ptr<Pending> broadcast(std::span<std::byte> bytes, std::int64_t root) override {
    return plainly([&] {
      std::vector<at::Tensor> tensors{as_tensor(bytes, at::kByte)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      return std::make_unique<TorchPending>(group_->broadcast(tensors, options));
    });
  }

  std::unique_ptr<Pending> gather(std::span<std::byte> own, std::span<std::byte> all) override {
    return plainly([&] {
      std::vector<at::Tensor> inputs{as_tensor(own, at::kByte)};
      std::vector<std::vector<at::Tensor>> outputs(1);
      for (std::size_t i = 0; i < static_cast<std::size_t>(place_.size); ++i)
        outputs[0].push_back(as_tensor(all.subspan(i * own.size(), own.size()), at::kByte));
      return std::make_unique<TorchPending>(group_->allgather(outputs, inputs));
    });
  }

 private:
  bool serves() const { return place_.rank == 0 && !place_.store_runs; }

  std::unique_ptr<Pending> begin(at::Tensor numbers) {
    return plainly([&] {
      std::vector<at::Tensor> tensors{std::move(numbers)};
      return std::make_unique<TorchPending>(group_->allreduce(tensors));
    });
  }

  ProcessPlace place_;
  Milliseconds timeout_;
  StoreHandle store_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace
}  // namespace attend

extern "C" ATTEND_API attend::Engine* attend_open_engine(const attend::ProcessPlace& place, double timeout) {
  // c10d logs machines without a name, and errors that also come as exceptions. 0: the user's setting stays.
  setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  c10::initLogging();
  return new attend::TorchEngine(place, attend::Milliseconds(static_cast<std::int64_t>(timeout * 1000)));
}
