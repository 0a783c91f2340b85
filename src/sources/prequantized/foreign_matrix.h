// Shared code of the readers of other programs' quantized matrices, one file per program: bitsandbytes, gptq,
// awq, compressed_tensors, mxfp4.
#pragma once

#include "formats/json/json.h"
#include "sources/model_directory.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace attend {

// A matrix that is stored in several tensors of a checkpoint.
struct ForeignMatrix {
  std::string name;  // the name in the plain model's checkpoint: "....weight"
  std::string kind;  // "GPTQ 4"
  std::int64_t rows = 0, columns = 0;
  bool inputs_first = false;             // rows are inputs, columns outputs: transposed relative to Linear
  std::span<const std::byte> data = {};  // the integers
  std::function<void(std::span<float>)> decode = {};  // writes row after row
  std::vector<std::string> parts = {};                // the names of the tensors that are only parts of this
                                                      // matrix
  std::vector<std::int64_t> shape = {};               // if it is not [rows, columns]: of several matrices
};

// `quantization` is config.json's quantization_config. Everything that a decode() relies on has been checked.
std::vector<ForeignMatrix> read_bitsandbytes(const WeightFiles& checkpoint, const Fields& quantization);
std::vector<ForeignMatrix> read_gptq(const WeightFiles& checkpoint, const Fields& quantization);
std::vector<ForeignMatrix> read_awq(const WeightFiles& checkpoint, const Fields& quantization);
std::vector<ForeignMatrix> read_compressed_tensors(const WeightFiles& checkpoint, const Fields& quantization);
std::vector<ForeignMatrix> read_mxfp4(const WeightFiles& checkpoint, const Fields& quantization);

namespace foreign {

// The tensor of this name. An Error if it is missing or has another type or shape; -1 is any size.
const TensorView& part(const WeightFiles& checkpoint, const std::string& name, DType type,
                       std::initializer_list<std::int64_t> shape);
// A tensor of any floating-point type, as float32.
std::vector<float> numbers(const WeightFiles& checkpoint, const std::string& name,
                           std::initializer_list<std::int64_t> shape);
// The bits of an int32 tensor.
std::vector<std::uint32_t> words(const TensorView& tensor);
// The names with this ending, without the ending.
std::vector<std::string> modules(const WeightFiles& checkpoint, std::string_view ending);
// An integer of `bits` bits from packed words; the first is in the lowest bits.
inline std::uint32_t packed(std::span<const std::uint32_t> words, std::size_t index, unsigned bits) {
  const std::size_t per_word = 32 / bits;
  return words[index / per_word] >> (index % per_word * bits) & ((1U << bits) - 1);
}
// Calls body(row) for every row, on all cores.
void for_each_row(std::int64_t rows, std::int64_t columns, const std::function<void(std::size_t)>& body);

}  // namespace foreign
}  // namespace attend
