// Chooses the tables of kernels that are apart from the main one (dispatch.cpp): those of the same
// instruction set.
#include "kernels/half.h"
#include "kernels/search.h"

#include <string_view>

namespace attend::kernels {

#ifdef ATTEND_X86
#define ATTEND_IF_X86(...) __VA_ARGS__
#else
#define ATTEND_IF_X86(...)
#endif

// For a table GROUP_table in the namespace of each set: find_GROUP_kernels() and GROUP_kernels().
#define ATTEND_DISPATCH(Type, group)                                               \
  namespace portable {                                                             \
  extern const Type group##_table;                                                 \
  }                                                                                \
  ATTEND_IF_X86(                                                                   \
      namespace avx2 { extern const Type group##_table; } namespace avx512 {       \
        extern const Type group##_table;                                           \
      } namespace avx512_bf16 { extern const Type group##_table; })                \
  const Type* find_##group##_kernels(const char* set) {                            \
    if (find_kernels(set) == nullptr) return nullptr;                              \
    [[maybe_unused]] const std::string_view wanted = set;                          \
    ATTEND_IF_X86(if (wanted == "avx512_bf16") return &avx512_bf16::group##_table; \
                  if (wanted == "avx512") return &avx512::group##_table;           \
                  if (wanted == "avx2") return &avx2::group##_table;)              \
    return &portable::group##_table;                                               \
  }                                                                                \
  const Type& group##_kernels() {                                                  \
    static const Type& chosen = *find_##group##_kernels(kernels().name);           \
    return chosen;                                                                 \
  }

ATTEND_DISPATCH(HalfKernels, half)
ATTEND_DISPATCH(SearchKernels, search)

}  // namespace attend::kernels
