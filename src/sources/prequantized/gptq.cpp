// GPTQ (Frantar et al. 2022, arXiv:2210.17323) in the layout of AutoGPTQ and GPTQModel,
// https://github.com/ModelCloud/GPTQModel, nn_modules/qlinear. A matrix NAME with `in` inputs and `out`
// outputs is stored as
//   NAME.qweight int32 [in / n, out]      n integers of 4 or 8 bits in a word, of consecutive inputs
//   NAME.qzeros  int32 [groups, out / n]  n integers in a word, of outputs
//   NAME.scales  [groups, out]
//   NAME.g_idx   int32 [in]               the group of each input; without it, groups of group_size inputs
// and a weight is scale * (integer - zero).
#include "base/error.h"
#include "sources/prequantized/foreign_matrix.h"

#include <algorithm>

#include <fmt/format.h>

namespace attend {
namespace {

struct GptqSettings {
  unsigned bits = 4;
  std::int64_t group_size = -1;  // -1: all inputs
  bool symmetric = true;
  bool zeros_less_one = true;  // version 1 stores zero - 1
};

GptqSettings read_gptq_settings(const Fields& config) {
  GptqSettings settings;
  settings.bits = static_cast<unsigned>(config.integer({"bits"}));
  if (settings.bits != 4 && settings.bits != 8)
    fail("{}: bits: expected 4 or 8, found {}", config.source(), settings.bits);
  settings.group_size = config.integer({"group_size"}, -1, -1, 1 << 20);
  if (settings.group_size == 0)
    fail("{}: group_size: expected -1 or a positive number, found 0", config.source());
  settings.symmetric = config.flag({"sym"}, true);
  const std::string format = config.text({"checkpoint_format"}, "gptq");
  if (format != "gptq" && format != "gptq_v2")
    fail("{}: checkpoint_format: expected gptq or gptq_v2, found {}", config.source(), shown(Json(format)));
  settings.zeros_less_one = format == "gptq";
  return settings;
}

// Some versions of GPTQModel write version 2 and call it version 1. A symmetric zero is half the range, which
// shows the actual version.
bool are_less_one(std::span<const std::uint32_t> zeros, const GptqSettings& settings) {
  const std::uint32_t ones = settings.bits == 4 ? 0x11111111U : 0x01010101U,
                      half = ones << (settings.bits - 1);
  const auto all = [&](std::uint32_t word) {
    return !zeros.empty() && std::ranges::all_of(zeros, [&](std::uint32_t each) { return each == word; });
  };
  if (settings.symmetric && all(half)) return false;
  if (settings.symmetric && all(half - ones)) return true;
  return settings.zeros_less_one;
}

ForeignMatrix read_matrix(const WeightFiles& checkpoint, const std::string& module,
                          const GptqSettings& settings) {
  const std::int64_t per_word = 32 / settings.bits;
  const std::string integers_name = module + ".qweight", zeros_name = module + ".qzeros",
                    scales_name = module + ".scales", groups_name = module + ".g_idx";
  const TensorView& integers = foreign::part(checkpoint, integers_name, DType::i32, {-1, -1});
  const std::int64_t in = integers.shape[0] * per_word, out = integers.shape[1];
  const std::string source = checkpoint.file_of(integers_name).string();
  if (out % per_word != 0 || in == 0)
    fail("{}: {}: expected outputs in multiples of {}, found {}", source, shown(Json(integers_name)),
         per_word, out);
  const std::int64_t size = settings.group_size < 0 ? in : settings.group_size;
  const std::int64_t group_count = (in + size - 1) / size;

  std::vector<std::uint32_t> groups;
  ForeignMatrix matrix = {module + ".weight", fmt::format("GPTQ {}", settings.bits), in, out, true};
  matrix.data = integers.data;
  matrix.parts = {integers_name, zeros_name, scales_name};
  if (checkpoint.find(groups_name) != nullptr) {
    matrix.parts.push_back(groups_name);
    groups = foreign::words(foreign::part(checkpoint, groups_name, DType::i32, {in}));
    for (const std::uint32_t group : groups)
      if (group >= static_cast<std::uint64_t>(group_count))
        fail("{}: {}: expected groups 0 to {}, found {}", source, shown(Json(groups_name)), group_count - 1,
             static_cast<std::int32_t>(group));
  } else {
    for (std::int64_t i = 0; i < in; ++i) groups.push_back(static_cast<std::uint32_t>(i / size));
  }
  std::vector<std::uint32_t> zeros =
      foreign::words(foreign::part(checkpoint, zeros_name, DType::i32, {group_count, out / per_word}));
  if (are_less_one(zeros, settings))
    for (std::uint32_t& word : zeros) word += settings.bits == 4 ? 0x11111111U : 0x01010101U;

  matrix.decode = [words = foreign::words(integers), zeros = std::move(zeros), groups = std::move(groups),
                   scales = foreign::numbers(checkpoint, scales_name, {group_count, out}), in, out,
                   bits = settings.bits](std::span<float> to) {
    foreign::for_each_row(in, out, [&](std::size_t input) {
      const auto width = static_cast<std::size_t>(out);
      const std::size_t per_word = 32 / bits, group = groups[input];
      const std::span all_zeros(zeros);
      for (std::size_t o = 0; o < width; ++o) {
        const std::uint32_t word = words[input / per_word * width + o];
        const std::uint32_t integer = word >> (input % per_word * bits) & ((1U << bits) - 1),
                            zero = foreign::packed(all_zeros, group * width + o, bits);
        to[input * width + o] = scales[group * width + o] *
                                static_cast<float>(static_cast<int>(integer) - static_cast<int>(zero));
      }
    });
  };
  return matrix;
}

}  // namespace

std::vector<ForeignMatrix> read_gptq(const WeightFiles& checkpoint, const Fields& quantization) {
  const GptqSettings settings = read_gptq_settings(quantization);
  std::vector<ForeignMatrix> matrices;
  for (const std::string& module : foreign::modules(checkpoint, ".qweight"))
    matrices.push_back(read_matrix(checkpoint, module, settings));
  return matrices;
}

}  // namespace attend
