#include "nn/cache_pages.h"

#include "nn/parallel.h"

#include <algorithm>

namespace attend {

std::int64_t CacheShape::page_bytes() const {
  return layers * 2 * CachePages::kRows * width() * static_cast<std::int64_t>(options.dtype().itemsize());
}

CachePages::CachePages(const CacheShape& shape) : shape_(shape) {
  for (std::int64_t i = 0; i < shape.layers; ++i)
    layers_.push_back(at::empty({0, 2, kRows, shape.width()}, shape.options));
}

void CachePages::grow(std::int64_t count) {
  const std::int64_t have = this->count();
  for (Tensor& layer : layers_) {
    std::vector<std::int64_t> sizes = layer.sizes().vec();
    sizes[0] = count;
    const Tensor larger = at::empty(sizes, layer.options());
    if (have > 0) larger.narrow(0, 0, have).copy_(layer);
    layer = larger;
  }
}

void CachePages::copy(std::int64_t from, std::int64_t to, std::int64_t rows) {
  const std::int64_t width = shape_.width(), half = kRows * width;
  for (const Tensor& layer : layers_) {
    if (!on_kernels(layer)) {
      layer[to].copy_(layer[from]);
      continue;
    }
    float* pages = layer.data_ptr<float>();
    for (const std::int64_t part : {std::int64_t{0}, half}) {
      const float* source = pages + from * 2 * half + part;
      std::copy(source, source + rows * width, pages + to * 2 * half + part);
    }
  }
}

void CachePages::write(std::int64_t layer, std::int64_t page, std::int64_t slot, const Tensor& key_value,
                       std::int64_t row) {
  const Tensor& pages = layers_[layer];
  const std::int64_t width = shape_.width();
  if (!on_kernels(pages)) {
    pages[page].select(1, slot).copy_(key_value[row].view({2, width}));
    return;
  }
  const float* from = key_value.const_data_ptr<float>() + row * key_value.stride(0);
  float* to = pages.data_ptr<float>() + (page * 2 * kRows + slot) * width;
  std::copy(from, from + width, to);
  std::copy(from + width, from + 2 * width, to + kRows * width);
}

std::pair<Tensor, Tensor> CachePages::gather(std::int64_t layer, const std::vector<std::int32_t>& pages,
                                             std::int64_t length) const {
  const Tensor index =
      torch::tensor(std::vector<std::int64_t>(pages.begin(), pages.end())).to(layers_[layer].device());
  const Tensor rows = layers_[layer].index_select(0, index).transpose(0, 1).reshape({2, -1, shape_.width()});
  return {rows[0].narrow(0, 0, length), rows[1].narrow(0, 0, length)};
}

void CachePages::describe(std::int64_t layer, kernels::KeyValueView& view) const {
  view.pages = layers_[layer].const_data_ptr<float>();
  view.page_rows = kRows;
  view.width = shape_.width();
}

}  // namespace attend
