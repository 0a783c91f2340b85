// Gather, scatter and selection by indices that are in another tensor.
#include "tensor/tape.h"
#include "tensor/walk.h"

#include <cstring>
#include <set>

namespace attend::ops {
namespace {

// The indices, checked to be from 0 to size - 1; negative ones count from the end where torch allows that.
std::vector<std::int64_t> checked(const Tensor& places, std::int64_t size, bool from_end = false) {
  if (!is_integer(places.type(), /*with_bool=*/false))
    fail("expected integer indices, found {}", name_of(places.type()));
  const Tensor flat = places.to(kLong).contiguous();
  const std::int64_t* const data = flat.const_data<std::int64_t>();
  std::vector<std::int64_t> numbers(data, data + flat.numel());
  for (std::int64_t& number : numbers) {
    if (from_end && number < 0) number += size;
    if (number < 0 || number >= size) fail("index {} is out of range for size {}", number, size);
  }
  return numbers;
}

void check_values(const Tensor& values, std::int64_t d, const Tensor& places) {
  if (values.size(d) != places.numel()) fail("{} values for {} indices", values.size(d), places.numel());
}

// f(the part of x at index i, i) for each index along d.
template <class F>
void for_places(const Tensor& x, std::int64_t d, const Tensor& places, F f) {
  std::int64_t i = 0;
  for (const std::int64_t place : checked(places, x.size(d))) f(x.select(d, place), i++);
}

// The indices where the mask is true, one tensor for each dimension of the mask.
std::vector<Tensor> places_in(const Tensor& mask, const Dimensions& sizes) {
  if (mask.dim() == 0 || mask.dim() > std::ssize(sizes) ||
      !(mask.sizes() == sizes.slice(0, mask.sizes().size())))
    fail("a mask of shape [{}] does not fit a tensor of [{}]", fmt::join(mask.sizes().vec(), ", "),
         fmt::join(sizes.vec(), ", "));
  return mask.nonzero().unbind(1);
}

void check_places(const std::vector<Tensor>& places, const Dimensions& sizes) {
  if (places.empty() || places.size() > sizes.size())
    fail("indices for {} dimensions, but the tensor has {}", places.size(), sizes.size());
}

// f(element of x, element with `places`' shape), for gathers and scatters; x is indexed along d.
template <class F>
void for_gathered(const Tensor& x, std::int64_t d, const Tensor& places, const Tensor& values, F f) {
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

namespace {

bool has_rows(const Tensor& x, std::size_t d) {
  return d == 0 && x.size(0) > 0 && x.select(0, 0).is_contiguous();
}

Tensor selected(const Tensor& x, std::int64_t d, const std::vector<std::int64_t>& numbers) {
  const Unrecorded unrecorded;
  const std::size_t w = x.wrapped(d);
  Dimensions shape = x.sizes();
  shape[w] = static_cast<std::int64_t>(numbers.size());
  const Tensor made = empty(shape, x.type());
  if (has_rows(x, w)) {
    const std::int64_t row = x.select(0, 0).numel() * x.element_size(), step = x.stride(0) * x.element_size();
    auto* to = static_cast<std::byte*>(made.data());
    for (const std::int64_t number : numbers) {
      std::memcpy(to, static_cast<const std::byte*>(x.data()) + number * step, static_cast<std::size_t>(row));
      to += row;
    }
    return made;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i)
    made.select(d, static_cast<std::int64_t>(i)).copy_(x.select(d, numbers[i]));
  return made;
}

// whole[.., numbers[i], ..] += values[.., i, ..]. Each thread owns some columns, so the order of the sums is
// the order of the indices.
void add_selected(const Tensor& whole, std::int64_t d, const std::vector<std::int64_t>& numbers,
                  const Tensor& values) {
  if (whole.numel() == 0 || values.numel() == 0) return;
  const Tensor given = values.to(whole.type());
  if (!has_rows(whole, whole.wrapped(d)) || whole.dim() == 0) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      whole.select(d, numbers[i]).add_(given.select(d, static_cast<std::int64_t>(i)));
    return;
  }
  const Tensor rows = given.contiguous();
  const std::int64_t row = rows.numel() / rows.size(0), step = whole.stride(0);
  with_type(whole.type(), [&](auto zero) {
    using T = decltype(zero);
    T* const to = whole.data<T>();
    const T* const from = rows.const_data<T>();
    constexpr std::size_t kFewest = 1 << 14;
    parallel_for(static_cast<std::size_t>(row), std::max<std::size_t>(64, kFewest / numbers.size()),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = 0; i < numbers.size(); ++i) {
                     T* const t = to + numbers[i] * step;
                     const T* const f = from + static_cast<std::int64_t>(i) * row;
                     for (std::size_t j = begin; j < end; ++j) t[j] = static_cast<T>(t[j] + f[j]);
                   }
                 });
  });
  whole.bump_version();
}

}  // namespace

Tensor Tensor::index_select(std::int64_t d, const Tensor& places) const {
  std::vector<std::int64_t> numbers = checked(places, size(d));
  Tensor made = selected(*this, d, numbers);
  if (tracked(*this))
    record_adding(made, *this, [d, numbers = std::move(numbers)](const Tensor& whole, const Tensor& g) {
      add_selected(whole, d, numbers, g);
    });
  return made;
}

Tensor embedding(const Tensor& table, const Tensor& ids, std::int64_t padding) {
  Dimensions shape = ids.sizes();
  shape.push_back(table.size(1));
  if (!tracked(table)) return table.index_select(0, ids).view(shape);
  std::vector<std::int64_t> numbers = checked(ids, table.size(0));
  Tensor made = selected(table, 0, numbers);
  // The row of the padding token gets no gradient.
  record_adding(made, table, [numbers = std::move(numbers), padding](const Tensor& whole, const Tensor& g) {
    if (padding < 0) return add_selected(whole, 0, numbers, g);
    std::vector<std::int64_t> rows, places;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i] != padding) rows.push_back(numbers[i]), places.push_back(static_cast<std::int64_t>(i));
    add_selected(whole, 0, rows, selected(g, 0, places));
  });
  return made.view(shape);
}

Tensor Tensor::index(const std::vector<Tensor>& places) const {
  if (places.size() == 1 && places[0].type() == kBool) return index(places_in(places[0], sizes()));
  check_places(places, sizes());
  // The first dimensions are flattened into one, from which rows are taken.
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

const Tensor& Tensor::index_put_(const std::vector<Tensor>& places, const Tensor& values) const {
  if (places.size() == 1 && places[0].type() == kBool)
    return index_put_(places_in(places[0], sizes()), values);
  check_places(places, sizes());
  Dimensions shape = places[0].sizes();
  for (const Tensor& place : places) shape = broadcast(shape, place.sizes());
  std::vector<std::vector<std::int64_t>> numbers;
  for (std::size_t d = 0; d < places.size(); ++d)
    numbers.push_back(checked(places[d].expand(shape).contiguous(), sizes()[d], /*from_end=*/true));
  Dimensions whole = shape;
  for (std::size_t d = places.size(); d < sizes().size(); ++d) whole.push_back(sizes()[d]);
  const auto write = [&] {
    Tensor given = values.expand(whole).contiguous();
    if (shape.size() > 0) given = given.flatten(0, static_cast<std::int64_t>(shape.size()) - 1);
    for (std::size_t i = 0; i < numbers[0].size(); ++i) {
      Tensor part = *this;
      for (const auto& of_dimension : numbers) part = part.select(0, of_dimension[i]);
      part.copy_(shape.size() > 0 ? given.select(0, static_cast<std::int64_t>(i)) : given);
    }
  };
  return in_place(
      *this, write,
      [&] {
        return [all = std::vector<Tensor>(places.begin(), places.end())](const Tensor& g) {
          return std::vector<Tensor>{g.index_put(all, scalar_tensor(0, g.type())), g.index(all)};
        };
      },
      values);
}

Tensor Tensor::index_put(const std::vector<Tensor>& places, const Tensor& values) const {
  const Tensor made = clone();
  made.index_put_(places, values);
  return made;
}

const Tensor& Tensor::index_copy_(std::int64_t d, const Tensor& places, const Tensor& values) const {
  check_values(values, d, places);
  return in_place(
      *this,
      [&] {
        for_places(*this, d, places,
                   [&](const Tensor& part, std::int64_t i) { part.copy_(values.select(d, i)); });
      },
      [&] {
        return [d, places](const Tensor& g) {
          return std::vector<Tensor>{g.index_fill(d, places, 0), g.index_select(d, places)};
        };
      },
      values);
}
const Tensor& Tensor::index_add_(std::int64_t d, const Tensor& places, const Tensor& values) const {
  check_values(values, d, places);
  return in_place(
      *this, [&] { add_selected(*this, d, checked(places, size(d)), values); },
      [&] {
        return [d, places](const Tensor& g) { return std::vector<Tensor>{g, g.index_select(d, places)}; };
      },
      values);
}
const Tensor& Tensor::index_fill_(std::int64_t d, const Tensor& places, Scalar value) const {
  return in_place(
      *this,
      [&] { for_places(*this, d, places, [&](const Tensor& part, std::int64_t) { part.fill_(value); }); },
      [&] {
        return [d, places](const Tensor& g) { return std::vector<Tensor>{g.index_fill(d, places, 0)}; };
      });
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

namespace {

void add_gathered(const Tensor& whole, std::int64_t d, const Tensor& places, const Tensor& values) {
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
  Tensor made = empty(places.sizes(), type());
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
  with_type(type(), [&](auto zero) {
    using T = decltype(zero);
    for_gathered(made, d, places, values,
                 [to = made.data<T>(), from = values.const_data<T>()](std::int64_t own, std::int64_t other) {
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
  const Dimensions steps = contiguous_strides(sizes());  // strides of dimensions of size 1 in `all` may be 0
  std::vector<std::int64_t> places;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < numel(); ++i) {
    if (!all.const_data<bool>()[i]) continue;
    ++count;
    for (std::size_t d = 0; d < steps.size(); ++d) places.push_back(i / steps[d] % sizes()[d]);
  }
  return tensor(places).view({count, dim()});
}

std::tuple<Tensor, Tensor> unique(const Tensor& x, bool) {
  if (x.is_floating_point()) fail("expected integers, found {}", name_of(x.type()));
  const Tensor all = x.to(kLong).contiguous();
  const std::int64_t* const data = all.const_data<std::int64_t>();
  const std::set<std::int64_t> numbers(data, data + all.numel());
  return {tensor(std::vector<std::int64_t>(numbers.begin(), numbers.end())).to(x.type()), Tensor()};
}

Tensor bincount(const Tensor& x, const Tensor& weights, std::int64_t min) {
  if (weights.defined()) fail("bincount with weights is not supported");
  const Tensor numbers = x.to(kLong).contiguous();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(min));
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    const std::int64_t number = numbers.const_data<std::int64_t>()[i];
    if (number < 0) fail("expected numbers from 0 on, found {}", number);
    if (number >= std::ssize(counts)) counts.resize(static_cast<std::size_t>(number) + 1);
    ++counts[static_cast<std::size_t>(number)];
  }
  return tensor(counts);
}

}  // namespace attend::ops
