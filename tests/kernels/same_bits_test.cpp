// Every instruction set with fused multiply-adds gives the same bits: all float32 kernels, at sizes around
// the widths of all vectors, are compared with each other and with a hash from another machine.
#include "kernels/half.h"
#include "kernels/int8/int8.h"
#include "kernels/int8/pages.h"
#include "kernels/kernels_test.h"

#include <map>
#include <string>

namespace attend::kernels {
namespace {

#ifdef __aarch64__
constexpr const char* fused_sets[] = {"portable"};
#else
constexpr const char* fused_sets[] = {"avx2", "avx512", "avx512_bf16"};
#endif

using Numbers = std::vector<float>;

void append(Numbers& to, const Numbers& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Products of float32, bfloat16 and float16 weights, with everything that may follow.
Numbers products(const Kernels& k, const HalfKernels& halves) {
  Numbers all;
  for (const std::int64_t rows : {1, 3, 4, 19})
    for (const std::int64_t depth : {13, 530})
      for (const std::int64_t columns : {7, 48, 101}) {
        const Numbers a = plain_numbers(rows * depth, 1), b = plain_numbers(depth * columns, 2),
                      bias = plain_numbers(columns, 3), residual = plain_numbers(rows * columns, 4);
        const std::int64_t panels = k.panel_count(columns);
        Numbers packed(k.packed_size(depth, columns)), c(rows * columns);
        std::vector<std::uint16_t> half(packed.size());
        std::vector<std::uint32_t> pairs(k.packed_size((depth + 1) / 2, columns));
        k.pack_pairs(pairs.data(), b.data(), columns, 1, depth, columns, 0, panels);
        halves.pack(half.data(), b.data(), columns, 1, depth, columns, 0, panels);
        k.pack_panels(packed.data(), b.data(), columns, 1, depth, columns, 0, panels);
        for (const Activation activation : {Activation::none, Activation::gelu}) {
          MatrixProduct m{.rows = rows, .depth = depth, .columns = columns};
          m.a = a.data(), m.a_row = depth, m.b = packed.data(), m.c = c.data(), m.c_row = columns;
          m.bias = bias.data(), m.activation = activation;
          m.residual = residual.data(), m.residual_row = columns;
          k.multiply(m, 0, rows, 0, panels);
          append(all, c);
          m.pairs = pairs.data();
          k.multiply_bfloat16(m, 0, rows, 0, panels);
          append(all, c);
          halves.multiply(m, half.data(), 0, rows, 0, panels);
          append(all, c);
        }
      }
  return all;
}

Numbers activations(const Kernels& k) {
  Numbers all, x = plain_numbers(1000, 5), dy = plain_numbers(1000, 6), y(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i < 500 ? 1.0f : 20.0f;
  for (const Activation activation : kActivations) {
    k.activation(activation, y.data(), x.data(), 0, 1000);
    append(all, y);
    k.activation_backward(activation, y.data(), dy.data(), x.data(), 0, 1000);
    append(all, y);
  }
  return all;
}

Numbers norms(const Kernels& k) {
  Numbers all;
  for (const std::int64_t d : {1, 5, 8, 12, 16, 20, 31, 96, 387, 768}) {
    constexpr std::int64_t T = 3;
    const Numbers x = plain_numbers(T * d, 7), weight = plain_numbers(d, 8), bias = plain_numbers(d, 9),
                  dy = plain_numbers(T * d, 10);
    for (const bool mean_square : {false, true}) {
      Numbers y(T * d), mean(T), inverse(T), dx(T * d), dw(d), db(d);
      k.layer_norm(y.data(), x.data(), weight.data(), mean_square ? nullptr : bias.data(), 0, T, d, 1e-5f,
                   mean.data(), inverse.data());
      k.layer_norm_backward(dx.data(), dw.data(), mean_square ? nullptr : db.data(), dy.data(), x.data(),
                            weight.data(), mean.data(), inverse.data(), 0, T, d);
      for (const Numbers& numbers : {y, mean, inverse, dx, dw, db}) append(all, numbers);
    }
  }
  return all;
}

Numbers dropped(const Kernels& k) {
  const Numbers x = plain_numbers(1003, 11), residual = plain_numbers(1003, 12);
  Numbers y(1003), mean(1003), variance(1003), weight = x;
  k.dropout_add(y.data(), x.data(), residual.data(), 0, 1003, 0.3f, 42);
  const Adam step{.rate = 1e-3f,
                  .beta1 = 0.9f,
                  .beta2 = 0.999f,
                  .epsilon = 1e-8f,
                  .weight_decay = 0.01f,
                  .correction1 = 0.1f,
                  .correction2 = 0.001f,
                  .gradient_scale = 0.5f};
  k.adam(step, weight.data(), residual.data(), mean.data(), variance.data(), 0, 1003);
  append(y, weight);
  append(y, mean);
  append(y, variance);
  return y;
}

Numbers distributions(const Kernels& k) {
  Numbers all;
  for (const std::int64_t length : {1, 6, 9, 16, 29, 1000}) {
    const Numbers x = plain_numbers(length, 13);
    Numbers p(length);
    k.softmax(p.data(), x.data(), length);
    append(all, p);
  }
  return all;
}

// Functions with a logarithm of the C library: compared only between the sets.
Numbers losses(const Kernels& k) {
  Numbers all;
  for (const std::int64_t V : {5, 29, 1000}) {
    const Numbers x = plain_numbers(V, 14), other = plain_numbers(V, 15);
    Numbers p(V), q(V), logits = x, loss(1);
    k.log_softmax(p.data(), x.data(), V);
    append(all, p);
    const std::int64_t label = V - 1;
    k.cross_entropy(
        {.labels = &label, .vocabulary = V, .smoothing = 0.1f, .gradient_scale = 0.25f, .loss = loss.data()},
        logits.data(), 0, 1);
    append(all, logits);
    append(all, loss);
    all.push_back(k.disagreement({.first = x.data(),
                                  .second = other.data(),
                                  .vocabulary = V,
                                  .weight = 0.5f,
                                  .first_gradient = p.data(),
                                  .second_gradient = q.data()}));
    append(all, p);
    append(all, q);
  }
  return all;
}

// Two texts, with several queries and with one; `paged`: with a cache in float32 and in 8 bits.
Numbers attention(const Kernels& k, bool backward) {
  Numbers all;
  for (const std::int64_t size : {5, 12, 16, 24, 33, 64})
    for (const std::int64_t window : {0, 9}) {
      constexpr std::int64_t heads = 2, Tq = 38, Tk = 90;
      const std::int64_t w = heads * size, offsets[] = {0, 37, 38}, begin[] = {0, 37}, length[] = {37, 53};
      const Numbers q = plain_numbers(Tq * w, 16), keys = plain_numbers(Tk * w, 17),
                    values = plain_numbers(Tk * w, 18), direction = plain_numbers(Tq * w, 19);
      Numbers out(Tq * w), first(heads * 37 * 37), second(heads * 53);
      float* const probabilities[] = {first.data(), second.data()};
      Attention a;
      a.sequences = 2, a.heads = heads, a.head_size = size, a.query = q.data(), a.query_stride = w;
      a.query_offsets = offsets, a.keys.key = keys.data(), a.keys.value = values.data(), a.keys.stride = w;
      a.keys.key_begin = begin, a.keys.key_length = length, a.causal = window > 0, a.window = window;
      a.scale = 0.3f, a.out = out.data(), a.out_stride = w, a.probabilities = probabilities;
      Numbers scratch(k.attention_scratch(a));
      if (!backward) {
        k.attention_forward(a, 0, 2 * heads, scratch.data());
        for (const Numbers& numbers : {out, first, second}) append(all, numbers);
        continue;
      }
      Numbers dq(Tq * w), dk(Tk * w), dv(Tk * w);
      a.dropout = 0.1f, a.seed = 7, a.probabilities = nullptr;
      AttentionGradient g;
      g.out_gradient = direction.data(), g.out_gradient_stride = w;
      g.query_gradient = dq.data(), g.query_gradient_stride = w;
      g.key_gradient = dk.data(), g.value_gradient = dv.data(), g.key_gradient_stride = w;
      k.attention_forward(a, 0, 2 * heads, scratch.data());
      k.attention_backward(a, g, 0, 2 * heads, scratch.data());
      for (const Numbers& numbers : {out, dq, dk, dv}) append(all, numbers);
    }
  return all;
}

Numbers attention_in_int8(const Kernels& k) {
  constexpr std::int64_t rows = 16, length = 37, heads = 2;
  constexpr std::int32_t table[] = {1, 2, 0};
  Numbers all;
  for (const std::int64_t size : {5, 12, 16, 33, 64})
    for (const std::int64_t queries : {1, 5}) {
      const std::int64_t w = heads * size, offsets[] = {0, queries}, lengths[] = {length};
      const Int8PageLayout layout{heads, size, rows};
      std::vector<std::int8_t> pages(3 * layout.page_bytes());
      for (std::size_t i = 0; i < pages.size(); ++i)
        pages[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 255) - 127);
      for (std::int64_t page = 0; page < 3; ++page)
        for (std::int64_t h = 0; h < heads; ++h)
          for (const std::int64_t half : {0, 1})
            for (std::int64_t r = 0; r < rows; ++r)
              reinterpret_cast<float*>(pages.data() + page * layout.page_bytes() +
                                       layout.scales_at(half, h))[r] =
                  0.001f * static_cast<float>(r + 1 + h + half + page);
      const Numbers q = plain_numbers(queries * w, 20);
      Numbers out(queries * w);
      const std::int32_t* const tables[] = {table};
      Attention a;
      a.sequences = 1, a.heads = heads, a.head_size = size, a.query = q.data(), a.query_stride = w;
      a.query_offsets = offsets, a.keys.int8_pages = pages.data(), a.keys.page_table = tables;
      a.keys.page_stride = layout.page_bytes();
      a.keys.page_rows = rows, a.keys.key_length = lengths, a.causal = true, a.scale = 0.1f;
      a.out = out.data(), a.out_stride = w;
      Numbers scratch(k.attention_scratch(a));
      k.attention_forward(a, 0, heads, scratch.data());
      append(all, out);
    }
  return all;
}

// One query, and several that read their keys in two pieces.
Numbers attention_in_bfloat16(const Kernels& k) {
  constexpr std::int64_t rows = 16, length = 600, heads = 2;
  std::vector<std::int32_t> table(38);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int32_t>(37 - i);
  Numbers all;
  for (const std::int64_t size : {5, 12, 16, 33, 64})
    for (const std::int64_t queries : {1, 41}) {
      const std::int64_t w = heads * size, offsets[] = {0, queries}, lengths[] = {length};
      std::vector<Bfloat16> pages(38 * 2 * rows * w);
      const Numbers q = plain_numbers(queries * w, 20), stored = plain_numbers(pages.size(), 21);
      for (std::size_t i = 0; i < pages.size(); ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, &stored[i], sizeof bits);
        pages[i].bits = static_cast<std::uint16_t>(bits >> 16);
      }
      Numbers out(queries * w), weights(heads * queries * length);
      float* const probabilities[] = {weights.data()};
      const std::int32_t* const tables[] = {table.data()};
      Attention a;
      a.sequences = 1, a.heads = heads, a.head_size = size, a.query = q.data(), a.query_stride = w;
      a.query_offsets = offsets, a.keys.bfloat16_pages = pages.data(), a.keys.page_table = tables;
      a.keys.page_stride = 2 * rows * w, a.keys.page_rows = rows, a.keys.key_length = lengths;
      a.causal = true, a.scale = 0.3f, a.bfloat16 = true, a.out = out.data(), a.out_stride = w;
      a.probabilities = probabilities;
      Numbers scratch(k.attention_scratch(a));
      k.attention_forward(a, 0, heads, scratch.data());
      for (const Numbers& numbers : {out, weights}) append(all, numbers);
    }
  return all;
}

std::map<std::string, Numbers> everything(const char* set) {
  const Kernels& k = *find_kernels(set);
  return {{"products", products(k, *find_half_kernels(set))},
          {"activations", activations(k)},
          {"norms", norms(k)},
          {"dropout and Adam", dropped(k)},
          {"softmax", distributions(k)},
          {"attention", attention(k, false)},
          {"attention's gradients", attention(k, true)},
          {"attention over 8 bits", attention_in_int8(k)},
          {"attention in bfloat16", attention_in_bfloat16(k)}};
}

TEST(SameBits, InEverySetThatHasFusedMultiplyAdds) {
  const char* base = nullptr;
  for (const char* set : fused_sets) {
    if (find_kernels(set) == nullptr) continue;
    if (base == nullptr) base = set;
    for (const auto& [what, numbers] : everything(set))
      EXPECT_EQ(hash_of(numbers), hash_of(everything(base).at(what))) << what << " of " << set;
    EXPECT_EQ(hash_of(losses(*find_kernels(set))), hash_of(losses(*find_kernels(base)))) << set;
  }
  if (base == nullptr) GTEST_SKIP() << "this machine has no fused multiply-add";
}

TEST(SameBits, OnOtherMachines) {
  Numbers all;
  for (const char* set : fused_sets) {
    if (find_kernels(set) == nullptr) continue;
    for (const auto& [what, numbers] : everything(set)) append(all, numbers);
    EXPECT_EQ(hash_of(all), 7512919400017005967u) << set;
    return;
  }
  GTEST_SKIP() << "this machine has no fused multiply-add";
}

}  // namespace
}  // namespace attend::kernels
