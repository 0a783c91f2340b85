// Observes the inputs of a float32 model's matrices while the model reads the user's texts.
#pragma once

#include "models/checkpoint/pretrained_model.h"
#include "nn/linear/packed_matrix.h"

#include <filesystem>

namespace attend {

// Replaces a matrix: computes the product in float32 and reports its inputs.
class WatchedMatrix : public PackedMatrix {
 public:
  explicit WatchedMatrix(Tensor weight)
      : PackedMatrix(weight.size(0), weight.size(1)), weight_(std::move(weight)) {}

  Tensor multiply(const Tensor& x, const Tensor& bias, Activation activation,
                  const Tensor& residual) const override;
  Tensor part(const Tensor& x, std::int64_t first, std::int64_t count) const override;
  Tensor rows(const Tensor& ids) const override;
  std::int64_t bytes() const override { return weight_.numel() * 4; }
  WeightFormat format() const override { return WeightFormat::float32; }
  std::map<std::string, Tensor> stored() const override { return {{"", weight_}}; }

 protected:
  // A product of x [T, in] with outputs `first` to first + count - 1; these rows are observed.
  virtual void see_product(const Tensor& x, std::int64_t first, std::int64_t count) const = 0;
  virtual void see_rows(const Tensor& /*ids*/) const {}

  Tensor weight_;  // [out, in]
};

// The model reads the lines of `file` as texts, each up to the model's max length, and 16384 tokens in total.
// Throws Error for a model that does not read text, and for an empty file.
void read_texts_through(const PretrainedModel& model, const ModelDirectory& directory,
                        const std::filesystem::path& file);

}  // namespace attend
