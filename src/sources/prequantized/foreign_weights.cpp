#include "sources/prequantized/foreign_weights.h"

#include "base/error.h"
#include "base/parallel.h"
#include "sources/gguf/gguf_blocks.h"
#include "sources/prequantized/foreign_matrix.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/ranges.h>

namespace attend {
namespace {

using Reader = std::vector<ForeignMatrix> (*)(const WeightFiles&, const Fields&);
constexpr std::pair<std::string_view, Reader> readers[] = {{"bitsandbytes", read_bitsandbytes},
                                                           {"gptq", read_gptq},
                                                           {"awq", read_awq},
                                                           {"compressed-tensors", read_compressed_tensors},
                                                           {"mxfp4", read_mxfp4}};

Reader reader_of(const Fields& config) {
  const auto found = config.json().find("quantization_config");
  if (found == config.json().end() || !found->is_object()) return nullptr;
  const auto method = found->find("quant_method");
  if (method == found->end() || !method->is_string()) return nullptr;
  for (const auto& [name, reader] : readers)
    if (method->get_ref<const std::string&>() == name) return reader;
  return nullptr;
}

// Whether the checkpoints of this family hold matrices as [in, out], as those of GPT and GPT-2 do (Conv1D).
bool holds_inputs_first(const Fields& config) {
  const std::string type = config.text({"model_type"}, "");
  return type == "gpt2" || type == "openai-gpt" || type == "attend-gpt3";
}

}  // namespace

bool is_foreign(const Fields& config) {
  return reader_of(config) != nullptr;
}

WeightFiles decode_foreign(WeightFiles checkpoint, const Fields& config) {
  const Reader reader = reader_of(config);
  if (reader == nullptr) return checkpoint;
  const Fields quantization(config.json().at("quantization_config"),
                            config.source() + ": quantization_config");
  for (ForeignMatrix& matrix : reader(checkpoint, quantization)) {
    // A head is a Linear in every family.
    const bool inputs_first = holds_inputs_first(config) && matrix.name.find("lm_head") == matrix.name.npos;
    TensorView view = {DType::f32, {matrix.rows, matrix.columns}, matrix.data};
    view.transposed = inputs_first != matrix.inputs_first;
    if (view.transposed) std::swap(view.shape[0], view.shape[1]);
    if (!matrix.shape.empty()) view.shape = std::move(matrix.shape);
    view.code =
        std::make_shared<const TensorCode>(TensorCode{std::move(matrix.kind), std::move(matrix.decode)});
    checkpoint.replace(matrix.parts, matrix.name, view);
  }
  return checkpoint;
}

namespace foreign {
namespace {

bool fits(const std::vector<std::int64_t>& shape, std::initializer_list<std::int64_t> expected) {
  return shape.size() == expected.size() &&
         std::equal(shape.begin(), shape.end(), expected.begin(),
                    [](std::int64_t found, std::int64_t wanted) { return wanted < 0 || found == wanted; });
}

std::string shape_text(std::initializer_list<std::int64_t> shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(size < 0 ? "any" : std::to_string(size));
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

const TensorView& find(const WeightFiles& checkpoint, const std::string& name) {
  const TensorView* const view = checkpoint.find(name);
  if (view == nullptr)
    fail("{}: the tensor {} is missing", checkpoint.files().front().path().string(), shown(Json(name)));
  return *view;
}

void check_shape(const WeightFiles& checkpoint, const std::string& name, const TensorView& view,
                 std::initializer_list<std::int64_t> shape) {
  if (!fits(view.shape, shape))
    fail("{}: {}: expected the shape {}, found [{}]", checkpoint.file_of(name).string(), shown(Json(name)),
         shape_text(shape), fmt::join(view.shape, ", "));
}

template <class Bits>
Bits bits_at(const TensorView& view, std::size_t i) {
  Bits bits;
  std::memcpy(&bits, view.data.data() + i * sizeof bits, sizeof bits);
  return bits;
}

}  // namespace

const TensorView& part(const WeightFiles& checkpoint, const std::string& name, DType type,
                       std::initializer_list<std::int64_t> shape) {
  const TensorView& view = find(checkpoint, name);
  if (view.type != type || view.code)
    fail("{}: {}: expected {}, found {}", checkpoint.file_of(name).string(), shown(Json(name)),
         attend::name(type), view.stored_as());
  check_shape(checkpoint, name, view, shape);
  return view;
}

std::vector<float> numbers(const WeightFiles& checkpoint, const std::string& name,
                           std::initializer_list<std::int64_t> shape) {
  const TensorView& view = find(checkpoint, name);
  check_shape(checkpoint, name, view, shape);
  std::vector<float> numbers(view.count());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    switch (view.type) {
      case DType::f32:
        numbers[i] = bits_at<float>(view, i);
        break;
      case DType::f16:
        numbers[i] = from_float16(bits_at<std::uint16_t>(view, i));
        break;
      case DType::bf16:
        numbers[i] = std::bit_cast<float>(std::uint32_t{bits_at<std::uint16_t>(view, i)} << 16);
        break;
      default:
        fail("{}: {}: expected floating-point numbers, found {}", checkpoint.file_of(name).string(),
             shown(Json(name)), view.stored_as());
    }
  }
  return numbers;
}

std::vector<std::uint32_t> words(const TensorView& tensor) {
  std::vector<std::uint32_t> words(tensor.data.size() / sizeof(std::uint32_t));
  if (!words.empty()) std::memcpy(words.data(), tensor.data.data(), tensor.data.size());
  return words;
}

std::vector<std::string> modules(const WeightFiles& checkpoint, std::string_view ending) {
  std::vector<std::string> modules;
  for (const auto& [name, view] : checkpoint.tensors())
    if (name.ends_with(ending)) modules.push_back(name.substr(0, name.size() - ending.size()));
  return modules;
}

void for_each_row(std::int64_t rows, std::int64_t columns, const std::function<void(std::size_t)>& body) {
  const auto grain =
      static_cast<std::size_t>(std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(columns, 1)));
  parallel_for(static_cast<std::size_t>(rows), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) body(row);
  });
}

}  // namespace foreign
}  // namespace attend
