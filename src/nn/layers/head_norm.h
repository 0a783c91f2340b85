// Norms of queries and keys, before rotary positions and their product (QueryKeyNorm).
#pragma once

#include "nn/layers/norm.h"

namespace attend {

class HeadNormImpl : public Module {
 public:
  HeadNormImpl(std::int64_t heads, std::int64_t head_size, const QueryKeyNorm& spec);
  Tensor forward(const Tensor& x);  // [T, heads * head_size], any stride -> the same, contiguous

 private:
  std::int64_t heads_;
  QueryKeyNorm::Of of_;
  LayerNorm norm_{nullptr};
  Tensor weight_;  // [heads * head_size], if each head has its own factors
};
ATTEND_MODULE(HeadNorm);

}  // namespace attend
