// The CPU kernels: plain functions over pointers and sizes, chosen for this machine when the program starts.
//
// Every function exists once per instruction set (see cmake/Kernels.cmake), compiled from one source, and
// gives the same bits in all of them (simd.h explains how). Kernels start no threads: work is cut into
// numbered tasks or ranges, and the caller gives each thread its own range. Memory also comes from the
// caller.
#pragma once

#include <cstdint>

namespace attend::kernels {

struct Bfloat16 {
  std::uint16_t bits;  // the upper half of a float32
};

// Where the keys and values of one attention call are stored.
//   contiguous: rows of `key` and `value` at key_begin[b] .. key_begin[b] + key_length[b]
//   paged:      rows of the pages page_table[b][0], page_table[b][1], ...; a page holds `page_rows` keys of
//               each head, head by head, then the values
//   in bfloat16: pages of bfloat16; forward only, with Attention::bfloat16
//   in int8:    the same, in pages as Int8PageLayout says (int8/pages.h); forward only
// Pages of other layers are between two pages.
struct KeyValueView {
  const float* key = nullptr;
  const float* value = nullptr;
  std::int64_t stride = 0;  // floats from one row to the next
  const std::int64_t* key_begin = nullptr;
  const std::int64_t* key_length = nullptr;
  const std::int32_t* const* page_table = nullptr;  // not null: paged, and one of these is not null
  const float* pages = nullptr;
  const Bfloat16* bfloat16_pages = nullptr;
  const std::int8_t* int8_pages = nullptr;
  std::int64_t page_rows = 0;
  std::int64_t page_stride = 0;  // numbers from one page to the next
};

// What the distance between a query and a key adds to their score (relative positions): a number for each of
// R distances, from a table of the query, of the key, or of the head alone. Tables may be null.
struct DistanceScores {
  std::int64_t count = 0;  // R: distances, or buckets of them
  // row[key - query], with positions in the whole sequence, from -(longest - 1) to longest - 1: points at
  // index 0.
  const std::int32_t* row = nullptr;
  // [Tq]: the position of each query among its sequence's keys; null: the queries are the last ones.
  const std::int32_t* place = nullptr;
  const float* of_query = nullptr;  // [heads, Tq, R]
  const float* of_key = nullptr;    // [heads, key_rows, R]
  std::int64_t key_rows = 0;
  const float* of_head = nullptr;  // [heads, R]
  // For XLNet, of the query alone: one number for keys of its segment and one for others.
  const float* of_segment = nullptr;                                    // [heads, Tq, 2]
  const std::int64_t *query_segment = nullptr, *key_segment = nullptr;  // [Tq], [Tk]
};

// Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762, section 3.2) over a ragged batch: the
// queries of B sequences one after another, each sequence with its own keys and values. No padding.
struct Attention {
  std::int64_t sequences = 0, heads = 0, head_size = 0;
  // Heads of keys and values; each is read by heads / key_heads neighbouring heads of queries (Ainslie et al.
  // 2023, arXiv:2305.13245). 0: as many as heads.
  std::int64_t key_heads = 0;
  const float* query = nullptr;  // [Tq, heads * head_size], rows query_stride apart
  std::int64_t query_stride = 0;
  const std::int64_t* query_offsets = nullptr;  // [B + 1]
  KeyValueView keys;
  // Query i of Lq sees key j of Lk if j <= i + Lk - Lq: with a cache, the new queries are the last ones.
  bool causal = false;
  // A query sees only keys at a distance below this; 0: all. Causal: the last `window` keys, including its
  // own position.
  std::int64_t window = 0;
  float scale = 1;
  float soft_cap = 0;            // scores s become cap * tanh(s / cap), before anything is added; 0: no cap
  const float* sinks = nullptr;  // [heads]: a score that takes part in the softmax but reads no value
  DistanceScores distance;       // added after scaling
  // Added after the distances, for each query and key: B pointers to [Lq, Lk]; null: nothing.
  const float* const* penalty = nullptr;
  // Rounds the factors of both products to bfloat16: queries times scale, keys, values, and the weights
  // before they are divided by their sum, in units of a power of two. Sums are float32.
  // Forward only. A query alone reads keys and values as they are stored.
  bool bfloat16 = false;
  float dropout = 0;       // probability of dropping an attention weight
  std::uint64_t seed = 0;  // for dropout; the same in forward and backward
  float* out = nullptr;    // [Tq, heads * head_size], rows out_stride apart
  std::int64_t out_stride = 0;
  float* const* probabilities = nullptr;  // B pointers to [heads, Lq, Lk], before dropout; may be null
};

// Attention of sequences with one query, as in decoding, without dropout, in tasks that several threads share
// even if there is only one sequence: a piece of the keys of one sequence, for some of the heads. Keys are
// cut at multiples of kDecodeKeys, so a result does not depend on the tasks.
constexpr std::int64_t kDecodeKeys = 256;
constexpr std::int64_t kDecodeExtra = 2;  // numbers of a piece in addition to the sums of its values

struct DecodePiece {
  std::int64_t sequence = 0, begin = 0, end = 0;  // keys [begin, end)
  std::int64_t first_head = 0, heads = 0;         // of keys
  float* sums = nullptr;  // [heads * queries of each, head_size + kDecodeExtra]; written
};

// The end of the piece that begins with key `begin` of `length`.
inline std::int64_t decode_end(std::int64_t begin, std::int64_t length) {
  const std::int64_t end = (begin / kDecodeKeys + 1) * kDecodeKeys;
  return end < length ? end : length;
}

struct AttentionGradient {
  const float* out_gradient = nullptr;  // [Tq, heads * head_size], rows out_gradient_stride apart
  std::int64_t out_gradient_stride = 0;
  float* query_gradient = nullptr;  // as query, rows query_gradient_stride apart; overwritten
  std::int64_t query_gradient_stride = 0;
  float* key_gradient = nullptr;
  float* value_gradient = nullptr;
  std::int64_t key_gradient_stride = 0;
  // The gradients of DistanceScores' tables, where these are not null; zero before the call.
  float* of_query = nullptr;
  float* of_key = nullptr;
  float* of_segment = nullptr;
  float* of_head = nullptr;  // [B, heads, R]: one for each sequence, because sequences are computed in
                             // parallel
  float* sinks = nullptr;    // [B, heads]; written
};

// In the first heads of each row, the pairs (x, y) of the first 2 * pairs numbers become (x c - y s, y c + x
// s).
struct Rotation {
  std::int64_t heads = 0, head_size = 0, row = 0;  // row: floats from one row to the next
  std::int64_t pairs = 0;
  bool halves = false;                             // numbers i and i + pairs are a pair; else neighbours are
  const float *cosine = nullptr, *sine = nullptr;  // [T, pairs]
};

struct Adam {
  float rate, beta1, beta2, epsilon, weight_decay;  // weight decay is decoupled (AdamW)
  float correction1, correction2;                   // 1 - beta^step
  float gradient_scale;                             // from clipping
};

enum class Activation {
  none,
  relu,
  gelu,
  gelu_tanh,
  silu,
  tanh,
  sigmoid,
  mish,
  quick_gelu,    // x times the sigmoid of 1.702 x
  clipped_gelu,  // gelu limited to -10 to 10
  leaky_relu,
  relu6,
  squared_relu,
  laplace  // the cumulative normal distribution at x, with mean 1/sqrt(2) and variance 1/(4 pi)
};

// C [rows, columns] = activation(A [rows, depth] * B [depth, columns] + bias) + residual. A(i, k) = a[i *
// a_row + k * a_column], so A may be a transpose. B is the output of pack_panels; or, if b_row > 0, B(k, j) =
// b[k * b_row + j * b_column] in place, which is packed block by block during the product.
struct MatrixProduct {
  std::int64_t rows = 0, depth = 0, columns = 0;
  const float* a = nullptr;
  std::int64_t a_row = 0, a_column = 1;
  const float* b = nullptr;
  std::int64_t b_row = 0, b_column = 1;
  const std::uint32_t* pairs = nullptr;  // instead of b: B rounded to bfloat16 by pack_pairs
  float* c = nullptr;
  std::int64_t c_row = 0;
  bool accumulate = false;      // add to the values in C
  const float* bias = nullptr;  // [columns] or null
  Activation activation = Activation::none;
  const float* residual = nullptr;  // [rows, columns] or null, rows residual_row apart
  std::int64_t residual_row = 0;
};

// One row per [row_begin, row_end) of logits [rows, vocabulary].
struct CrossEntropy {
  const std::int64_t* labels;  // [rows]; negative: the row is ignored
  std::int64_t vocabulary;
  float smoothing;       // label smoothing: (1 - s) * nll + s * mean of -log p over the vocabulary
  float gradient_scale;  // factor of each row's gradient
  float* loss;           // [rows], unscaled; 0 where the label is negative
};

// Two predictions for the same position: logits [vocabulary] each, and the gradients of their disagreement.
struct Disagreement {
  const float *first, *second;
  std::int64_t vocabulary;
  float weight;                             // factor of the gradients
  float *first_gradient, *second_gradient;  // [vocabulary]
};

struct Kernels {
  const char* name;

  // Packs B(k, j) = b[k * b_row + j * b_column] into panel_count(columns) panels, packed_size floats in
  // total.
  std::int64_t (*packed_size)(std::int64_t depth, std::int64_t columns);
  std::int64_t (*panel_count)(std::int64_t columns);
  void (*pack_panels)(float* packed, const float* b, std::int64_t b_row, std::int64_t b_column,
                      std::int64_t depth, std::int64_t columns, std::int64_t panel_begin,
                      std::int64_t panel_end);
  // Computes the given rows and panels of C. Packed and unpacked B give the same bits.
  void (*multiply)(const MatrixProduct&, std::int64_t row_begin, std::int64_t row_end,
                   std::int64_t panel_begin, std::int64_t panel_end);
  // The same with both factors rounded to bfloat16, to nearest, and sums in float32. B is packed into
  // panel_count(columns) panels of packed_size((depth + 1) / 2, columns) words in total. If the set has
  // instructions for it (multiplies_bfloat16), it is faster than float32; the others compute the same bits.
  bool multiplies_bfloat16;
  void (*pack_pairs)(std::uint32_t* packed, const float* b, std::int64_t b_row, std::int64_t b_column,
                     std::int64_t depth, std::int64_t columns, std::int64_t panel_begin,
                     std::int64_t panel_end);
  void (*multiply_bfloat16)(const MatrixProduct&, std::int64_t row_begin, std::int64_t row_end,
                            std::int64_t panel_begin, std::int64_t panel_end);
  // out[i] = activation(x[i]); gradient[i] = out_gradient[i] * activation'(x[i]).
  void (*activation)(Activation, float* out, const float* x, std::int64_t begin, std::int64_t end);
  void (*activation_backward)(Activation, float* gradient, const float* out_gradient, const float* x,
                              std::int64_t begin, std::int64_t end);

  // Attention tasks are numbered sequence * heads + head. Backward, where heads share gradients of keys and
  // values, it is sequence * key_heads + key head. `scratch` holds attention_scratch floats, for one thread.
  std::int64_t (*attention_scratch)(const Attention&);
  void (*attention_forward)(const Attention&, std::int64_t task_begin, std::int64_t task_end, float* scratch);
  void (*attention_backward)(const Attention&, const AttentionGradient&, std::int64_t task_begin,
                             std::int64_t task_end, float* scratch);
  // The same results as attention_forward if every sequence has one query. First all pieces, with
  // decode_scratch floats for each thread; then, for each head of a sequence with several pieces, their join:
  // its sums are `step` floats apart.
  std::int64_t (*decode_scratch)(const Attention&);
  void (*decode)(const Attention&, const DecodePiece* pieces, std::int64_t count, float* scratch);
  void (*join_pieces)(const Attention&, std::int64_t task, const float* sums, std::int64_t step,
                      std::int64_t pieces);

  // out[i] = residual[i] + (kept ? x[i] / (1 - p) : 0). The mask depends only on seed and i. residual may be
  // null (zero).
  void (*dropout_add)(float* out, const float* x, const float* residual, std::int64_t begin, std::int64_t end,
                      float p, std::uint64_t seed);
  // The mask alone, 0 or 1 / (1 - p), for i = first ... first + count - 1.
  void (*dropout_mask)(float* to, std::uint64_t first, std::int64_t count, float p, std::uint64_t seed);

  // Layer normalization (Ba et al. 2016, arXiv:1607.06450) of rows [begin, end) of x [T, d]. mean and
  // inverse_deviation [T] are stored for the backward pass; may be null. A row whose variance overflows is
  // NaN. bias null: root mean square normalization (Zhang & Sennrich 2019, arXiv:1910.07467), which subtracts
  // no mean, and gives zeros if its squares overflow, as torch does.
  void (*layer_norm)(float* out, const float* x, const float* weight, const float* bias, std::int64_t begin,
                     std::int64_t end, std::int64_t d, float epsilon, float* mean, float* inverse_deviation);
  // Adds to weight_gradient and bias_gradient [d] (one pair per thread; the latter is null if bias was) and
  // writes x_gradient.
  void (*layer_norm_backward)(float* x_gradient, float* weight_gradient, float* bias_gradient,
                              const float* out_gradient, const float* x, const float* weight,
                              const float* mean, const float* inverse_deviation, std::int64_t begin,
                              std::int64_t end, std::int64_t d);

  // Rotates rows [begin, end) of x by their positions, in place (Su et al. 2021, arXiv:2104.09864).
  void (*rotate)(const Rotation&, float* x, std::int64_t begin, std::int64_t end);

  // Turns each row of logits into the gradient of its loss, in place.
  void (*cross_entropy)(const CrossEntropy&, float* logits, std::int64_t row_begin, std::int64_t row_end);
  // KL(p || q) + KL(q || p) of p = softmax(first) and q = softmax(second), and its gradients.
  float (*disagreement)(const Disagreement&);

  // The softmax of a row, or its logarithm; `out` may be the row. -infinity becomes 0, or stays.
  void (*softmax)(float* out, const float* row, std::int64_t length);
  void (*log_softmax)(float* out, const float* row, std::int64_t length);

  // The first i in [begin, end) for which x[i] + offset is above `threshold` or NaN; end if there is none.
  std::int64_t (*find_above)(const float* x, std::int64_t begin, std::int64_t end, float offset,
                             float threshold);

  // Adam (Kingma & Ba 2014, arXiv:1412.6980) with decoupled weight decay (arXiv:1711.05101).
  void (*adam)(const Adam&, float* weight, const float* gradient, float* mean, float* variance,
               std::int64_t begin, std::int64_t end);
};

// The best set this machine has. ATTEND_ISA=portable|avx2|avx512|avx512_bf16 in the environment forces one.
const Kernels& kernels();

// A set by name, for tests; null if it was not built or this machine cannot run it.
const Kernels* find_kernels(const char* name);

}  // namespace attend::kernels
