// Quantized models (attend/convert.h).
#include "base/directory.h"
#include "base/error.h"
#include "models/checkpoint/quantized.h"
#include "models/derived/companions.h"
#include "tasks/quantization/quantization_error.h"
#include "tasks/quantization/smoothing.h"

#include <algorithm>

namespace attend {
namespace {

// Checks that each of `names` is a matrix of the model, in one of its checkpoints' spellings.
void check_names(const ModelDirectory& directory, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const WeightFiles checkpoint = directory.weight_files();
  const auto is_matrix = [&](const std::string& name) {
    return std::ranges::any_of(checkpoint.tensors(), [&](const auto& tensor) {
      const std::string& own = tensor.first;
      return tensor.second.shape.size() == 2 &&
             (own == name || own.ends_with("." + name) || name.ends_with("." + own));
    });
  };
  for (const std::string& name : names)
    if (!is_matrix(name))
      fail("`keep` {}: the model has no matrix of this name; attend inspect --tensors lists them", name);
}

}  // namespace

Quantized v1::quantize(const ModelPath& model, const std::filesystem::path& output,
                       const QuantizeOptions& options) {
  if (options.format != WeightFormat::int8 && options.format != WeightFormat::int4)
    fail("`weights` {}: expected int8 or int4; convert writes float32", name(options.format));
  if (options.keep_above && options.measure.empty())
    fail("`keep_above`: it needs `measure`, a file of texts");
  if (!output.empty()) expect_no_model(output);
  ModelPath plain = model, quantized = model;
  plain.weights = WeightFormat::float32;
  quantized.weights = options.format;
  const ModelDirectory directory(quantized);
  check_names(directory, options.keep);
  Quantized result{.errors = {}, .kept = options.keep};
  std::map<std::string, Tensor> factors;
  if (!options.smooth.empty()) factors = smoothing_factors(ModelDirectory(plain), options.smooth);
  if (!options.measure.empty()) {
    result.errors = measure_quantization(ModelDirectory(plain), options.format, options.measure, factors);
    for (const MatrixError& each : result.errors)
      if (options.keep_above && each.error > *options.keep_above)
        result.kept.insert(result.kept.end(), each.names.begin(), each.names.end());
  }
  if (output.empty()) return result;
  save_quantized(
      PretrainedModel::load(directory, {.weights = options.format, .keep = result.kept, .factors = factors}),
      output);
  copy_companions(directory.path(), output);
  return result;
}

}  // namespace attend
