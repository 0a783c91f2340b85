#include "kernels/int8/int4.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#ifdef ATTEND_X86
#include <cpuid.h>
#endif
#ifdef ATTEND_ARM
#include <sys/auxv.h>
#endif

namespace attend::kernels {

namespace int8_portable {
extern const Int8Kernels int8_table;
}
#ifdef ATTEND_X86
namespace int8_avx2 {
extern const Int8Kernels int8_table;
}
namespace int8_avx_vnni {
extern const Int8Kernels int8_table;
}
namespace int8_avx512_vnni {
extern const Int8Kernels int8_table;
}
#endif
#ifdef ATTEND_ARM
namespace int8_neon_dot {
extern const Int8Kernels int8_table;
}
#endif

namespace {

#ifdef ATTEND_X86
bool has_avx_vnni() {  // GCC 12 has no name for it
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
}
#endif

#ifdef ATTEND_ARM
bool has_dot_products() {
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}
#endif

const Int8Kernels& choose() {
#ifdef ATTEND_X86
  const std::string_view set = kernels().name;
  if (set == "avx2" && std::getenv("ATTEND_ISA") != nullptr) return int8_avx2::int8_table;
  if (set != "portable")
    for (const char* name : {"avx512_vnni", "avx_vnni", "avx2"})
      if (const Int8Kernels* found = find_int8_kernels(name)) return *found;
#endif
#ifdef ATTEND_ARM
  if (std::getenv("ATTEND_ISA") == nullptr)
    if (const Int8Kernels* found = find_int8_kernels("neon_dot")) return *found;
#endif
  return int8_portable::int8_table;
}

}  // namespace

const Int8Kernels* find_int8_kernels(const char* name) {
  const std::string_view set = name;
#ifdef ATTEND_X86
  if (set == "avx512_vnni" && find_kernels("avx512") != nullptr && __builtin_cpu_supports("avx512vnni"))
    return &int8_avx512_vnni::int8_table;
  if (set == "avx_vnni" && find_kernels("avx2") != nullptr && has_avx_vnni())
    return &int8_avx_vnni::int8_table;
  if (set == "avx2" && find_kernels("avx2") != nullptr) return &int8_avx2::int8_table;
#endif
#ifdef ATTEND_ARM
  if (set == "neon_dot" && has_dot_products()) return &int8_neon_dot::int8_table;
#endif
  return set == "portable" ? &int8_portable::int8_table : nullptr;
}

const Int8Kernels& int8_kernels() {
  static const Int8Kernels& chosen = choose();
  return chosen;
}

std::int64_t int8_attention_scratch(const Attention& attention) {
  std::int64_t longest = 0;
  for (std::int64_t b = 0; b < attention.sequences; ++b)
    longest = std::max(longest, attention.keys.key_length[b]);
  const std::int64_t D = attention.head_size, columns = int8_panels(D) * kInt8Panel,
                     keys = int8_panels(longest) * kInt8Panel;
  // Keys in 8 bits, values in 16, their scales and the sums of the keys; for the queries their bytes, scores
  // and weights.
  return keys * (3 * columns + 12) + kInt8Queries * (int8_stride(D) + keys * 6);
}

void int4_column(const Int4Matrix& matrix, std::int64_t n, float* to) {
  const std::int64_t groups = int4_groups(matrix.depth), panel = n / kInt8Panel, lane = n % kInt8Panel;
  for (std::int64_t k = 0; k < matrix.depth; ++k) {
    const std::int64_t at = panel * groups + k / kInt4Group;
    const std::uint8_t both =
        matrix.numbers[((at * kInt4Group + k % kInt4Group) / 8 * kInt8Panel + lane) * 4 + k % 4];
    const int number = k % 8 < 4 ? both & 15 : both >> 4;
    const int integer = number * matrix.steps[at * kInt8Panel + lane] + matrix.starts[at * kInt8Panel + lane];
    to[k] = static_cast<float>(integer) * matrix.scales[n];
  }
  if (matrix.rotated) int8_kernels().rotate(to, matrix.depth);
}

}  // namespace attend::kernels
