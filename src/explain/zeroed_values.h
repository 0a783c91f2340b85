// Values that an attention does not hand over.
#pragma once

#include "explain/one_layer.h"

namespace attend {

// While it lives, some columns of a matrix's output are zero, in all rows or in some. It is an adapter
// (nn/adapters.h) with the index after the model's own.
class ZeroedValues {
 public:
  // `count` columns from number `first` on, of a model with so many adapters. `added` [count]: what the
  // attention adds to them itself, as DeBERTa's does; undefined: nothing.
  ZeroedValues(LinearImpl& matrix, std::int64_t first, std::int64_t count, std::int64_t adapters,
               const Tensor& added);
  ZeroedValues(const ZeroedValues&) = delete;
  ZeroedValues& operator=(const ZeroedValues&) = delete;
  ~ZeroedValues() { matrix_.adapters.resize(before_); }

  // For Pass::adapters: in these rows of `total` alone; the model's own adapters hold for all of them.
  std::shared_ptr<const AdapterChoice> in(const std::vector<std::int64_t>& rows, std::int64_t total) const;

 private:
  LinearImpl& matrix_;
  std::int64_t number_;
  std::size_t before_;  // adapters of the matrix
};

// While it lives, `count` inputs of a matrix from `first` on are zero, in all rows: the output of one head,
// at the matrix that reads all heads.
class ZeroedInputs {
 public:
  // Of a model with so many adapters.
  ZeroedInputs(LinearImpl& matrix, std::int64_t first, std::int64_t count, std::int64_t adapters);
  ZeroedInputs(const ZeroedInputs&) = delete;
  ZeroedInputs& operator=(const ZeroedInputs&) = delete;
  ~ZeroedInputs() { matrix_.adapters.resize(before_); }

 private:
  LinearImpl& matrix_;
  std::size_t before_;
};

}  // namespace attend
