#include "kernels/half.h"
#include "nn/linear/packed_parts.h"

namespace attend {
namespace {

using kernels::HalfFormat;

// Weights are widened to float32 in the product; x is not rounded.
class HalfWeights : public PanelMatrix {
 public:
  HalfWeights(const Tensor& weight, WeightFormat format, const AfterSome& after_some)
      : PanelMatrix(weight.size(0), weight.size(1)),
        format_(format == WeightFormat::float16 ? HalfFormat::float16 : HalfFormat::bfloat16) {
    const kernels::Kernels& k = kernels::kernels();
    packed_ = ops::empty({k.packed_size(in_, out_)}, kShort);
    auto* const to = reinterpret_cast<std::uint16_t*>(packed_.data<std::int16_t>());
    pack_in_parts(weight, panel(), 128 * in_, after_some,
                  [&](const WeightNumbers& from, std::int64_t begin, std::int64_t end) {
                    kernels::half_kernels().pack(format_, to, from.first, from.column, from.row, in_, out_,
                                                 begin, end);
                  });
  }

  Tensor rows(const Tensor& ids) const override {
    return rows_by(ids, in_, [&](std::int64_t n, float* to) {
      kernels::half_kernels().column(format_, to, halves(), in_, n);
    });
  }

  std::int64_t bytes() const override { return static_cast<std::int64_t>(packed_.bytes()); }
  WeightFormat format() const override {
    return format_ == HalfFormat::float16 ? WeightFormat::float16 : WeightFormat::bfloat16;
  }
  std::map<std::string, Tensor> stored() const override {
    return {{"", dequantized().to(format_ == HalfFormat::float16 ? kHalf : kBFloat16)}};
  }

 private:
  const std::uint16_t* halves() const {
    return reinterpret_cast<const std::uint16_t*>(packed_.const_data<std::int16_t>());
  }
  void multiply_panels(kernels::MatrixProduct& m, std::int64_t first) const override {
    const std::uint16_t* const packed = halves() + first * in_;
    run_in_pieces(m.rows, in_, m.columns, kernels::kernels().panel_count(m.columns), 0,
                  [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
                      std::int64_t panel_end, std::uint8_t*) {
                    kernels::half_kernels().multiply(format_, m, packed, row_begin, row_end, panel_begin,
                                                     panel_end);
                  });
  }

  HalfFormat format_;
  Tensor packed_;
};

}  // namespace

std::shared_ptr<const PackedMatrix> make_half(const Tensor& weight, WeightFormat format,
                                              const AfterSome& after_some) {
  return std::make_shared<HalfWeights>(weight, format, after_some);
}

}  // namespace attend
