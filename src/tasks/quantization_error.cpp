#include "tasks/quantization_error.h"

#include <attend/tokenizer.h>

#include "base/error.h"
#include "base/file.h"
#include "models/forward.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

constexpr std::size_t most_tokens = 16384;

struct Sums {
  double difference = 0, whole = 0;  // of squares

  void add(const Tensor& rounded, const Tensor& exact) {
    difference += (rounded - exact).square().sum(at::kDouble).item<double>();
    whole += exact.square().sum(at::kDouble).item<double>();
  }
  double relative() const { return whole > 0 ? std::sqrt(difference / whole) : 0; }
};

// Computes with the float32 matrix, and on the side what the quantized one would have given.
class MeasuredMatrix : public LowPrecisionMatrix {
 public:
  MeasuredMatrix(Tensor weight, WeightFormat format)
      : LowPrecisionMatrix(weight.size(0), weight.size(1)),
        weight_(std::move(weight)),
        rounded_(make(weight_, format)) {}

  Tensor multiply(const Tensor& x, const Tensor& bias, Activation activation,
                  const Tensor& residual) const override {
    products_.add(rounded_->multiply(x, {}, Activation::none, {}), linear(x, weight_, {}, nullptr));
    return linear(x, weight_, bias, nullptr, activation, residual);
  }
  Tensor part(const Tensor& x, std::int64_t first, std::int64_t count) const override {
    const Tensor exact = linear(x, weight_.narrow(0, first, count), {}, nullptr);
    products_.add(rounded_->part(x, first, count), exact);
    return exact;
  }
  Tensor rows(const Tensor& ids) const override {
    const Tensor exact = weight_.index_select(0, ids);
    lookups_.add(rounded_->rows(ids), exact);
    return exact;
  }
  std::int64_t bytes() const override { return rounded_->bytes() + weight_.numel() * 4; }
  WeightFormat format() const override { return rounded_->format(); }
  std::map<std::string, Tensor> stored() const override { return rounded_->stored(); }

  bool was_reached() const { return products_.whole > 0 || lookups_.whole > 0; }
  // A table that is a head as well is judged as one.
  double error() const { return products_.whole > 0 ? products_.relative() : lookups_.relative(); }

 private:
  Tensor weight_;
  std::shared_ptr<const LowPrecisionMatrix> rounded_;
  mutable Sums products_, lookups_;
};

// The texts' tokens, one text each.
std::vector<Tensor> read_ids(const ModelDirectory& directory, const Model& model,
                             const std::filesystem::path& file) {
  Tokenizer tokenizer = Tokenizer::from_file(directory.path());
  Transformer network = model.network();
  const Stack stack = network->encoder ? network->encoder : network->decoder;
  tokenizer.truncation() =
      Truncation{.max_length = static_cast<std::size_t>(std::min<std::int64_t>(
                     stack->embeddings->max_positions(), static_cast<std::int64_t>(most_tokens)))};
  tokenizer.padding().reset();
  std::vector<Tensor> texts;
  std::size_t tokens = 0;
  for (const std::string& line : read_lines(file)) {
    const Encoding encoding = tokenizer.encode(line, {.with_details = false});
    if (encoding.ids.empty()) continue;
    if ((tokens += encoding.ids.size()) > most_tokens && !texts.empty()) break;
    texts.push_back(
        at::tensor(std::vector<std::int64_t>(encoding.ids.begin(), encoding.ids.end())).unsqueeze(0));
  }
  if (texts.empty()) fail("{}: there is no text in it", file.string());
  return texts;
}

}  // namespace

std::vector<MatrixError> measure_quantization(const ModelDirectory& directory, WeightFormat format,
                                              const std::filesystem::path& file) {
  c10::InferenceMode inference;
  const Model model = Model::load(directory, Purpose::inference);
  Transformer network = model.network();
  if (network->reads_images())
    fail("{}: expected a model that reads text, found {}", directory.path().string(), model.architecture());
  const std::vector<Tensor> texts = read_ids(directory, model, file);
  std::vector<std::pair<std::string, std::shared_ptr<const MeasuredMatrix>>> matrices;
  for (const auto& item : network->named_parameters()) {
    if (!network->is_reducible(item.key())) continue;
    matrices.emplace_back(item.key(),
                          std::make_shared<const MeasuredMatrix>(item.value().detach().contiguous(), format));
    network->reduce(item.key(), matrices.back().second);
  }
  for (const Tensor& ids : texts) {
    std::map<std::string, Tensor> inputs = {{"input_ids", ids}};
    if (network->is_encoder_decoder()) inputs["decoder_input_ids"] = ids;
    run_forward(model, inputs, {});
  }
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
