#include "nn/cache/cache_pages.h"

#include "base/half_precision.h"
#include "kernels/int8/int8.h"
#include "tensor/parallel.h"

#include <algorithm>

namespace attend {

namespace {

kernels::Int8PageLayout layout_of(const CacheShape& shape) {
  return {shape.heads, shape.head_size, CachePages::kRows};
}

ScalarType stored_type(const CacheShape& shape) {
  return shape.format == CacheFormat::bfloat16 ? kBFloat16 : shape.type;
}

}  // namespace

std::int64_t CacheShape::page_bytes() const {
  const auto number = static_cast<std::int64_t>(ops::bytes_of(stored_type(*this)));
  return layers * (format == CacheFormat::int8 ? layout_of(*this).page_bytes()
                                               : 2 * CachePages::kRows * width() * number);
}

CachePages::CachePages(const CacheShape& shape)
    : shape_(shape),
      layout_(layout_of(shape)),
      pages_(in_int8() ? ops::empty({0, shape.layers, layout_.page_bytes()}, kChar)
                       : ops::empty({0, shape.layers, 2, shape.heads, kRows, shape.head_size},
                                    stored_type(shape), shape.device)) {}

void CachePages::grow(std::int64_t count) {
  const std::int64_t have = this->count();
  std::vector<std::int64_t> sizes = pages_.sizes().vec();
  sizes[0] = count;
  const Tensor larger = ops::empty(sizes, pages_.type(), pages_.device());
  if (have > 0) larger.narrow(0, 0, have).copy_(pages_);
  pages_ = larger;
}

void CachePages::copy(std::int64_t from, std::int64_t to, std::int64_t rows) {
  if (!on_kernels(pages_)) {  // also in int8, where the rows of a page are not contiguous, and bfloat16
    pages_[to].copy_(pages_[from]);
    return;
  }
  const std::int64_t head = kRows * shape_.head_size, page = pages_.stride(0);
  const float* source = pages_.const_data<float>() + from * page;
  float* target = pages_.data<float>() + to * page;
  for (std::int64_t at = 0; at < page; at += head)
    std::copy(source + at, source + at + rows * shape_.head_size, target + at);
}

void CachePages::write(std::int64_t layer, std::int64_t page, std::int64_t slot, const Tensor& key_values) {
  const std::int64_t at = page * pages_.stride(0) + layer * pages_.stride(1), count = key_values.size(0);
  if (in_int8()) {
    for (std::int64_t row = 0; row < count; ++row)
      write_int8(pages_.data<std::int8_t>() + at, slot + row,
                 key_values.const_data<float>() + row * key_values.stride(0));
  } else if (on_kernels(pages_)) {
    write_rows(pages_.data<float>() + at, slot, key_values);
  } else if (in_bfloat16()) {
    write_rows(pages_.data<ops::BFloat16>() + at, slot, key_values);
  } else {
    const Tensor rows = key_values.reshape({count, 2, shape_.heads, shape_.head_size});
    pages_[page][layer].narrow(2, slot, count).copy_(rows.permute({1, 2, 0, 3}));  // [2, heads, count, size]
  }
}

template <class Number>
void CachePages::write_rows(Number* page, std::int64_t slot, const Tensor& key_values) const {
  const std::int64_t size = shape_.head_size;
  for (std::int64_t row = 0; row < key_values.size(0); ++row) {
    const float* from = key_values.const_data<float>() + row * key_values.stride(0);
    Number* to = page + (slot + row) * size;
    for (std::int64_t i = 0; i < 2 * shape_.heads; ++i, from += size, to += kRows * size)
      std::transform(from, from + size, to, [](float x) {
        if constexpr (std::is_same_v<Number, float>)
          return x;
        else
          return ops::BFloat16{to_bfloat16(x)};
      });
  }
}

void CachePages::write_int8(std::int8_t* page, std::int64_t slot, const float* key_value) const {
  const std::int64_t size = shape_.head_size;
  for (std::int64_t half = 0; half < 2; ++half)
    for (std::int64_t head = 0; head < shape_.heads; ++head, key_value += size)
      reinterpret_cast<float*>(page + layout_.scales_at(half, head))[slot] = kernels::int8_kernels().quantize(
          page + layout_.bytes_at(half, head) + slot * size, key_value, size);
}

std::pair<Tensor, Tensor> CachePages::gather(std::int64_t layer, const std::vector<std::int32_t>& pages,
                                             std::int64_t length) const {
  const Tensor index = ops::tensor(std::vector<std::int64_t>(pages.begin(), pages.end()));
  Tensor read = pages_.select(1, layer).index_select(0, index);
  if (in_int8()) read = widened(read);
  if (in_bfloat16()) read = read.to(shape_.type);
  // [pages, 2, heads, kRows, size] -> [2, pages * kRows, width]
  const Tensor rows = read.permute({1, 0, 3, 2, 4}).reshape({2, -1, shape_.width()});
  return {rows[0].narrow(0, 0, length), rows[1].narrow(0, 0, length)};
}

// Converts int8 pages to [pages, 2, heads, kRows, size] float32.
Tensor CachePages::widened(const Tensor& pages) const {
  const std::int64_t heads = shape_.heads, size = shape_.head_size;
  const Tensor parts = pages.view({-1, 2, heads, layout_.head_bytes()});
  const Tensor bytes = parts.narrow(3, 0, kRows * size).reshape({-1, 2, heads, kRows, size}),
               scales = parts.narrow(3, kRows * size, kRows * 4).contiguous().view(kFloat);
  return bytes * scales.unsqueeze(4);
}

void CachePages::describe(std::int64_t layer, kernels::KeyValueView& view) const {
  view.page_stride = pages_.stride(0);
  const std::int64_t first = layer * pages_.stride(1);
  if (in_int8())
    view.int8_pages = pages_.const_data<std::int8_t>() + first;
  else if (in_bfloat16())
    view.bfloat16_pages =
        reinterpret_cast<const kernels::Bfloat16*>(pages_.const_data<ops::BFloat16>()) + first;
  else
    view.pages = pages_.const_data<float>() + first;
  view.page_rows = kRows;
}

}  // namespace attend
