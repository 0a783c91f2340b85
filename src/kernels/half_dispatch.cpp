#include "kernels/half.h"

#include <string_view>

namespace attend::kernels {

namespace portable {
extern const HalfKernels half_table;
}
#ifdef ATTEND_X86
namespace avx2 {
extern const HalfKernels half_table;
}
namespace avx512 {
extern const HalfKernels half_table;
}
namespace avx512_bf16 {
extern const HalfKernels half_table;
}
#endif

const HalfKernels* find_half_kernels(const char* name) {
  if (find_kernels(name) == nullptr) return nullptr;
#ifdef ATTEND_X86
  const std::string_view set = name;
  if (set == "avx512_bf16") return &avx512_bf16::half_table;
  if (set == "avx512") return &avx512::half_table;
  if (set == "avx2") return &avx2::half_table;
#endif
  return &portable::half_table;
}

const HalfKernels& half_kernels() {
  static const HalfKernels& chosen = *find_half_kernels(kernels().name);
  return chosen;
}

}  // namespace attend::kernels
