// Gathers and scatters: one index for each element.
#include "tensor/device.h"
#include "tensor/indices.h"
#include "tensor/tape.h"
#include "tensor/walk.h"

#include <cstring>

#include <fmt/ranges.h>

namespace attend::ops {
namespace {

// The arguments of gathers and scatters fit together; x is indexed along d.
void check_gathered(const Tensor& x, std::int64_t d, const Tensor& places, const Tensor& values) {
  const std::size_t w = x.wrapped(d);
  if (places.dim() != x.dim()) fail("indices of {} dimensions for a tensor of {}", places.dim(), x.dim());
  if (values.dim() != x.dim()) fail("values of {} dimensions for a tensor of {}", values.dim(), x.dim());
  for (std::size_t i = 0; i < places.sizes().size(); ++i)
    if (places.sizes()[i] > values.sizes()[i])
      fail("indices of shape [{}] do not fit values of [{}]", fmt::join(places.sizes().vec(), ", "),
           fmt::join(values.sizes().vec(), ", "));
  for (std::size_t i = 0; i < places.sizes().size(); ++i)
    if (i != w && places.sizes()[i] > x.sizes()[i])
      fail("indices of shape [{}] do not fit a tensor of [{}]", fmt::join(places.sizes().vec(), ", "),
           fmt::join(x.sizes().vec(), ", "));
}

// Whether x is on a device. Then a gather or a scatter is act(device, d, places, values) with operands there.
template <class Act>
bool gathers_on_device(const Tensor& x, std::int64_t d, const Tensor& places, const Tensor& values,
                       const Act& act) {
  Device* const device = x.device();
  if (device == nullptr) return false;
  check_gathered(x, d, places, values);
  checked(places, x.size(d));
  if (places.numel() > 0)
    act(*device, static_cast<std::int64_t>(x.wrapped(d)), array_of(placed_on(*device, places.to(kLong))),
        array_of(placed_on(*device, values.to(x.type()))));
  return true;
}

// f(element of x, element with `places`' shape), for gathers and scatters.
template <class F>
void for_gathered(const Tensor& x, std::int64_t d, const Tensor& places, const Tensor& values, F f) {
  check_gathered(x, d, places, values);
  const std::size_t w = x.wrapped(d);
  const std::vector<std::int64_t> numbers = checked(places, x.size(d));
  const Tensor order = arange(places.numel()).view(places.sizes());
  Dimensions without = x.body().strides;
  without[w] = 0;
  const std::int64_t step = x.stride(d);
  for_each_row(
      places.sizes(), std::array<Dimensions, 3>{order.body().strides, without, values.body().strides},
      [&](const auto& starts, std::int64_t n, const auto& steps) {
        for (std::int64_t i = 0; i < n; ++i)
          f(starts[1] + i * steps[1] + numbers[static_cast<std::size_t>(starts[0] + i * steps[0])] * step,
            starts[2] + i * steps[2]);
      });
}

void add_gathered(const Tensor& whole, std::int64_t d, const Tensor& places, const Tensor& values) {
  const auto add = [&](Device& device, std::int64_t along, const Array& at, const Array& from) {
    device.scatter_add(array_of(whole), along, at, from);
  };
  if (gathers_on_device(whole, d, places, values, add)) return whole.bump_version();
  with_type(whole.type(), [&](auto zero) {
    using T = decltype(zero);
    for_gathered(whole, d, places, values,
                 [to = whole.data<T>(), from = values.const_data<T>()](std::int64_t own, std::int64_t other) {
                   to[own] = static_cast<T>(to[own] + from[other]);
                 });
  });
  whole.bump_version();
}

}  // namespace

Tensor Tensor::gather(std::int64_t d, const Tensor& places) const {
  Tensor made = empty(places.sizes(), type(), device());
  const auto read = [&](Device& device, std::int64_t along, const Array& at, const Array&) {
    device.gather(array_of(made), array_of(*this), along, at);
  };
  if (!gathers_on_device(*this, d, places, made, read))
    with_type(type(), [&](auto zero) {
      using T = decltype(zero);
      for_gathered(*this, d, places, made,
                   [from = const_data<T>(), to = made.data<T>()](std::int64_t own, std::int64_t other) {
                     to[other] = from[own];
                   });
    });
  if (tracked(*this))
    record_adding(made, *this,
                  [d, places](const Tensor& whole, const Tensor& g) { add_gathered(whole, d, places, g); });
  return made;
}

const Tensor& Tensor::scatter_(std::int64_t d, const Tensor& places, const Tensor& values) const {
  const auto write = [&] {
    const Tensor given = values.to(type());
    const auto put = [&](Device& device, std::int64_t along, const Array& at, const Array& from) {
      device.scatter(array_of(*this), along, at, from);
    };
    if (gathers_on_device(*this, d, places, given, put)) return;
    with_type(type(), [&](auto zero) {
      using T = decltype(zero);
      for_gathered(*this, d, places, given,
                   [to = data<T>(), from = given.const_data<T>()](std::int64_t own, std::int64_t other) {
                     to[own] = from[other];
                   });
    });
  };
  return in_place(
      *this, write,
      [&] {
        return [d, places, shape = Dimensions(values.sizes())](const Tensor& g) {
          const Tensor before = g.clone(), own = zeros(shape, g.type());
          before.scatter_(d, places, zeros(places.sizes(), g.type()));
          Tensor inside = own;
          for (std::int64_t i = 0; i < places.dim(); ++i) inside = inside.narrow(i, 0, places.size(i));
          inside.copy_(g.gather(d, places));
          return std::vector<Tensor>{before, own};
        };
      },
      values);
}

Tensor Tensor::scatter_reduce(std::int64_t d, const Tensor& places, const Tensor& values,
                              const char* how) const {
  if (std::strcmp(how, "amax") != 0) fail("scatter_reduce by {} is not supported", how);
  if (tracked(*this, values)) fail("scatter_reduce has no gradient");
  const Tensor made = clone();
  const auto raise = [&](Device& device, std::int64_t along, const Array& at, const Array& from) {
    device.scatter_max(array_of(made), along, at, from);
  };
  if (gathers_on_device(made, d, places, values, raise)) return made;
  with_type(type(), [&](auto zero) {
    using T = decltype(zero);
    for_gathered(made, d, places, values,
                 [to = made.data<T>(), from = values.const_data<T>()](std::int64_t own, std::int64_t other) {
                   if (from[other] > to[own] || from[other] != from[other]) to[own] = from[other];
                 });
  });
  return made;
}

}  // namespace attend::ops
