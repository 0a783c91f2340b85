#include "tasks/quantization/quantization_error.h"

#include "nn/linear/linear.h"
#include "tasks/quantization/watched_matrix.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

struct Sums {
  double difference = 0, whole = 0;  // sums of squares

  void add(const Tensor& rounded, const Tensor& exact) {
    difference += (rounded - exact).square().sum(kDouble).item<double>();
    whole += exact.square().sum(kDouble).item<double>();
  }
  double relative() const { return whole > 0 ? std::sqrt(difference / whole) : 0; }
};

// Computes the result of the quantized matrix.
class MeasuredMatrix : public WatchedMatrix {
 public:
  MeasuredMatrix(const Tensor& weight, WeightFormat format)
      : WatchedMatrix(weight), rounded_(make(weight, format)) {}

  bool was_reached() const { return products_.whole > 0 || lookups_.whole > 0; }
  // A table that is also a head is measured as a head.
  double error() const { return products_.whole > 0 ? products_.relative() : lookups_.relative(); }

 private:
  void see_product(const Tensor& x, std::int64_t first, std::int64_t count) const override {
    const Tensor rounded =
        count == out_ ? rounded_->multiply(x, {}, Activation::none, {}) : rounded_->part(x, first, count);
    products_.add(rounded, linear(x, weight_.narrow(0, first, count), {}, nullptr));
  }
  void see_rows(const Tensor& ids) const override {
    lookups_.add(rounded_->rows(ids), weight_.index_select(0, ids));
  }

  std::shared_ptr<const PackedMatrix> rounded_;
  mutable Sums products_, lookups_;
};

}  // namespace

std::vector<MatrixError> measure_quantization(const ModelDirectory& directory, WeightFormat format,
                                              const std::filesystem::path& file,
                                              const std::map<std::string, Tensor>& factors) {
  Unrecorded inference;
  const PretrainedModel model = PretrainedModel::load(directory, {.packs = false, .factors = factors});
  Transformer network = model.network();
  std::vector<std::pair<std::string, std::shared_ptr<const MeasuredMatrix>>> matrices;
  for (const auto& item : network->named_parameters()) {
    if (!network->is_packable(item.key(), format)) continue;
    matrices.emplace_back(item.key(),
                          std::make_shared<const MeasuredMatrix>(item.value().detach().contiguous(), format));
    network->pack(item.key(), matrices.back().second);
  }
  read_texts_through(model, directory, file);
  std::vector<MatrixError> errors;
  for (const auto& [parameter, matrix] : matrices) {
    if (!matrix->was_reached()) continue;
    MatrixError error = {{}, matrix->error()};
    for (const std::string& name : model.source_of(parameter).names)
      error.names.push_back(model.saved_name(name));
    errors.push_back(std::move(error));
  }
  std::ranges::stable_sort(errors, std::greater<>(), &MatrixError::error);
  return errors;
}

}  // namespace attend
