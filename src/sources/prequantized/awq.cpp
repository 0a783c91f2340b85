// AWQ (Lin et al. 2023, arXiv:2306.00978) in the layout of AutoAWQ's GEMM,
// https://github.com/casper-hansen/AutoAWQ, modules/linear/gemm.py. A matrix NAME with `in` inputs and `out`
// outputs is stored as
//   NAME.qweight int32 [in, out / 8], NAME.qzeros int32 [groups, out / 8], NAME.scales [groups, out]
// with the eight outputs of a word in the order 0 2 4 6 1 3 5 7, from its lowest bits on; a weight is scale *
// (integer - zero).
#include "base/error.h"
#include "sources/prequantized/foreign_matrix.h"

#include <algorithm>
#include <cctype>

namespace attend {
namespace {

constexpr unsigned bits = 4, per_word = 8;
// The position of output i in a word.
constexpr unsigned place_in_word[per_word] = {0, 4, 1, 5, 2, 6, 3, 7};

int integer_at(std::span<const std::uint32_t> words, std::size_t index) {
  return static_cast<int>(words[index / per_word] >> (place_in_word[index % per_word] * bits) & 0xFU);
}

ForeignMatrix read_matrix(const WeightFiles& checkpoint, const std::string& module, std::int64_t group_size) {
  const std::string integers_name = module + ".qweight", zeros_name = module + ".qzeros",
                    scales_name = module + ".scales";
  const TensorView& integers = foreign::part(checkpoint, integers_name, DType::i32, {-1, -1});
  const std::int64_t in = integers.shape[0], out = integers.shape[1] * per_word;
  const std::int64_t size = group_size < 0 ? std::max<std::int64_t>(in, 1) : group_size;
  if (in % size != 0)
    fail("{}: {}: expected inputs in groups of {}, found {}", checkpoint.file_of(integers_name).string(),
         shown(Json(integers_name)), size, in);
  const std::int64_t groups = in / size;
  ForeignMatrix matrix = {module + ".weight", "AWQ 4", in, out, true};
  matrix.data = integers.data;
  matrix.parts = {integers_name, zeros_name, scales_name};
  matrix.decode =
      [words = foreign::words(integers), in, out, size,
       zeros = foreign::words(foreign::part(checkpoint, zeros_name, DType::i32, {groups, out / per_word})),
       scales = foreign::numbers(checkpoint, scales_name, {groups, out})](std::span<float> to) {
        foreign::for_each_row(in, out, [&](std::size_t input) {
          const auto width = static_cast<std::size_t>(out);
          const std::size_t group = input / static_cast<std::size_t>(size) * width;
          for (std::size_t o = 0; o < width; ++o)
            to[input * width + o] =
                scales[group + o] *
                static_cast<float>(integer_at(words, input * width + o) - integer_at(zeros, group + o));
        });
      };
  return matrix;
}

}  // namespace

std::vector<ForeignMatrix> read_awq(const WeightFiles& checkpoint, const Fields& quantization) {
  if (const std::int64_t given = quantization.integer({"bits", "w_bit"}); given != bits)
    fail("{}: bits: expected 4, found {}", quantization.source(), given);
  std::string version = quantization.text({"version"}, "gemm");
  for (char& c : version) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (version != "gemm")
    fail("{}: version: expected gemm, found {}", quantization.source(), shown(Json(version)));
  const std::int64_t group_size = quantization.integer({"group_size", "q_group_size"}, 128, -1, 1 << 20);
  if (group_size == 0)
    fail("{}: group_size: expected -1 or a positive number, found 0", quantization.source());
  std::vector<ForeignMatrix> matrices;
  for (const std::string& module : foreign::modules(checkpoint, ".qweight"))
    matrices.push_back(read_matrix(checkpoint, module, group_size));
  return matrices;
}

}  // namespace attend
