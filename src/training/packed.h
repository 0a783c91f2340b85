// Numbers, names and tensors packed into one byte string, for another process of the same program.
#pragma once

#include "tensor/tensor.h"

#include <cstring>
#include <string>

namespace attend {

class Packer {
 public:
  void add(double number) { put(&number, sizeof number); }
  void add(const std::string& name) {
    add(static_cast<double>(name.size()));
    text_ += name;
  }
  // The unchanged values of a tensor; for an undefined tensor, only that it is undefined.
  void add(const Tensor& tensor) {
    add(tensor.defined() ? static_cast<double>(tensor.type()) : -1);
    if (!tensor.defined()) return;
    add(static_cast<double>(tensor.dim()));
    for (const std::int64_t size : tensor.sizes()) add(static_cast<double>(size));
    const Tensor whole = tensor.detach().contiguous();
    put(whole.const_data(), static_cast<std::size_t>(whole.bytes()));
  }
  const std::string& text() const { return text_; }

 private:
  void put(const void* bytes, std::size_t count) { text_.append(static_cast<const char*>(bytes), count); }
  std::string text_;
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& text) : text_(text) {}
  bool done() const { return at_ == text_.size(); }
  double number() {
    double number = 0;
    take(&number, sizeof number);
    return number;
  }
  std::string name() {
    std::string name(static_cast<std::size_t>(number()), '\0');
    take(name.data(), name.size());
    return name;
  }
  Tensor tensor() {
    const double type = number();
    if (type < 0) return {};
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(number()));
    for (std::int64_t& size : sizes) size = static_cast<std::int64_t>(number());
    const Tensor tensor = ops::empty(sizes, static_cast<ops::ScalarType>(static_cast<int>(type)));
    take(tensor.body().data.get(), static_cast<std::size_t>(tensor.bytes()));
    return tensor;
  }

 private:
  void take(void* to, std::size_t count) {
    if (count > text_.size() - at_)
      fail("what another process sent is cut off: is it of another version of attend?");
    std::memcpy(to, text_.data() + at_, count);
    at_ += count;
  }
  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace attend
