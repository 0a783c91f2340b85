#include "base/error.h"
#include "kernels/kernels.h"

#include <cstdlib>
#include <cstring>

namespace attend::kernels {

namespace portable {
extern const Kernels table;
}
#ifdef ATTEND_X86
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
namespace avx512_bf16 {
extern const Kernels table;
}
#endif

namespace {

bool runs_here(const char* name) {
#ifdef ATTEND_X86
  if (std::strcmp(name, "avx512_bf16") == 0)
    return runs_here("avx512") && __builtin_cpu_supports("avx512bf16");
  if (std::strcmp(name, "avx512") == 0)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (std::strcmp(name, "avx2") == 0) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return std::strcmp(name, "portable") == 0;
}

const Kernels& choose() {
  if (const char* forced = std::getenv("ATTEND_ISA")) {
    if (const Kernels* found = find_kernels(forced)) return *found;
    fail("ATTEND_ISA={}: expected portable, avx2, avx512 or avx512_bf16, and one that this machine has",
         forced);
  }
  for (const char* name : {"avx512_bf16", "avx512", "avx2"})
    if (const Kernels* found = find_kernels(name)) return *found;
  return portable::table;
}

}  // namespace

const Kernels* find_kernels(const char* name) {
  if (!runs_here(name)) return nullptr;
#ifdef ATTEND_X86
  if (std::strcmp(name, "avx512_bf16") == 0) return &avx512_bf16::table;
  if (std::strcmp(name, "avx512") == 0) return &avx512::table;
  if (std::strcmp(name, "avx2") == 0) return &avx2::table;
#endif
  return &portable::table;
}

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace attend::kernels
