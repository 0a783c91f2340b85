// Copies and conversions.
#include "base/half_precision.h"
#include "tensor/device.h"
#include "tensor/tape.h"
#include "tensor/walk.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace attend::ops {
namespace {

float widen(BFloat16 x) {
  return from_bfloat16(x.bits);
}
float widen(Half x) {
  return from_float16(x.bits);
}

template <class T>
T rounded(float x);
template <>
BFloat16 rounded(float x) {
  return {to_bfloat16(x)};
}
template <>
Half rounded(float x) {
  return {to_float16(x)};
}

template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>)
    return converted<To>(widen(x));
  else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>)
    return rounded<To>(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bool>)
    return x != 0;
  else
    return static_cast<To>(x);
}

template <class F>
void with_any_type(ScalarType type, F&& f) {
  if (type == kHalf) return f(Half{});
  if (type == kBFloat16) return f(BFloat16{});
  with_type(type, f);
}

void copy(const Tensor& target, const Tensor& from) {
  const Tensor source = from.expand(target.sizes());
  if (Device* const device = target.device() ? target.device() : source.device()) {
    if (target.numel() > 0) device->copy(array_of(target), array_of(source));
    return;
  }
  const std::array<Dimensions, 2> strides{target.body().strides, source.body().strides};
  std::byte* const to = target.body().data.get();
  const std::byte* const start = source.body().data.get();
  if (target.type() == source.type()) {
    const std::int64_t bytes = target.element_size();
    for_each_row_at_once(target.sizes(), strides, [&](const auto& starts, std::int64_t n, const auto& steps) {
      std::byte* t = to + starts[0] * bytes;
      const std::byte* f = start + starts[1] * bytes;
      if (steps[0] == 1 && steps[1] == 1) {
        std::memmove(t, f, static_cast<std::size_t>(n * bytes));
        return;
      }
      const auto one_by_one = [&](auto zero) {
        using T = decltype(zero);
        auto* const typed_to = reinterpret_cast<T*>(t);
        const auto* const typed_from = reinterpret_cast<const T*>(f);
        for (std::int64_t i = 0; i < n; ++i) typed_to[i * steps[0]] = typed_from[i * steps[1]];
      };
      if (bytes == 1) one_by_one(std::uint8_t{});
      if (bytes == 2) one_by_one(std::uint16_t{});
      if (bytes == 4) one_by_one(std::uint32_t{});
      if (bytes == 8) one_by_one(std::uint64_t{});
    });
    return;
  }
  with_any_type(target.type(), [&](auto to_zero) {
    with_any_type(source.type(), [&](auto from_zero) {
      using To = decltype(to_zero);
      using From = decltype(from_zero);
      for_each_row_at_once(target.sizes(), strides,
                           [&](const auto& starts, std::int64_t n, const auto& steps) {
                             To* const t = reinterpret_cast<To*>(to) + starts[0];
                             const From* const f = reinterpret_cast<const From*>(start) + starts[1];
                             for (std::int64_t i = 0; i < n; ++i)
                               t[i * steps[0]] = converted<To>(f[i * steps[1]]);
                           });
    });
  });
}

void fill(const Tensor& target, Scalar value) {
  if (target.device() != nullptr) {
    if (target.numel() > 0) target.device()->fill(array_of(target), value);
    return;
  }
  const std::array<Dimensions, 1> strides{target.body().strides};
  with_any_type(target.type(), [&](auto zero) {
    using T = decltype(zero);
    T filled{};
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      filled = rounded<T>(value.to<float>());
    else
      filled = value.to<T>();
    T* const to = reinterpret_cast<T*>(target.body().data.get());
    for_each_row_at_once(target.sizes(), strides, [&](const auto& starts, std::int64_t n, const auto& steps) {
      for (std::int64_t i = 0; i < n; ++i) to[starts[0] + i * steps[0]] = filled;
    });
  });
}

// A gradient that passes unchanged; the tape converts it to the type of the input.
Rule unchanged() {
  return [](const Tensor& g) { return std::vector<Tensor>{g}; };
}

}  // namespace

const Tensor& Tensor::copy_(const Tensor& from) const {
  return in_place(
      *this, [&] { copy(*this, from); },
      [] { return [](const Tensor& g) {
             return std::vector<Tensor>{Tensor(), g};
           }; }, from);
}

const Tensor& Tensor::fill_(Scalar value) const {
  return in_place(
      *this, [&] { fill(*this, value); },
      [] { return [](const Tensor&) { return std::vector<Tensor>{Tensor()}; }; });
}

const Tensor& Tensor::fill_diagonal_(Scalar value) const {
  diagonal().fill_(value);
  return *this;
}

Tensor Tensor::clone() const {
  return with_rule(
      [&] {
        const Tensor made = empty_like(*this);
        copy(made, *this);
        return made;
      },
      [](const Tensor&) { return unchanged(); }, *this);
}

Tensor Tensor::contiguous() const {
  return is_contiguous() ? *this : clone();
}

Tensor Tensor::to(ScalarType type) const {
  if (type == body().type) return *this;
  return with_rule(
      [&] {
        const Tensor made = empty(sizes(), type, device());
        copy(made, *this);
        return made;
      },
      [](const Tensor&) { return unchanged(); }, *this);
}

Tensor Tensor::repeat(const Dimensions& times) const {
  Tensor part = *this;
  while (part.dim() < static_cast<std::int64_t>(times.size())) part = part.unsqueeze(0);
  // Each dimension becomes two; the first of them repeats.
  Dimensions doubled, shape;
  for (std::size_t d = 0; d < times.size(); ++d) {
    doubled.push_back(times[d]);
    doubled.push_back(part.sizes()[d]);
    shape.push_back(times[d] * part.sizes()[d]);
  }
  for (std::int64_t d = part.dim(); d-- > 0;) part = part.unsqueeze(d);
  return part.expand(doubled).clone().view(shape);
}

Tensor Tensor::repeat_interleave(std::int64_t times, std::int64_t d) const {
  const auto place = static_cast<std::int64_t>(wrapped(d));
  Dimensions shape = sizes();
  shape.insert(static_cast<std::size_t>(place) + 1, times);
  const Tensor all = unsqueeze(place + 1).expand(shape);
  return all.flatten(place, place + 1).contiguous();
}

Tensor Tensor::repeat_interleave(const Tensor& times, std::int64_t d) const {
  return index_select(d, ops::repeat_interleave(times));
}

Tensor repeat_interleave(const Tensor& times) {
  const Tensor counts = times.to(kLong).contiguous();
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < counts.numel(); ++i)
    places.insert(places.end(), static_cast<std::size_t>(counts.const_data<std::int64_t>()[i]), i);
  return tensor(places);
}

Tensor Tensor::roll(std::int64_t by) const {
  const Tensor flat = flatten();
  const std::int64_t n = numel(), shift = n > 0 ? (by % n + n) % n : 0;
  return cat({flat.narrow(0, n - shift, shift), flat.narrow(0, 0, n - shift)}).view(sizes());
}

Tensor Tensor::flip(std::int64_t d) const {
  return index_select(d, arange(size(d) - 1, -1, -1, kLong));
}

namespace {

// x with zeros on one side of the diagonal `column - row = diagonal`.
Tensor triangle(const Tensor& x, bool upper, std::int64_t diagonal) {
  const auto compute = [&] {
    const std::int64_t rows = x.size(-2), columns = x.size(-1);
    if (x.device() != nullptr) {
      const Tensor places = arange(columns).unsqueeze(0) - arange(rows).unsqueeze(1);  // [rows, columns]
      return where(upper ? places.ge(diagonal) : places.le(diagonal), x, scalar_tensor(0, x.type()));
    }
    const Tensor made = x.clone();
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t edge = std::clamp<std::int64_t>(row + diagonal + (upper ? 0 : 1), 0, columns);
      made.select(-2, row).narrow(-1, upper ? 0 : edge, upper ? edge : columns - edge).zero_();
    }
    return made;
  };
  return with_rule(
      compute,
      [&](const Tensor&) {
        return [=](const Tensor& g) { return std::vector<Tensor>{triangle(g, upper, diagonal)}; };
      },
      x);
}

}  // namespace

Tensor Tensor::triu(std::int64_t diagonal) const {
  return triangle(*this, true, diagonal);
}
Tensor Tensor::tril(std::int64_t diagonal) const {
  return triangle(*this, false, diagonal);
}

Tensor cat(const std::vector<Tensor>& parts, std::int64_t d) {
  std::vector<Tensor> all;
  for (const Tensor& part : parts)  // as in torch, an empty vector fits any other part
    if (!(part.dim() == 1 && part.numel() == 0 && parts.front().dim() != 1)) all.push_back(part);
  if (all.empty()) {
    if (parts.empty()) fail("cat: expected at least one tensor");
    return parts.front();
  }
  const Tensor* shaped = &all.front();
  for (const Tensor& part : all)
    if (part.dim() > shaped->dim()) shaped = &part;
  const std::size_t place = shaped->wrapped(d);
  ScalarType type = parts.front().type();
  for (const Tensor& part : parts) type = promoted(type, part.type());
  Dimensions shape = shaped->sizes();
  shape[place] = 0;
  for (const Tensor& part : all) {
    if (part.dim() == 1 && part.numel() == 0 && shaped->dim() != 1) continue;
    if (part.dim() != shaped->dim())
      fail("cat: tensors of {} and {} dimensions cannot be joined", part.dim(), shaped->dim());
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (i != place && part.sizes()[i] != shape[i])
        fail("cat: [{}] and [{}] cannot be joined along dimension {}", fmt::join(part.sizes().vec(), ", "),
             fmt::join(shaped->sizes().vec(), ", "), place);
    shape[place] += part.sizes()[place];
  }
  Device* device = nullptr;
  for (const Tensor& part : all) device = part.device() ? part.device() : device;
  const Tensor made = empty(shape, type, device);
  std::vector<Tensor> own;
  std::vector<std::int64_t> sizes;
  for (const Tensor& part : all) {
    if (part.dim() != shaped->dim()) continue;
    own.push_back(part);
    sizes.push_back(part.sizes()[place]);
  }
  const auto d_of_all = static_cast<std::int64_t>(place);
  const bool recorded = recording() && std::any_of(own.begin(), own.end(), needs_gradient);
  {
    const Unrecorded unrecorded;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      copy(made.narrow(d_of_all, first, sizes[i]), own[i]);
      first += sizes[i];
    }
  }
  if (recorded)
    record(made, own, [sizes, d_of_all](const Tensor& g) { return g.split_with_sizes(sizes, d_of_all); });
  return made;
}

Tensor stack(const std::vector<Tensor>& parts, std::int64_t d) {
  std::vector<Tensor> all;
  for (const Tensor& part : parts) all.push_back(part.unsqueeze(d));
  return cat(all, d);
}

Tensor with_margins(const Tensor& x, const std::vector<std::int64_t>& margins, Scalar value) {
  const auto compute = [&] {
    Dimensions shape = x.sizes();
    const std::size_t padded = margins.size() / 2;
    for (std::size_t i = 0; i < padded; ++i)
      shape[shape.size() - 1 - i] += margins[2 * i] + margins[2 * i + 1];
    const Tensor made = full(shape, value, x.type(), x.device());
    Tensor inside = made, kept = x;
    for (std::size_t i = 0; i < padded; ++i) {  // negative margins cut
      const auto d = static_cast<std::int64_t>(shape.size() - 1 - i);
      const std::int64_t before = margins[2 * i], after = margins[2 * i + 1];
      const std::int64_t cut = std::max<std::int64_t>(0, -before);
      const std::int64_t count = x.size(d) - cut - std::max<std::int64_t>(0, -after);
      kept = kept.narrow(d, cut, count);
      inside = inside.narrow(d, std::max<std::int64_t>(0, before), count);
    }
    copy(inside, kept);
    return made;
  };
  return with_rule(
      compute,
      [&](const Tensor&) {
        std::vector<std::int64_t> cut;
        for (const std::int64_t count : margins) cut.push_back(-count);
        return [cut](const Tensor& g) { return std::vector<Tensor>{with_margins(g, cut)}; };
      },
      x);
}

}  // namespace attend::ops
