// One layer of a stack on its own, which can be run any number of times.
#pragma once

#include "nn/transformer/transformer.h"

namespace attend {

class OneLayer {
 public:
  OneLayer(Stack stack, std::int64_t number) : stack_(std::move(stack)), number_(number) {}

  // x [T, d] of the sequences of `offsets` -> [T, d]. `key_value`: the input of the layer's cross-attention,
  // for sequences of `key_offsets`; undefined: no cross-attention. `types` as in TokenBatch.
  Tensor run(const Tensor& x, const Offsets& offsets, const Tensor& types, const Tensor& key_value,
             const Offsets& key_offsets, Pass& pass) const;

  // The matrix of its queries, keys and values, in this order of rows.
  LinearImpl& query_key_value() const;
  // What its attention adds to the values of the matrix [kw]; undefined: nothing.
  Tensor value_bias() const;
  // The matrices that read the heads of its attention, and of its cross-attention; null if absent.
  LinearImpl& output() const;
  LinearImpl* cross_output() const;
  const LayerSpec& spec() const { return stack_->spec().layers[static_cast<std::size_t>(number_)]; }

 private:
  std::shared_ptr<LayerImpl> module() const;

  Stack stack_;
  std::int64_t number_;
};

}  // namespace attend
