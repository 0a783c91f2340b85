#include "base/error.h"
#include "kernels/instruction_sets.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#ifdef ATTEND_X86
#include <cpuid.h>
#endif

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

#ifdef ATTEND_X86
bool has_f16c() {  // clang 14 has no name for it
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

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

bool has_feature([[maybe_unused]] std::string_view feature) {
#ifdef ATTEND_X86
  if (feature == "avx2") return __builtin_cpu_supports("avx2");
  if (feature == "fma") return __builtin_cpu_supports("fma");
  if (feature == "f16c") return has_f16c();
  if (feature == "avx512f") return __builtin_cpu_supports("avx512f");
  if (feature == "avx512bw") return __builtin_cpu_supports("avx512bw");
  if (feature == "avx512dq") return __builtin_cpu_supports("avx512dq");
  if (feature == "avx512vl") return __builtin_cpu_supports("avx512vl");
  if (feature == "avx512bf16") return __builtin_cpu_supports("avx512bf16");
#endif
  return false;
}

bool runs_with(std::string_view set, const std::function<bool(std::string_view feature)>& has) {
  if (set == "portable") return true;
  std::vector<std::string_view> needed = {"avx2", "fma", "f16c"};
  if (set == "avx512" || set == "avx512_bf16")
    needed.insert(needed.end(), {"avx512f", "avx512bw", "avx512dq", "avx512vl"});
  else if (set != "avx2")
    return false;
  if (set == "avx512_bf16") needed.push_back("avx512bf16");
  return std::ranges::all_of(needed, has);
}

const Kernels* find_kernels(const char* name) {
  if (!runs_with(name, has_feature)) return nullptr;
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
