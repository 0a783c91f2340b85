// Views: the same memory with another shape or strides.
#include "tensor/tape.h"
#include "tensor/walk.h"

#include <fmt/ranges.h>

namespace attend::ops {
namespace {

Tensor view_of(const Tensor& x, const Dimensions& sizes, const Dimensions& strides, std::int64_t offset = 0) {
  auto body = std::make_shared<Tensor::Body>();
  body->data = offset == 0 ? x.body().data
                           : std::shared_ptr<std::byte>(x.body().data,
                                                        x.body().data.get() + offset * x.element_size());
  body->memory = x.body().memory;
  body->type = x.type();
  body->sizes = sizes;
  body->strides = strides;
  return Tensor(std::move(body));
}

// A view of all of x; rule turns a gradient of the view into one of x.
template <class Rule>
Tensor whole_of(const Tensor& x, const Dimensions& sizes, const Dimensions& strides, const Rule& rule) {
  Tensor seen = view_of(x, sizes, strides);
  if (recording()) record_view(seen, x, rule);
  return seen;
}

// A part of x; part(y) is the same part of another tensor of its shape.
template <class Part>
Tensor part_of(const Tensor& x, const Dimensions& sizes, const Dimensions& strides, std::int64_t offset,
               const Part& part) {
  Tensor seen = view_of(x, sizes, strides, offset);
  if (recording()) record_part(seen, x, part);
  return seen;
}

Tensor in_shape(const Tensor& x, const Dimensions& shape, const Dimensions& strides) {
  return whole_of(x, shape, strides,
                  [from = Dimensions(x.sizes())](const Tensor& g) { return g.reshape(from); });
}

// The shape with -1 replaced by the remaining size.
Dimensions whole_shape(const Tensor& x, const Dimensions& shape) {
  Dimensions whole = shape;
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& size : whole) {
    if (size == -1 && open == nullptr)
      open = &size;
    else if (size < 0)
      fail("[{}] is not a valid shape of a tensor", fmt::join(shape.vec(), ", "));
    else
      known *= size;
  }
  if (open != nullptr) *open = known > 0 ? x.numel() / known : 0;
  if ((open != nullptr ? *open * known : known) != x.numel())
    fail("[{}] cannot be viewed as [{}]", fmt::join(x.sizes().vec(), ", "), fmt::join(shape.vec(), ", "));
  return whole;
}

// The strides with which x's memory has this shape, if they exist.
std::optional<Dimensions> strides_for(const Tensor& x, const Dimensions& shape) {
  if (x.is_contiguous() || x.numel() == 0) return contiguous_strides(shape);
  Dimensions strides = shape;
  // From the last dimension: contiguous runs of x's dimensions are divided into new ones.
  std::int64_t next = static_cast<std::int64_t>(shape.size()) - 1;
  std::int64_t run = 1, step = x.strides().back(), cut = 1;
  for (std::int64_t d = x.dim() - 1; d >= 0; --d) {
    run *= x.size(d);
    const bool ends = d == 0 || (x.size(d - 1) != 1 && x.stride(d - 1) != run * step);
    if (!ends) continue;
    while (next >= 0 && (cut < run || shape[static_cast<std::size_t>(next)] == 1)) {
      strides[static_cast<std::size_t>(next)] = cut * step;
      cut *= shape[static_cast<std::size_t>(next--)];
    }
    if (cut != run) return std::nullopt;
    if (d > 0) {
      step = x.stride(d - 1);
      run = cut = 1;
    }
  }
  if (next != -1) return std::nullopt;
  return strides;
}

}  // namespace

Tensor Tensor::view(const Dimensions& shape) const {
  const Dimensions whole = whole_shape(*this, shape);
  const auto strides = strides_for(*this, whole);
  if (!strides)
    fail("the memory of [{}] cannot be viewed as [{}]", fmt::join(sizes().vec(), ", "),
         fmt::join(shape.vec(), ", "));
  return in_shape(*this, whole, *strides);
}

Tensor Tensor::view(ScalarType type) const {
  const std::int64_t from = element_size(), to = bytes_of(type);
  if (!is_contiguous() || dim() == 0 || size(-1) * from % to != 0)
    fail("[{}] of {} cannot be viewed as {}", fmt::join(sizes().vec(), ", "), name_of(body().type),
         name_of(type));
  Dimensions shape = body().sizes;
  shape[shape.size() - 1] = size(-1) * from / to;
  const Tensor seen = view_of(*this, shape, contiguous_strides(shape));
  seen.body().type = type;
  return seen;
}

Tensor Tensor::reshape(const Dimensions& shape) const {
  const Dimensions whole = whole_shape(*this, shape);
  if (const auto strides = strides_for(*this, whole)) return in_shape(*this, whole, *strides);
  return clone().view(whole);
}

Tensor Tensor::narrow(std::int64_t d, std::int64_t first, std::int64_t count) const {
  const std::size_t w = wrapped(d);
  if (first < 0) first += size(d);
  if (first < 0 || count < 0 || first + count > size(d))
    fail("narrow: the size is {}, but {} elements from index {} were requested", size(d), count, first);
  Dimensions shape = body().sizes;
  shape[w] = count;
  return part_of(*this, shape, body().strides, first * stride(d),
                 [=](const Tensor& whole) { return whole.narrow(d, first, count); });
}

Tensor Tensor::slice(std::int64_t d, std::optional<std::int64_t> first, std::optional<std::int64_t> end,
                     std::int64_t step) const {
  if (step < 1) fail("expected a positive step, found {}", step);
  const std::size_t w = wrapped(d);
  const std::int64_t length = size(d);
  const auto within = [&](std::int64_t place) {
    return std::clamp<std::int64_t>(place < 0 ? place + length : place, 0, length);
  };
  const std::int64_t begin = within(first.value_or(0)), stop = std::max(begin, within(end.value_or(length)));
  Dimensions shape = body().sizes, steps = body().strides;
  shape[w] = (stop - begin + step - 1) / step;
  steps[w] *= step;
  return part_of(*this, shape, steps, begin * stride(d),
                 [=](const Tensor& whole) { return whole.slice(d, begin, stop, step); });
}

Tensor Tensor::select(std::int64_t d, std::int64_t place) const {
  const std::size_t w = wrapped(d);
  if (place < 0) place += size(d);
  if (place < 0 || place >= size(d))
    fail("select: the size is {}, but index {} was requested", size(d), place);
  Dimensions shape = body().sizes, steps = body().strides;
  shape.erase(w);
  steps.erase(w);
  return part_of(*this, shape, steps, place * stride(d),
                 [=](const Tensor& whole) { return whole.select(d, place); });
}

Tensor Tensor::transpose(std::int64_t a, std::int64_t b) const {
  Dimensions shape = body().sizes, steps = body().strides;
  std::swap(shape[wrapped(a)], shape[wrapped(b)]);
  std::swap(steps[wrapped(a)], steps[wrapped(b)]);
  return whole_of(*this, shape, steps, [=](const Tensor& g) { return g.transpose(a, b); });
}

Tensor Tensor::permute(const Dimensions& order) const {
  if (order.size() != sizes().size())
    fail("permute: {} dimensions were given for a tensor of {}", order.size(), dim());
  Dimensions shape, steps;
  std::array<bool, Dimensions::kMax> taken{};
  for (const std::int64_t d : order) {
    if (std::exchange(taken[wrapped(d)], true)) fail("permute: dimension {} was given twice", d);
    shape.push_back(size(d));
    steps.push_back(stride(d));
  }
  Dimensions back = order;
  for (std::size_t i = 0; i < order.size(); ++i) back[wrapped(order[i])] = static_cast<std::int64_t>(i);
  return whole_of(*this, shape, steps, [back](const Tensor& g) { return g.permute(back); });
}

Tensor Tensor::unsqueeze(std::int64_t d) const {
  const auto place = static_cast<std::size_t>(d < 0 ? d + dim() + 1 : d);
  if (place > sizes().size()) fail("a tensor of {} dimensions cannot get a dimension {}", dim(), d);
  Dimensions shape = body().sizes, steps = body().strides;
  const std::int64_t step = place < shape.size() ? shape[place] * steps[place] : 1;
  shape.insert(place, 1);
  steps.insert(place, step);
  return in_shape(*this, shape, steps);
}

Tensor Tensor::squeeze(std::int64_t d) const {
  if (size(d) != 1) return *this;
  Dimensions shape = body().sizes, steps = body().strides;
  shape.erase(wrapped(d));
  steps.erase(wrapped(d));
  return in_shape(*this, shape, steps);
}

Tensor Tensor::squeeze() const {
  Tensor result = *this;
  for (std::int64_t d = dim(); d-- > 0;) result = result.squeeze(d);
  return result;
}

Tensor Tensor::expand(const Dimensions& shape) const {
  const std::size_t more = shape.size() - std::min(shape.size(), sizes().size());
  if (shape.size() < sizes().size())
    fail("expand: {} sizes were given for a tensor of {} dimensions", shape.size(), dim());
  Dimensions whole = shape, steps = shape;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    const std::int64_t own = d < more ? 1 : sizes()[d - more];
    if (whole[d] == -1 && d >= more) whole[d] = own;
    if (whole[d] < 0 || (own != 1 && own != whole[d]))
      fail("[{}] cannot be expanded to [{}]", fmt::join(sizes().vec(), ", "), fmt::join(shape.vec(), ", "));
    steps[d] = own == 1 && whole[d] != 1 ? 0 : d < more ? 0 : strides()[d - more];
  }
  // The tape sums the gradients of repeated elements.
  return whole_of(*this, whole, steps, [](const Tensor& g) { return g; });
}

Tensor Tensor::diagonal(std::int64_t offset, std::int64_t rows, std::int64_t columns) const {
  const std::size_t row = wrapped(rows), column = wrapped(columns);
  if (row == column) fail("a diagonal needs two different dimensions");
  const std::int64_t below = std::max<std::int64_t>(0, -offset), beside = std::max<std::int64_t>(0, offset);
  const std::int64_t length = std::max<std::int64_t>(0, std::min(size(rows) - below, size(columns) - beside));
  const std::int64_t step = stride(rows) + stride(columns),
                     begin = length > 0 ? below * stride(rows) + beside * stride(columns) : 0;
  Dimensions shape = body().sizes, steps = body().strides;
  for (const std::size_t d : {std::max(row, column), std::min(row, column)}) {
    shape.erase(d);
    steps.erase(d);
  }
  shape.push_back(length);
  steps.push_back(step);
  return part_of(*this, shape, steps, begin,
                 [=](const Tensor& whole) { return whole.diagonal(offset, rows, columns); });
}

Tensor alias(const Tensor& x) {
  return whole_of(x, x.sizes(), x.strides(), [](const Tensor& g) { return g; });
}

Tensor Tensor::detach() const {
  return view_of(*this, body().sizes, body().strides);
}

std::vector<Tensor> Tensor::chunk(std::int64_t count, std::int64_t d) const {
  if (count < 1) fail("expected at least one part, found {}", count);
  // As in torch, an empty dimension gives as many chunks as requested.
  if (size(d) == 0) return std::vector<Tensor>(static_cast<std::size_t>(count), *this);
  const std::int64_t each = (size(d) + count - 1) / count;
  std::vector<Tensor> parts;
  for (std::int64_t first = 0; first < size(d); first += each)
    parts.push_back(narrow(d, first, std::min(each, size(d) - first)));
  return parts;
}

std::vector<Tensor> Tensor::split(std::int64_t each, std::int64_t d) const {
  std::vector<Tensor> parts;
  for (std::int64_t first = 0; first < size(d); first += each)
    parts.push_back(narrow(d, first, std::min(each, size(d) - first)));
  return parts;
}

std::vector<Tensor> Tensor::split_with_sizes(const std::vector<std::int64_t>& sizes, std::int64_t d) const {
  std::vector<Tensor> parts;
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(narrow(d, first, size));
    first += size;
  }
  if (first != size(d)) fail("split: the sizes add up to {}, but the tensor has {}", first, size(d));
  return parts;
}

std::vector<Tensor> Tensor::unbind(std::int64_t d) const {
  std::vector<Tensor> parts;
  for (std::int64_t place = 0; place < size(d); ++place) parts.push_back(select(d, place));
  return parts;
}

Tensor Tensor::flatten(std::int64_t first, std::int64_t last) const {
  if (dim() == 0) return reshape({1});
  if (wrapped(first) > wrapped(last)) fail("expected dimension {} to come before {}", first, last);
  Dimensions shape;
  for (std::size_t d = 0; d < sizes().size(); ++d) {
    if (d > wrapped(first) && d <= wrapped(last))
      shape[shape.size() - 1] *= sizes()[d];
    else
      shape.push_back(sizes()[d]);
  }
  return reshape(shape);
}

Tensor Tensor::unflatten(std::int64_t d, const Dimensions& shape) const {
  const std::size_t w = wrapped(d);
  std::int64_t known = 1;
  for (const std::int64_t size : shape) known *= size == -1 ? 1 : size;
  Dimensions whole;
  for (std::size_t i = 0; i < sizes().size(); ++i) {
    if (i != w) {
      whole.push_back(sizes()[i]);
      continue;
    }
    for (const std::int64_t size : shape)
      whole.push_back(size != -1 ? size : known > 0 ? sizes()[i] / known : 0);
  }
  return reshape(whole);
}

}  // namespace attend::ops
