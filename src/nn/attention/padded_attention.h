// Attention of all texts at once, for devices: texts are padded to the longest one, so that a layer takes a
// few operations instead of ten for each text. The device's own kernel computes it without storing scores,
// except with a soft cap, sinks, distances or dropout.
#pragma once

#include "nn/attention/attention_function.h"

#include <vector>

namespace attend {

// Where each text's keys are.
struct KeyRows {
  std::vector<std::int64_t> begin, length;
};

// q [Tq, w], k and v [Tk, kw] -> [Tq, w]. For calls without captured tensors, whose queries see what the
// spec says; their keys are rows of the distances' tables, if any. Each text has at least one query and one
// key.
Tensor padded_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Offsets& queries,
                        const KeyRows& keys, const AttentionCall& call);

}  // namespace attend
