#include "kernels/half.h"
#include "nn/linear/packed_parts.h"

namespace attend {
namespace {

// Weights are widened to float32 in the product; x is not rounded.
class Float16Weights : public PanelMatrix {
 public:
  Float16Weights(const Tensor& weight, const AfterSome& after_some)
      : PanelMatrix(weight.size(0), weight.size(1)) {
    const kernels::Kernels& k = kernels::kernels();
    packed_ = ops::empty({k.packed_size(in_, out_)}, kShort);
    auto* const to = reinterpret_cast<std::uint16_t*>(packed_.data<std::int16_t>());
    pack_in_parts(weight, panel(), 128 * in_, after_some,
                  [&](const WeightNumbers& from, std::int64_t begin, std::int64_t end) {
                    kernels::half_kernels().pack(to, from.first, from.column, from.row, in_, out_, begin,
                                                 end);
                  });
  }

  Tensor rows(const Tensor& ids) const override {
    return rows_by(ids, in_,
                   [&](std::int64_t n, float* to) { kernels::half_kernels().column(to, halves(), in_, n); });
  }

  std::int64_t bytes() const override { return static_cast<std::int64_t>(packed_.bytes()); }
  WeightFormat format() const override { return WeightFormat::float16; }
  std::map<std::string, Tensor> stored() const override { return {{"", dequantized().to(kHalf)}}; }

 private:
  const std::uint16_t* halves() const {
    return reinterpret_cast<const std::uint16_t*>(packed_.const_data<std::int16_t>());
  }
  void multiply_panels(kernels::MatrixProduct& m, std::int64_t first) const override {
    const std::uint16_t* const packed = halves() + first * in_;
    run_in_pieces(m.rows, in_, m.columns, kernels::kernels().panel_count(m.columns), 0,
                  [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
                      std::int64_t panel_end, std::uint8_t*) {
                    kernels::half_kernels().multiply(m, packed, row_begin, row_end, panel_begin, panel_end);
                  });
  }

  Tensor packed_;
};

}  // namespace

std::shared_ptr<const PackedMatrix> make_float16(const Tensor& weight, const AfterSome& after_some) {
  return std::make_shared<Float16Weights>(weight, after_some);
}

}  // namespace attend
