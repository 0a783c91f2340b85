// Selection and writing by indices that are in another tensor.
#include "tensor/device.h"
#include "tensor/indices.h"
#include "tensor/tape.h"
#include "tensor/walk.h"

#include <cstring>
#include <set>

namespace attend::ops {

std::vector<std::int64_t> checked(const Tensor& places, std::int64_t size, bool from_end) {
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

namespace {

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
  const Tensor made = empty(shape, x.type(), x.device());
  if (Device* const device = x.device()) {
    if (made.numel() > 0)
      device->select(array_of(made), array_of(x), static_cast<std::int64_t>(w),
                     array_of(tensor(numbers).on(device)));
    return made;
  }
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
  if (Device* const device = whole.device()) {
    device->add_selected(array_of(whole), static_cast<std::int64_t>(whole.wrapped(d)),
                         array_of(tensor(numbers).on(device)), array_of(placed_on(*device, given)));
    whole.bump_version();
    return;
  }
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

// whole[.., numbers[i], ..] = values[.., i, ..] on a device.
void write_selected(const Tensor& whole, std::int64_t d, const std::vector<std::int64_t>& numbers,
                    const Tensor& values) {
  if (whole.numel() == 0 || values.numel() == 0) return;
  Device& device = *whole.device();
  device.write_selected(array_of(whole), static_cast<std::int64_t>(whole.wrapped(d)),
                        array_of(tensor(numbers).on(&device)),
                        array_of(placed_on(device, values.to(whole.type()))));
}

// Writes to the elements that the indices of the first dimensions choose, on a device. The shape of `values`
// is that of the indices, then that of the remaining dimensions.
void write_rows(const Tensor& whole, const std::vector<std::vector<std::int64_t>>& numbers,
                const Tensor& values) {
  if (values.numel() == 0) return;
  std::vector<std::int64_t> rows(numbers.front().size());
  std::int64_t count = 1;
  for (std::size_t d = 0; d < numbers.size(); ++d) {
    const std::int64_t length = whole.size(static_cast<std::int64_t>(d));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = rows[i] * length + numbers[d][i];
    count *= length;
  }
  const Tensor flat = whole.contiguous().reshape({count, -1});
  write_selected(flat, 0, rows, values.reshape({static_cast<std::int64_t>(rows.size()), -1}));
  if (!whole.is_contiguous()) whole.copy_(flat.view(whole.sizes()));
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
    if (device() != nullptr) return write_rows(*this, numbers, given);
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
        if (device() != nullptr) return write_selected(*this, d, checked(places, size(d)), values);
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
