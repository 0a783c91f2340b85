// Running sums, and orders: sorted numbers, the best of them.
#include "base/best.h"
#include "tensor/device.h"
#include "tensor/reduce.h"

#include <numeric>

namespace attend::ops {

Tensor Tensor::cumsum(std::int64_t d) const {
  const auto compute = [&] {
    if (device() != nullptr) {
      const Tensor from = to(sum_type(*this, {})), sums = empty_like(from);
      if (numel() > 0)
        device()->cumsum(array_of(sums), array_of(from), static_cast<std::int64_t>(wrapped(d)));
      return sums;
    }
    const Tensor made = to(sum_type(*this, {})).transpose(d, -1).clone();
    const std::int64_t length = made.size(-1), count = length > 0 ? made.numel() / length : 0;
    with_type(made.type(), [&](auto zero) {
      using T = decltype(zero);
      for (std::int64_t i = 0; i < count; ++i) {
        T* const row = made.data<T>() + i * length;
        Sum<T> sum = 0;
        for (std::int64_t j = 0; j < length; ++j) row[j] = static_cast<T>(sum += static_cast<Sum<T>>(row[j]));
      }
    });
    return made.transpose(d, -1);
  };
  return with_rule(
      compute,
      [&](const Tensor&) {
        return [d](const Tensor& g) {  // each number is in all sums from its own on
          return std::vector<Tensor>{g.sum(d, true) - g.cumsum(d) + g};
        };
      },
      *this);
}

Tensor Tensor::argsort(bool, std::int64_t d, bool descending) const {  // always stable
  if (device() != nullptr) {
    const Tensor places = empty(sizes(), kLong, device());
    if (numel() > 0)
      device()->argsort(array_of(places), array_of(*this), static_cast<std::int64_t>(wrapped(d)), descending);
    return places;
  }
  const Tensor from = transpose(d, -1).contiguous(), made = empty(from.sizes(), kLong);
  const std::int64_t length = from.size(-1), count = length > 0 ? from.numel() / length : 0;
  with_type(type(), [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < count; ++i) {
      const T* const row = from.const_data<T>() + i * length;
      std::int64_t* const places = made.data<std::int64_t>() + i * length;
      std::iota(places, places + length, std::int64_t{0});
      // What is not a number counts as the largest.
      const auto less = [](T a, T b) { return a < b || (a == a && b != b); };
      std::stable_sort(places, places + length, [&](std::int64_t a, std::int64_t b) {
        return descending ? less(row[b], row[a]) : less(row[a], row[b]);
      });
    }
  });
  return made.transpose(d, -1);
}

std::tuple<Tensor, Tensor> Tensor::sort(bool stable, std::int64_t d, bool descending) const {
  const Tensor places = argsort(stable, d, descending);
  return {gather(d, places), places};
}

std::tuple<Tensor, Tensor> Tensor::topk(std::int64_t count, std::int64_t d) const {
  if (count > size(d)) fail("topk: k is {}, but there are {} numbers", count, size(d));
  if (device() != nullptr) {
    Dimensions shape = sizes();
    shape[wrapped(d)] = count;
    const Tensor places = empty(shape, kLong, device());
    if (places.numel() > 0)
      device()->topk(array_of(places), array_of(*this), static_cast<std::int64_t>(wrapped(d)));
    return {gather(d, places), places};
  }
  const Tensor from = transpose(d, -1).contiguous();
  Dimensions shape = from.sizes();
  const std::int64_t length = from.size(-1), rows = length > 0 ? from.numel() / length : 0;
  shape[shape.size() - 1] = count;
  const Tensor places = empty(shape, kLong);
  with_type(type(), [&](auto zero) {
    using T = decltype(zero);
    using Scored = std::pair<T, std::int64_t>;
    const auto better = [](const Scored& a, const Scored& b) {
      return (a.first != a.first && b.first == b.first) || a.first > b.first;
    };
    for (std::int64_t row = 0; row < rows && count > 0; ++row) {
      std::vector<Scored> queue;
      for (std::int64_t i = 0; i < length; ++i) queue.emplace_back(from.const_data<T>()[row * length + i], i);
      keep_best(queue, static_cast<std::size_t>(count), static_cast<std::size_t>(length), better);
      for (std::int64_t i = 0; i < count; ++i)
        places.data<std::int64_t>()[row * count + i] = queue[static_cast<std::size_t>(i)].second;
    }
  });
  const Tensor found = places.transpose(d, -1).contiguous();
  return {gather(d, found), found};
}

}  // namespace attend::ops
