#include "nn/linear/packed_parts.h"

#include <bit>

namespace attend {
namespace {

// Weights and x are rounded to bfloat16; sums are float32 (Kernels::multiply_bfloat16).
class Bfloat16Weights : public PanelMatrix {
 public:
  Bfloat16Weights(const Tensor& weight, const AfterSome& after_some)
      : PanelMatrix(weight.size(0), weight.size(1)), pairs_((in_ + 1) / 2) {
    const kernels::Kernels& k = kernels::kernels();
    packed_ = ops::empty({k.packed_size(pairs_, out_)}, kInt);
    auto* const to = reinterpret_cast<std::uint32_t*>(packed_.data<std::int32_t>());
    pack_in_parts(weight, panel(), 128 * in_, after_some,
                  [&](const WeightNumbers& from, std::int64_t begin, std::int64_t end) {
                    k.pack_pairs(to, from.first, from.column, from.row, in_, out_, begin, end);
                  });
  }

  Tensor rows(const Tensor& ids) const override {
    return rows_by(ids, in_, [&](std::int64_t n, float* to) {
      const std::uint32_t* const column = words() + n / panel() * pairs_ * panel() + n % panel();
      for (std::int64_t k = 0; k < in_; ++k) {
        const std::uint32_t pair = column[k / 2 * panel()];  // the lower half is the even number
        to[k] = std::bit_cast<float>(k % 2 == 0 ? pair << 16 : pair & 0xffff0000u);
      }
    });
  }

  std::int64_t bytes() const override { return static_cast<std::int64_t>(packed_.bytes()); }
  WeightFormat format() const override { return WeightFormat::bfloat16; }
  std::map<std::string, Tensor> stored() const override { return {{"", dequantized().to(kBFloat16)}}; }

 private:
  const std::uint32_t* words() const {
    return reinterpret_cast<const std::uint32_t*>(packed_.const_data<std::int32_t>());
  }
  void multiply_panels(kernels::MatrixProduct& m, std::int64_t first) const override {
    m.pairs = words() + first * pairs_;
    run_in_pieces(m.rows, in_, m.columns, kernels::kernels().panel_count(m.columns), 0,
                  [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
                      std::int64_t panel_end, std::uint8_t*) {
                    kernels::kernels().multiply_bfloat16(m, row_begin, row_end, panel_begin, panel_end);
                  });
  }

  std::int64_t pairs_;  // of neighbours along the depth
  Tensor packed_;
};

}  // namespace

std::shared_ptr<const PackedMatrix> make_bfloat16(const Tensor& weight, const AfterSome& after_some) {
  return std::make_shared<Bfloat16Weights>(weight, after_some);
}

}  // namespace attend
