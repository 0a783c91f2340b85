// Places that are numbers in another tensor.
#include "tensor/host/walk.h"

#include <cstring>
#include <set>

namespace attend::host {
namespace {

// The places as numbers from 0 to size - 1; negative ones count from the end where torch lets them.
std::vector<std::int64_t> checked(const Tensor& places, std::int64_t size, bool from_end = false) {
  if (!isIntegralType(places.scalar_type(), /*with_bool=*/false))
    fail("expected places as integers, found {}", toString(places.scalar_type()));
  const Tensor flat = places.to(kLong).contiguous();
  const std::int64_t* const data = flat.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> numbers(data, data + flat.numel());
  for (std::int64_t& number : numbers) {
    if (from_end && number < 0) number += size;
    if (number < 0 || number >= size) fail("index {} is out of range for {} places", number, size);
  }
  return numbers;
}

void check_values(const Tensor& values, std::int64_t d, const Tensor& places) {
  if (values.size(d) != places.numel()) fail("{} values for {} places", values.size(d), places.numel());
}

// f(the part of x at number i, i) for each place along d.
template <class F>
void for_places(const Tensor& x, std::int64_t d, const Tensor& places, F f) {
  std::int64_t i = 0;
  for (const std::int64_t place : checked(places, x.size(d))) f(x.select(d, place), i++);
}

// For each dimension of the mask, where it is true.
std::vector<Tensor> places_in(const Tensor& mask, IntArrayRef sizes) {
  if (mask.dim() == 0 || mask.dim() > std::ssize(sizes) ||
      !(mask.sizes() == sizes.slice(0, mask.sizes().size())))
    fail("a mask of the shape [{}] for a tensor of [{}]", fmt::join(mask.sizes().vec(), ", "),
         fmt::join(sizes.vec(), ", "));
  return mask.nonzero().unbind(1);
}

void check_places(ArrayRef<Tensor> places, IntArrayRef sizes) {
  if (places.empty() || places.size() > sizes.size())
    fail("places in {} dimensions for a tensor of {}", places.size(), sizes.size());
}

// f(element of x, element of `places`' shape): for gathers and scatters, x indexed along d.
template <class F>
void for_gathered(const Tensor& x, std::int64_t d, const Tensor& places, const Tensor& values, F f) {
  const std::size_t w = x.wrapped(d);
  if (places.dim() != x.dim()) fail("places of {} dimensions for a tensor of {}", places.dim(), x.dim());
  if (values.dim() != x.dim()) fail("values of {} dimensions for a tensor of {}", values.dim(), x.dim());
  for (std::size_t i = 0; i < places.sizes().size(); ++i)
    if (places.sizes()[i] > values.sizes()[i])
      fail("places of the shape [{}] for values of [{}]", fmt::join(places.sizes().vec(), ", "),
           fmt::join(values.sizes().vec(), ", "));
  for (std::size_t i = 0; i < places.sizes().size(); ++i)
    if (i != w && places.sizes()[i] > x.sizes()[i])
      fail("places of the shape [{}] for a tensor of [{}]", fmt::join(places.sizes().vec(), ", "),
           fmt::join(x.sizes().vec(), ", "));
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

}  // namespace

Tensor Tensor::index_select(std::int64_t d, const Tensor& places) const {
  const std::size_t w = wrapped(d);
  const std::vector<std::int64_t> numbers = checked(places, size(d));
  Dimensions shape = sizes();
  shape[w] = static_cast<std::int64_t>(numbers.size());
  const Tensor made = empty(shape, scalar_type());
  if (w == 0 && size(0) > 0 && select(0, 0).is_contiguous()) {  // rows
    const std::int64_t row = select(0, 0).numel() * element_size(), step = stride(0) * element_size();
    auto* to = static_cast<std::byte*>(made.data_ptr());
    for (const std::int64_t number : numbers) {
      std::memcpy(to, static_cast<const std::byte*>(data_ptr()) + number * step,
                  static_cast<std::size_t>(row));
      to += row;
    }
    return made;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i)
    made.select(d, static_cast<std::int64_t>(i)).copy_(select(d, numbers[i]));
  return made;
}

Tensor embedding(const Tensor& table, const Tensor& ids, std::int64_t) {
  Dimensions shape = ids.sizes();
  shape.push_back(table.size(1));
  return table.index_select(0, ids).view(shape);
}

Tensor Tensor::index(ArrayRef<Tensor> places) const {
  if (places.size() == 1 && places[0].scalar_type() == kBool) return index(places_in(places[0], sizes()));
  check_places(places, sizes());
  // The first dimensions as one, of which rows are taken.
  Dimensions shape = places[0].sizes();
  for (const Tensor& place : places) shape = broadcast(shape, place.sizes());
  Tensor row = zeros(shape, kLong);
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < places.size(); ++d) {
    const std::int64_t length = sizes()[d];
    const std::vector<std::int64_t> numbers = checked(places[d], length, /*from_end=*/true);
    row = row * length + tensor(numbers).view(places[d].sizes());
    rows *= length;
  }
  Dimensions rest, whole = shape;
  rest.push_back(rows);
  for (std::size_t d = places.size(); d < sizes().size(); ++d) {
    rest.push_back(sizes()[d]);
    whole.push_back(sizes()[d]);
  }
  return reshape(rest).index_select(0, row).view(whole);
}

const Tensor& Tensor::index_put_(ArrayRef<Tensor> places, const Tensor& values) const {
  if (places.size() == 1 && places[0].scalar_type() == kBool)
    return index_put_(places_in(places[0], sizes()), values);
  check_places(places, sizes());
  Dimensions shape = places[0].sizes();
  for (const Tensor& place : places) shape = broadcast(shape, place.sizes());
  std::vector<std::vector<std::int64_t>> numbers;
  for (std::size_t d = 0; d < places.size(); ++d)
    numbers.push_back(checked(places[d].expand(shape).contiguous(), sizes()[d], /*from_end=*/true));
  Dimensions whole = shape;
  for (std::size_t d = places.size(); d < sizes().size(); ++d) whole.push_back(sizes()[d]);
  Tensor given = values.expand(whole).contiguous();
  if (shape.size() > 0) given = given.flatten(0, static_cast<std::int64_t>(shape.size()) - 1);
  for (std::size_t i = 0; i < numbers[0].size(); ++i) {
    Tensor part = *this;
    for (const auto& of_dimension : numbers) part = part.select(0, of_dimension[i]);
    part.copy_(given.select(0, static_cast<std::int64_t>(i)));
  }
  return *this;
}

Tensor Tensor::index_put(ArrayRef<Tensor> places, const Tensor& values) const {
  const Tensor made = clone();
  made.index_put_(places, values);
  return made;
}

const Tensor& Tensor::index_copy_(std::int64_t d, const Tensor& places, const Tensor& values) const {
  check_values(values, d, places);
  for_places(*this, d, places, [&](const Tensor& part, std::int64_t i) { part.copy_(values.select(d, i)); });
  return *this;
}
const Tensor& Tensor::index_add_(std::int64_t d, const Tensor& places, const Tensor& values) const {
  check_values(values, d, places);
  for_places(*this, d, places, [&](const Tensor& part, std::int64_t i) { part.add_(values.select(d, i)); });
  return *this;
}
const Tensor& Tensor::index_fill_(std::int64_t d, const Tensor& places, Scalar value) const {
  for_places(*this, d, places, [&](const Tensor& part, std::int64_t) { part.fill_(value); });
  return *this;
}
Tensor Tensor::index_copy(std::int64_t d, const Tensor& places, const Tensor& values) const {
  return Tensor(clone()).index_copy_(d, places, values);
}
Tensor Tensor::index_add(std::int64_t d, const Tensor& places, const Tensor& values) const {
  return Tensor(clone()).index_add_(d, places, values);
}
Tensor Tensor::index_fill(std::int64_t d, const Tensor& places, Scalar value) const {
  return Tensor(clone()).index_fill_(d, places, value);
}

Tensor Tensor::gather(std::int64_t d, const Tensor& places) const {
  const Tensor made = empty(places.sizes(), scalar_type());
  with_type(scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for_gathered(*this, d, places, made,
                 [from = const_data_ptr<T>(), to = made.data_ptr<T>()](std::int64_t own, std::int64_t other) {
                   to[other] = from[own];
                 });
  });
  return made;
}

const Tensor& Tensor::scatter_(std::int64_t d, const Tensor& places, const Tensor& values) const {
  const Tensor given = values.to(scalar_type());
  with_type(scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for_gathered(*this, d, places, given,
                 [to = data_ptr<T>(), from = given.const_data_ptr<T>()](
                     std::int64_t own, std::int64_t other) { to[own] = from[other]; });
  });
  return *this;
}

Tensor Tensor::scatter_reduce(std::int64_t d, const Tensor& places, const Tensor& values,
                              const char* how) const {
  if (std::strcmp(how, "amax") != 0) fail("scatter_reduce by {} is not there", how);
  const Tensor made = clone();
  with_type(scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for_gathered(
        made, d, places, values,
        [to = made.data_ptr<T>(), from = values.const_data_ptr<T>()](std::int64_t own, std::int64_t other) {
          if (from[other] > to[own] || from[other] != from[other]) to[own] = from[other];
        });
  });
  return made;
}

Tensor Tensor::masked_select(const Tensor& mask) const {
  const Dimensions shape = broadcast(sizes(), mask.sizes());
  if (shape.size() == 0) return view({1}).masked_select(mask);
  return expand(shape).index({mask.expand(shape)});
}

Tensor Tensor::nonzero() const {
  const Tensor all = to(kBool).contiguous();
  const Dimensions steps = contiguous_strides(sizes());  // all's may be 0 where there is one number
  std::vector<std::int64_t> places;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < numel(); ++i) {
    if (!all.const_data_ptr<bool>()[i]) continue;
    ++count;
    for (std::size_t d = 0; d < steps.size(); ++d) places.push_back(i / steps[d] % sizes()[d]);
  }
  return tensor(places).view({count, dim()});
}

std::tuple<Tensor, Tensor> _unique(const Tensor& x, bool) {
  if (x.is_floating_point()) fail("expected integers, found {}", toString(x.scalar_type()));
  const Tensor all = x.to(kLong).contiguous();
  const std::int64_t* const data = all.const_data_ptr<std::int64_t>();
  const std::set<std::int64_t> numbers(data, data + all.numel());
  return {tensor(std::vector<std::int64_t>(numbers.begin(), numbers.end())).to(x.scalar_type()), Tensor()};
}

Tensor bincount(const Tensor& x, const Tensor& weights, std::int64_t least) {
  if (weights.defined()) fail("counts with weights are not there");
  const Tensor numbers = x.to(kLong).contiguous();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(least));
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    const std::int64_t number = numbers.const_data_ptr<std::int64_t>()[i];
    if (number < 0) fail("expected numbers from 0 on, found {}", number);
    if (number >= std::ssize(counts)) counts.resize(static_cast<std::size_t>(number) + 1);
    ++counts[static_cast<std::size_t>(number)];
  }
  return tensor(counts);
}

}  // namespace attend::host
