// Models in other forms: float32 directories, GGUF files, quantized matrices, merged adapters. All write
// completely or not at all, copy the tokenizer's and other auxiliary files, and throw Error if there is a
// model already.
#pragma once

#include <attend/export.h>
#include <attend/model_path.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attend {
inline namespace v1 {

struct ConvertOptions {
  // Another architecture of the family, such as "BertForSequenceClassification"; empty: the model's. Missing
  // tensors of its head are initialized from `seed`.
  std::string architecture;
  std::vector<std::string> labels;  // names of the classifier's labels; empty: the model's
  std::uint64_t seed = 1;
  std::string gguf_type = "f32";  // of the matrices in a GGUF file: f32, f16, q8_0, q4_0, q4_k_m
};

// Writes the model, with its adapters merged, as transformers would: one model.safetensors in float32. An
// output
// *.gguf becomes a GGUF file, which llama.cpp loads; for decoders such as Llama.
ATTEND_API void convert(const ModelPath& model, const std::filesystem::path& output,
                        const ConvertOptions& options = {});

// The change of a matrix's outputs by quantization: sqrt(sum of squared differences / sum of squares) over
// all tokens of some texts. Each matrix is measured alone: its inputs are those of the float32 model.
struct MatrixError {
  std::vector<std::string> names;  // of the checkpoint's matrices that are one matrix in memory
  double error = 0;
};

struct QuantizeOptions {
  WeightFormat format = WeightFormat::int8;  // or int4
  std::vector<std::string> keep;             // matrices that stay float32, by checkpoint name
  // Files with one text per line. `measure`: matrices whose error on them is above `keep_above` stay float32
  // too. `smooth`: channels after a norm that are much larger than others on these texts are divided by a
  // factor, and the following matrix multiplies by it (SmoothQuant, arXiv:2211.10438).
  std::filesystem::path measure, smooth;
  std::optional<double> keep_above;
};

struct Quantized {
  std::vector<MatrixError> errors;  // with `measure`: the worst matrix first
  std::vector<std::string> kept;    // matrices in float32
};

// Writes a model with quantized matrices, which loads faster and takes less space. Only Attend reads it. An
// empty output only measures.
ATTEND_API Quantized quantize(const ModelPath& model, const std::filesystem::path& output,
                              const QuantizeOptions& options = {});

// What rounding costs: the root mean squares of the change and of the error, over all numbers of the changed
// matrices.
struct RoundingCost {
  double change = 0, error = 0;
};

// Writes the model with its adapters (ModelPath::adapters) merged into the weights, W + scale B A instead of
// W, or with them taken out of weights that they were merged into. `type`: float32, float16 or bfloat16;
// empty: that of the model's file. Throws Error for adapters that cannot be merged, or whose merging lost
// what unmerging needs.
ATTEND_API RoundingCost merge_adapters(const ModelPath& model, const std::filesystem::path& output,
                                       const std::string& type = "");
ATTEND_API void unmerge_adapters(const ModelPath& model, const std::filesystem::path& output,
                                 const std::string& type = "");

}  // namespace v1
}  // namespace attend
