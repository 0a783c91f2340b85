// The kernels of one instruction set as a table, for dispatch.cpp.
#include "kernels/attention.h"
#include "kernels/decode.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"

#define ATTEND_STRING_OF(x) #x
#define ATTEND_STRING(x) ATTEND_STRING_OF(x)

namespace attend::kernels::ATTEND_ISA {

extern const Kernels table;
const Kernels table = {
    .name = ATTEND_STRING(ATTEND_ISA),
    .packed_size = packed_size,
    .panel_count = panel_count,
    .pack_panels = pack_panels,
    .multiply = multiply,
#ifdef __AVX512BF16__
    .multiplies_bfloat16 = true,
#else
    .multiplies_bfloat16 = false,
#endif
    .pack_pairs = pack_pairs,
    .multiply_bfloat16 = multiply_bfloat16,
    .activation = activation,
    .activation_backward = activation_backward,
    .attention_scratch = attention_scratch,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
    .decode_scratch = decode_scratch,
    .decode = decode,
    .join_pieces = join_pieces,
    .dropout_add = dropout_add,
    .dropout_mask = dropout_mask,
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .rotate = rotate,
    .cross_entropy = cross_entropy,
    .disagreement = disagreement,
    .softmax = softmax,
    .log_softmax = log_softmax,
    .find_above = find_above,
    .adam = adam,
};

}  // namespace attend::kernels::ATTEND_ISA
