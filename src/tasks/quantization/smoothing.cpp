#include "tasks/quantization/smoothing.h"

#include "base/error.h"
#include "models/checkpoint/quantized.h"
#include "nn/layers/normed_inputs.h"
#include "tasks/quantization/watched_matrix.h"

namespace attend {
namespace {

// Records the largest absolute value of each channel of its input: [in].
class ChannelSizes : public WatchedMatrix {
 public:
  using WatchedMatrix::WatchedMatrix;
  const Tensor& inputs() const { return inputs_; }  // undefined: no input yet
  Tensor weights() const { return weight_.abs().amax(0); }

 private:
  void see_product(const Tensor& x, std::int64_t, std::int64_t) const override {
    const Tensor largest = x.abs().amax(0);
    inputs_ = inputs_.defined() ? ops::maximum(inputs_, largest) : largest;
  }

  mutable Tensor inputs_;
};

// 1 for channels that are all zero, and if a value is not a number.
Tensor factors_of(const Tensor& inputs, const Tensor& weights) {
  constexpr double kMax = 20;
  const Tensor power = ((inputs / weights).log2() / 2).round();
  return ops::exp2(ops::where(power.isfinite(), power, 0).clamp(-kMax, kMax));
}

}  // namespace

std::map<std::string, Tensor> smoothing_factors(const ModelDirectory& directory,
                                                const std::filesystem::path& file) {
  const std::string source = directory.path().string();
  if (!directory.adapters().empty())
    fail("{}: smoothing: expected a model without adapters; merge or remove them first", source);
  if (stored_format(directory.config()) != WeightFormat::float32)
    fail("{}: smoothing: expected the original float weights, found quantized ones", source);
  const Unrecorded inference;
  const PretrainedModel model = PretrainedModel::load(directory, {.packs = false});
  Transformer network = model.network();
  const std::vector<NormedInput> inputs = normed_inputs(network->spec());
  if (inputs.empty())
    fail("{}: {} has no norm that matrices alone read, so nothing can be smoothed for free", source,
         model.architecture());
  const auto parameters = network->named_parameters();
  std::map<std::string, std::shared_ptr<const ChannelSizes>> watched;
  for (const NormedInput& input : inputs)
    for (const std::string& matrix : input.matrices) {
      const std::string name = matrix + ".weight";
      watched[matrix] = std::make_shared<const ChannelSizes>(parameters[name].detach().contiguous());
      network->pack(name, watched[matrix]);
    }
  read_texts_through(model, directory, file);

  std::map<std::string, Tensor> factors;
  for (const auto& [norm, matrices] : inputs) {
    const Tensor& seen = watched[matrices.front()]->inputs();
    if (!seen.defined()) continue;
    Tensor largest = watched[matrices.front()]->weights();
    for (const std::string& matrix : matrices) largest = ops::maximum(largest, watched[matrix]->weights());
    const Tensor factor = factors_of(seen, largest);
    for (const char* own : {".weight", ".bias"})
      if (parameters.contains(norm + own)) factors[norm + own] = 1 / factor;
    for (const std::string& matrix : matrices) factors[matrix + ".weight"] = factor;  // one factor per column
  }
  return factors;
}

}  // namespace attend
