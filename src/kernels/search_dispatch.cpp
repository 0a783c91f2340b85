#include "kernels/search.h"

#include <string_view>

namespace attend::kernels {

namespace portable {
extern const SearchKernels search_table;
}
#ifdef ATTEND_X86
namespace avx2 {
extern const SearchKernels search_table;
}
namespace avx512 {
extern const SearchKernels search_table;
}
namespace avx512_bf16 {
extern const SearchKernels search_table;
}
#endif

const SearchKernels* find_search_kernels(const char* name) {
  if (find_kernels(name) == nullptr) return nullptr;
#ifdef ATTEND_X86
  const std::string_view set = name;
  if (set == "avx512_bf16") return &avx512_bf16::search_table;
  if (set == "avx512") return &avx512::search_table;
  if (set == "avx2") return &avx2::search_table;
#endif
  return &portable::search_table;
}

const SearchKernels& search_kernels() {
  static const SearchKernels& chosen = *find_search_kernels(kernels().name);
  return chosen;
}

}  // namespace attend::kernels
