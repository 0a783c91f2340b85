#include "nn/linear/matrix_product.h"
#include "nn/linear/packed_parts.h"

namespace attend {
namespace {

// Float32 in the kernel's order, without loss.
class Float32Panels : public PanelMatrix {
 public:
  Float32Panels(const Tensor& weight, const AfterSome& after_some)
      : PanelMatrix(weight.size(0), weight.size(1)) {
    const kernels::Kernels& k = kernels::kernels();
    packed_ = ops::empty({k.packed_size(in_, out_)}, kFloat);
    float* const to = packed_.data<float>();
    pack_in_parts(weight, panel(), 48 * in_, after_some,
                  [&](const WeightNumbers& from, std::int64_t begin, std::int64_t end) {
                    k.pack_panels(to, from.first, from.column, from.row, in_, out_, begin, end);
                  });
  }

  Tensor rows(const Tensor& ids) const override {
    return rows_by(ids, in_, [&](std::int64_t n, float* to) {
      const std::int64_t width = panel();
      const float* const from = packed_.const_data<float>() + n / width * width * in_ + n % width;
      for (std::int64_t k = 0; k < in_; ++k) to[k] = from[k * width];
    });
  }

  std::int64_t bytes() const override { return static_cast<std::int64_t>(packed_.bytes()); }
  WeightFormat format() const override { return WeightFormat::float32; }
  std::map<std::string, Tensor> stored() const override { return {{"", dequantized()}}; }

 private:
  void multiply_panels(kernels::MatrixProduct& m, std::int64_t first) const override {
    m.b = packed_.const_data<float>() + first * in_;
    // Rounded pairs are made for each call: a model that often computes in bfloat16 keeps its weights
    // unpacked.
    Tensor pairs;
    if (Bfloat16Products::on()) {
      pairs = pairs_of_panels(m.b, in_, m.columns);
      point_at_pairs(m, pairs);
    }
    run(m);
  }

  Tensor packed_;
};

}  // namespace

std::shared_ptr<const PackedMatrix> make_float32(const Tensor& weight, const AfterSome& after_some) {
  return std::make_shared<Float32Panels>(weight, after_some);
}

}  // namespace attend
